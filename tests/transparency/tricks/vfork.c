// also: run
// reads: in
// writes: in copy counted
// Children of vfork: one redirects, closes and executes; one's exec fails; one only ends; one in a loop of 200.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int ended(pid_t pid) {
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void) {
    int fd = open("in", O_CREAT | O_RDWR, 0644), count = 0;
    write(fd, "text of in\n", 11);
    pid_t pid = vfork();
    if (pid == 0) {
        int in = open("in", O_RDONLY), out = open("copy", O_CREAT | O_WRONLY, 0600);
        dup2(in, 0);
        dup2(out, 1);
        close(fd);
        execl("/bin/cat", "cat", (char *)NULL);
        _exit(126);
    }
    printf("cat: %d\n", ended(pid));
    printf("still open: %d\n", (int)write(fd, "more\n", 5));
    pid = vfork();
    if (pid == 0) {
        execl("/does/not/exist", "it", (char *)NULL);
        _exit(errno);
    }
    printf("exec: %s\n", strerror(ended(pid)));
    for (int i = 0; i < 200; i++)
        if ((pid = vfork()) == 0) {
            count++;
            _exit(i % 7);
        } else if (ended(pid) != i % 7) {
            return 1;
        }
    fd = open("counted", O_CREAT | O_WRONLY, 0640);
    dprintf(fd, "%d\n", count);
    printf("memory is shared: %d, next descriptor: %d\n", count, fd);
    return 0;
}
