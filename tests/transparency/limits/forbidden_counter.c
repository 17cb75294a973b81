// gap: entered strict seccomp, under which the shim has no clock: times stand still from then on
// The time-stamp counter may not be read; a child that borrows this memory enters seccomp, where no clock is left.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int status, fd = open("out", O_CREAT | O_WRONLY, 0644);
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0); // where there is such a counter
    if (write(fd, "before\n", 7) != 7) return 1;
    pid_t child = vfork();
    if (child == 0) {
        prctl(PR_SET_SECCOMP, 1, 0, 0, 0);
        syscall(SYS_exit, 7);
    }
    waitpid(child, &status, 0);
    printf("%x\n", status);
    return write(fd, "after\n", 6) != 6;
}
