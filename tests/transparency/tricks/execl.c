// also: run
// reads: text
// writes: text
// gap: was started without the preload, which the program before it took out
// execl, execlp and execle with five arguments, and with twenty.
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD(call)                                                                                                    \
    if (fork() == 0) {                                                                                                 \
        call;                                                                                                          \
        _exit(127);                                                                                                    \
    }                                                                                                                  \
    wait(NULL);

int main(void) {
    char *const environment[] = {"A=1", "B=two words", NULL};
    int fd = open("text", O_CREAT | O_WRONLY, 0644);
    write(fd, "a file\n", 7);
    CHILD(execl("/bin/echo", "echo", "ONE", "TWO", "THREE", (char *)NULL))
    CHILD(execlp("cat", "cat", "text", "text", "-", (char *)NULL))
    CHILD(execlp("printf", "printf", "%s.", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
                 "16", "17\n", (char *)NULL))
    CHILD(execle("/bin/sh", "sh", "-c", "echo $A, $B, $0, $1", "zero", "one", (char *)NULL, environment))
    return execl("/bin/echo", "echo", "", "an empty one before", "", (char *)NULL);
}
