// `pwrite FOLDER COUNT THREADS`: nanoseconds for one pwrite of 4 KiB in the slowest of threads that each write a file.
#define _GNU_SOURCE
#include "timing.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static long times;
static pthread_barrier_t barrier;

struct writer {
    pthread_t thread;
    int fd;
    double best;
};

static void *write_all(void *argument) {
    static const char data[4096];
    struct writer *writer = argument;
    WARM_UP(if (pwrite(writer->fd, data, sizeof data, 0) != sizeof data) exit(1));
    pthread_barrier_wait(&barrier);
    TIMED(writer->best, times, if (pwrite(writer->fd, data, sizeof data, i % 256 * 4096) != sizeof data) exit(1));
    return NULL;
}

int main(int count, char **arguments) {
    struct writer writers[8] = {0};
    int threads = count == 4 ? atoi(arguments[3]) : 0;
    double slowest = 0;
    if (threads < 1 || threads > 8) return 2;
    times = atol(arguments[2]);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/written.%d", arguments[1], i);
        if ((writers[i].fd = open(name, O_WRONLY | O_CREAT, 0644)) < 0) return 1;
        if (pthread_create(&writers[i].thread, NULL, write_all, &writers[i]) != 0) return 1;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(writers[i].thread, NULL);
        if (writers[i].best > slowest) slowest = writers[i].best;
    }
    printf("%.2f\n", slowest);
    return 0;
}
