// A signal handler that writes, opens and closes, 50 microseconds after its last run (with a shorter delay, a slow
// machine would do nothing else), while the main program writes, opens and closes. Prints the number of writes of each
// and of opens of the handler.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static int handler_fd;
static volatile long handled, opened;
static volatile sig_atomic_t over;

static void soon(void) {
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 50}}, NULL);
}

static void handle(int number) {
    int kept = errno;
    (void)number;
    if (write(handler_fd, "x", 1) == 1) handled++;
    int fd = open("opened", O_RDONLY);
    if (fd >= 0) {
        opened++;
        close(fd);
    }
    if (!over) soon();
    errno = kept;
}

int main(int count, char **arguments) {
    if (count != 2 || chdir(arguments[1]) != 0) return 1;
    static char stack[16384];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternative, NULL);
    close(open("opened", O_CREAT | O_WRONLY, 0644));
    opened = 1;
    handler_fd = open("handler", O_CREAT | O_WRONLY, 0644);
    int fd = open("main", O_CREAT | O_WRONLY, 0644);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART}, NULL);
    soon();
    long written = 0;
    for (int i = 0; i < 30000; i++) {
        if (write(fd, "y", 1) == 1) written++;
        if (i % 10 == 0) close(open("/etc/hostname", O_RDONLY));
    }
    over = 1;
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    printf("%ld %ld %ld\n", written, handled, opened);
    return 0;
}
