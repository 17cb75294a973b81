// `workload COUNTS PROCESSES THREADS`: threads of several processes open, write, read and close files until one signal
// kills their group. The file COUNTS, mapped shared, has the number of returned calls of each kind: 4 numbers for each
// thread (opens, writes, reads, closes), each updated after the call.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { OPENS, WRITES, READS, CLOSES, KINDS };

static volatile long *counts;
static int threads, number_of_process;

static void *work(void *argument) {
    int number = number_of_process * threads + (int)(long)argument;
    volatile long *mine = counts + (long)number * 8;
    unsigned seed = (unsigned)number;
    char name[32], data[256] = {0};
    for (;;) {
        snprintf(name, sizeof name, "load%d.%d", number, rand_r(&seed) % 3);
        int fd = open(name, O_CREAT | O_RDWR, 0644);
        if (fd < 0) _exit(1);
        mine[OPENS]++;
        for (int i = rand_r(&seed) % 40; i-- > 0;) {
            if (pwrite(fd, data, 1 + rand_r(&seed) % 256, rand_r(&seed) % 1000) > 0) mine[WRITES]++;
            if (pread(fd, data, 1 + rand_r(&seed) % 256, 0) > 0) mine[READS]++;
        }
        close(fd);
        mine[CLOSES]++;
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 4) return 1;
    int processes = atoi(arguments[2]);
    threads = atoi(arguments[3]);
    int fd = open(arguments[1], O_RDWR);
    counts = mmap(NULL, (size_t)processes * threads * 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED) return 1;
    close(fd);
    for (int i = 1; i < processes; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            number_of_process = i;
            break;
        }
    pthread_t one;
    for (long i = 1; i < threads; i++) pthread_create(&one, NULL, work, (void *)i);
    work(NULL);
    return 0;
}
