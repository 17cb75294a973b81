// `busy FOLDER THREADS TURN STEP`: threads that open, write, rename and close files (also with odd names) until the
// first one kills them all after STEP instructions of its turn TURN.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "stepped.h"

static long last, step;

static void *work(void *number) {
    char name[64], other[64];
    for (unsigned i = 0;; i++) {
        snprintf(name, sizeof name, "t%ld \"%u\n", (long)number, i % 50);
        snprintf(other, sizeof other, "u%ld <%u\xff>", (long)number, i % 50);
        if ((long)number == 1 && i == last) kill_after(step, getpid());
        int fd = open(name, O_CREAT | O_RDWR, 0644);
        for (int j = 0; j < 20; j++)
            if (write(fd, name, 10) != 10 || pread(fd, other, 10, 0) < 0) exit(1);
        close(fd);
        rename(name, other);
        usleep(2000);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 5 || chdir(arguments[1]) != 0) return 1;
    last = atol(arguments[3]);
    step = atol(arguments[4]);
    pthread_t thread;
    for (long i = atol(arguments[2]); i > 0; i--) pthread_create(&thread, NULL, work, (void *)i);
    pause();
    return 0;
}
