// also: run
// writes: _exit exit_group quick_exit at-quick-exit abort
// Children that end by _exit, exit_group, quick_exit, abort and a fault, each after 1,000 writes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void at_end(void) {
    int fd = open("at-quick-exit", O_CREAT | O_WRONLY, 0644);
    write(fd, "handled\n", 8);
}

static void child(const char *end) {
    int fd = open(end, O_CREAT | O_WRONLY, 0644);
    for (int i = 0; i < 1000; i++) write(fd, "a line\n", 7);
    if (strcmp(end, "_exit") == 0) _exit(11);
    if (strcmp(end, "exit_group") == 0) syscall(SYS_exit_group, 12);
    if (strcmp(end, "quick_exit") == 0) quick_exit(13);
    if (strcmp(end, "abort") == 0) abort();
    if (strcmp(end, "fault") == 0) *(volatile int *)NULL = 0;
    raise(SIGTERM);
}

int main(void) {
    const char *const ends[] = {"_exit", "exit_group", "quick_exit", "abort", "fault", "signal"};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    at_quick_exit(at_end);
    for (int i = 0; i < 6; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) child(ends[i]);
        waitpid(pid, &status, 0);
        printf("%s: %d %d\n", ends[i], WIFEXITED(status) ? WEXITSTATUS(status) : -1, WTERMSIG(status));
    }
    fflush(stdout);
    quick_exit(7);
}
