// `ends END`: 1,000 writes of 16 bytes to the file "out", then an end: its own, by a signal, or as another program.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void write_all(int fd) {
    for (int i = 0; i < 1000; i++)
        if (write(fd, "a line of bytes\n", 16) != 16) _exit(99);
}

int main(int count, char **arguments) {
    const char *end = count > 1 ? arguments[1] : "";
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (strcmp(end, "few") == 0) return close(open("out", O_CREAT | O_WRONLY, 0644));
    if (strcmp(end, "closed") == 0)
        for (int fd = 3; fd < 1024; fd++) close(fd);
    write_all(open("out", O_CREAT | O_WRONLY, 0644));
    if (strcmp(end, "closed") == 0) {
        close_range(3, ~0U, 0);
        write_all(open("out", O_WRONLY));
        closefrom(3);
    }
    if (strcmp(end, "_exit") == 0) _exit(7);
    if (strcmp(end, "_Exit") == 0) _Exit(7);
    if (strcmp(end, "exit_group") == 0) syscall(SYS_exit_group, 7);
    if (strcmp(end, "quick_exit") == 0) quick_exit(7);
    if (strcmp(end, "abort") == 0) abort();
    if (strcmp(end, "SIGSEGV") == 0) *(volatile int *)NULL = 0;
    if (strcmp(end, "SIGKILL") == 0) kill(getpid(), SIGKILL);
    if (strcmp(end, "SIGTERM") == 0) kill(getpid(), SIGTERM);
    if (strcmp(end, "exec") == 0) execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    return 0;
}
