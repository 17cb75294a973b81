// also: run
// reads: in
// writes: in out
// posix_spawn with file actions, attributes and failures.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int ended(pid_t pid) {
    int status;
    if (waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void with_files(void) {
    posix_spawn_file_actions_t actions;
    pid_t pid;
    char *arguments[] = {"sh", "-c", "cat; echo; ls /proc/self/fd | wc -l; echo to the error stream >&2", NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "in", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "out", O_CREAT | O_WRONLY | O_TRUNC, 0604);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    printf("spawn: %d\n", posix_spawnp(&pid, "sh", &actions, NULL, arguments, environ));
    printf("ended: %d\n", ended(pid));
}

static void with_attributes(void) {
    posix_spawnattr_t attributes;
    pid_t pid;
    sigset_t set;
    char *arguments[] = {"sh", "-c", "kill -TERM $$; echo not blocked", NULL};
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes, &set);
    sigaddset(&set, SIGTERM);
    posix_spawnattr_setsigdefault(&attributes, &set);
    signal(SIGTERM, SIG_IGN);
    printf("spawn: %d\n", posix_spawn(&pid, "/bin/sh", NULL, &attributes, arguments, environ));
    printf("ended: %d\n", ended(pid));
}

int main(void) {
    char *arguments[] = {"none", NULL};
    int fd = open("in", O_CREAT | O_WRONLY, 0644);
    write(fd, "to be read", 10);
    with_files();
    with_attributes();
    pid_t pid = 12345;
    printf("missing: %d\n", posix_spawn(&pid, "/does/not/exist", NULL, NULL, arguments, environ));
    printf("untouched: %d\n", (int)pid);
    return 0;
}
