// `threads FOLDER THREADS WRITES`: each thread writes its own file and a shared one. A negative number of threads: that
// many, one after the other, each with its own file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int shared;
static long writes;

static void *work(void *number) {
    char name[32], data[64] = {0};
    snprintf(name, sizeof name, "out%ld", (long)number);
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    for (long i = 0; i < writes; i++) {
        if (write(fd, data, sizeof data) != sizeof data) exit(1);
        if (shared >= 0 && write(shared, data, 1) != 1) exit(1);
    }
    close(fd);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 4 || chdir(arguments[1]) != 0) return 1;
    long threads = atol(arguments[2]);
    pthread_t started[64];
    writes = atol(arguments[3]);
    shared = threads < 0 ? -1 : open("shared", O_CREAT | O_WRONLY | O_APPEND, 0644);
    close(open("main", O_CREAT | O_WRONLY, 0644));
    for (long i = 0; i < labs(threads); i++) {
        pthread_create(&started[threads < 0 ? 0 : i], NULL, work, (void *)i);
        if (threads < 0) pthread_join(started[0], NULL);
    }
    for (long i = 0; i < threads; i++) pthread_join(started[i], NULL);
    return 0;
}
