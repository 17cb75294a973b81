// `workload COUNTS PROCESSES THREADS CALLS STEPS`: threads of several processes open, write, read and close files. When
// the first thread has made CALLS calls and STEPS more instructions, SIGKILL ends their process group. The file COUNTS,
// mapped shared, has the number of returned calls of each kind: 4 numbers for each thread (opens, writes, reads,
// closes), each updated after the call.
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
#include "stepped.h"

enum { OPENS, WRITES, READS, CLOSES, KINDS };

static volatile long *counts;
static int threads, number_of_process;
static long calls_left, steps;

// Begin to count the instructions of the first thread before a certain call.
static void before_a_call(int number) {
    if (number == 0 && calls_left-- == 0) kill_after(steps, 0);
}

static void *work(void *argument) {
    int number = number_of_process * threads + (int)(long)argument;
    volatile long *mine = counts + (long)number * 8;
    unsigned seed = (unsigned)number;
    char name[32], data[256] = {0};
    for (;;) {
        snprintf(name, sizeof name, "load%d.%d", number, rand_r(&seed) % 3);
        before_a_call(number);
        int fd = open(name, O_CREAT | O_RDWR, 0644);
        if (fd < 0) _exit(1);
        mine[OPENS]++;
        for (int i = rand_r(&seed) % 40; i-- > 0;) {
            before_a_call(number);
            if (pwrite(fd, data, 1 + rand_r(&seed) % 256, rand_r(&seed) % 1000) > 0) mine[WRITES]++;
            before_a_call(number);
            if (pread(fd, data, 1 + rand_r(&seed) % 256, 0) > 0) mine[READS]++;
        }
        before_a_call(number);
        close(fd);
        mine[CLOSES]++;
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 6) return 1;
    int processes = atoi(arguments[2]);
    threads = atoi(arguments[3]);
    calls_left = atol(arguments[4]);
    steps = atol(arguments[5]);
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
