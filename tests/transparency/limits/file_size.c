// gaps: the file-size limit holds for the trace too
// unseen: * because nothing more can be recorded once the limit is reached
// RLIMIT_FSIZE of 4,096 bytes: writes are cut, then fail with EFBIG; the signal is sent for the program's own writes alone.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void count(int number) {
    signals++;
}

int main(void) {
    char data[1000] = {0};
    signal(SIGXFSZ, count);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096});
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "small%d", i % 20);
        int fd = open(name, O_CREAT | O_WRONLY, 0644);
        if (write(fd, name, strlen(name)) < 0 || close(fd) != 0) return 1;
    }
    int fd = open("large", O_CREAT | O_WRONLY, 0644);
    for (int i = 0; i < 6; i++) {
        errno = 0;
        ssize_t size = write(fd, data, sizeof data);
        printf("%zd, %s, %d signals\n", size, strerror(errno), (int)signals);
    }
    return 0;
}
