// Opens, writes and closes files; a signal handler jumps out of it, wherever it is, COUNT times: jumps COUNT FOLDER.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf before;
static volatile sig_atomic_t ready, turn;

#if defined(__GLIBC__)
extern void __longjmp_chk(struct __jmp_buf_tag *buffer, int value);
#else
#define __longjmp_chk siglongjmp
#endif

static void handler(int number) {
    (void)number;
    if (!ready) return;
    turn = (turn + 1) % 4;
    if (turn == 0) longjmp(before, 1);
    if (turn == 1) _longjmp(before, 1);
    if (turn == 2) __longjmp_chk(before, 1);
    siglongjmp(before, 1);
}

static void timer(long microseconds) {
    struct itimerval once = {{0, 0}, {0, microseconds}};
    setitimer(ITIMER_REAL, &once, NULL);
}

int main(int count, char **arguments) {
    static volatile long jumps, rounds;
    char name[4096];
    if (count != 3) return 2;
    signal(SIGALRM, handler);
    if (sigsetjmp(before, 1)) jumps++;
    closefrom(3); // left open by the jump
    while (jumps < atol(arguments[1])) {
        snprintf(name, sizeof name, "%s/%ld", arguments[2], rounds++ % 10);
        ready = 1;
        timer(1 + rounds * 7 % 300); // at each point of the lines below, and after them
        int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (file >= 0 && write(file, "line\n", 5) == 5) close(file);
        ready = 0;
    }
    timer(0);
    snprintf(name, sizeof name, "%s/last", arguments[2]);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 100; i++)
        if (write(file, "line\n", 5) != 5) return 1;
    return close(file);
}
