// gaps: the shim may have no descriptor to open the trace with
// unseen: * because it never had one where the limit was reached at once
// RLIMIT_NOFILE: all descriptors in use, before the first I/O of a child too; each open fails with EMFILE as it does.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void fill(const char *when) {
    int count = 0, fd;
    while ((fd = open("one", O_CREAT | O_RDWR | O_APPEND, 0644)) >= 0) count++;
    printf("%s: %d, %s\n", when, count, strerror(errno));
    for (int i = 0; i < 1000; i++)
        if (write(11, "line\n", 5) != 5 || pread(10, &fd, 1, 0) != 1) printf("failed\n");
    printf("dup: %d, %s\n", dup(1), strerror(errno));
}

int main(void) {
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){20, 20});
    fill("filled");
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        fill("child");
        close(12);
        printf("again: %d\n", open("two", O_CREAT | O_WRONLY, 0644));
        close(12); // the loader and the shell need one
        fflush(stdout);
        execl("/bin/sh", "sh", "-c", "echo from a shell; echo by the shell >&11; cat <one | wc -l", (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
    for (int fd = 3; fd < 20; fd++) close(fd);
    printf("next: %d\n", open("three", O_CREAT | O_WRONLY, 0644));
    return write(3, "after\n", 6) != 6;
}
