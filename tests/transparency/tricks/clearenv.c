// writes: before after by-child
// unseen: by-shell because the preload is not in the environment that the shell is given
// gap: was started without the preload, which the program before it took out
// The environment is cleared: the program and its forks are still recorded; programs that it executes are not.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(const char *name) {
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    dprintf(fd, "%s\n", name);
    close(fd);
}

int main(void) {
    put("before");
    printf("cleared: %d\n", clearenv());
    put("after");
    if (fork() == 0) {
        put("by-child");
        _exit(0);
    }
    wait(NULL);
    fflush(stdout);
    setenv("ONLY", "this", 1);
    if (fork() == 0) {
        execl("/bin/sh", "sh", "-c", "export -p | sed '/PWD/d'; echo by the shell >by-shell", (char *)NULL);
        _exit(127);
    }
    int status;
    wait(&status);
    printf("ended: %d\n", WEXITSTATUS(status));
    return 0;
}
