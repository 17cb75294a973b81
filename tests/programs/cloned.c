// `cloned HOW FOLDER COUNT`: makes COUNT children by clone, one after the other: `plain` with their own memory, `vfork`
// in the parent's memory while it waits, `shared` in the parent's memory at the same time. Each child closes its
// inherited descriptors, writes its own file and changes its working directory; the parent writes before, during and
// after. Prints the number of writes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int __clone(int (*)(void *), void *, int, void *, ...);

enum { STACK = 1 << 18 };

static int number, kept;

// Only calls that are safe in memory shared with the parent.
static int child(void *name) {
    close(kept);
    int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0644);
    if (fd != kept || dup2(fd, kept + 1) != kept + 1) return 2;
    if (write(fd, "child\n", 6) != 6 || write(kept + 1, "more\n", 5) != 5) return 3;
    return close(fd) != 0;
}

int main(int count, char **arguments) {
    int shared = CLONE_VM | SIGCHLD, flags = SIGCHLD, written = 0, status;
    if (count != 4 || chdir(arguments[2]) != 0) return 1;
    if (strcmp(arguments[1], "vfork") == 0) flags = shared | CLONE_VFORK;
    if (strcmp(arguments[1], "shared") == 0) flags = shared;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kept = open("parent", O_CREAT | O_WRONLY, 0644);
    if (write(kept, "p\n", 2) != 2) return 2;
    written++;
    for (number = 0; number < atoi(arguments[3]); number++) {
        char name[20];
        sprintf(name, "child%d", number);
        pid_t pid = (number % 2 ? clone : __clone)(child, stack + STACK, flags, name);
        if (pid < 0 || write(kept, "p\n", 2) != 2) return 3;
        written++;
        if (waitpid(pid, &status, 0) != pid || status != 0) return 4;
        if (write(kept, "p\n", 2) != 2) return 5;
        written++;
    }
    int after = open("after", O_CREAT | O_WRONLY, 0644);
    if (write(after, "x", 1) != 1) return 6;
    printf("%d\n", written);
    return 0;
}
