// `races FOLDER ROUNDS`: eight threads use the same eight descriptors: one writes, reads, maps or stats a descriptor
// while another closes it, replaces it by dup2 or reopens it; one changes the working directory, and short threads
// start and end. Prints "done".
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST = 40, SHARED = 8 };

static long rounds;

static void *one_open(void *number) {
    char name[32];
    snprintf(name, sizeof name, "short%ld", (long)number % 4);
    close(open(name, O_CREAT | O_RDWR, 0600));
    return NULL;
}

static void replace(unsigned *seed) {
    char name[32];
    snprintf(name, sizeof name, rand_r(seed) % 2 ? "file%u" : "././/file%u", rand_r(seed) % SHARED);
    int fd = open(name, O_CREAT | O_RDWR, 0600), place = FIRST + (int)(rand_r(seed) % SHARED);
    if (fd < 0) return;
    if (fd != place) dup2(fd, place);
    if (fd < FIRST || fd >= FIRST + SHARED) close(fd);
}

static void look(int fd) {
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) munmap(map, 4096);
    lseek(fd, 0, SEEK_SET);
    fsync(fd);
}

static void *work(void *number) {
    unsigned seed = (unsigned)(long)number;
    char data[64] = {0};
    for (long i = 0; i < rounds; i++) {
        int fd = FIRST + (int)(rand_r(&seed) % SHARED);
        unsigned action = rand_r(&seed) % 16;
        if (action < 5) pwrite(fd, data, sizeof data, 0);
        if (action >= 5 && action < 10) pread(fd, data, sizeof data, 0);
        if (action == 10 || action == 11) replace(&seed);
        if (action == 12) close(fd);
        if (action == 13) look(fd);
        if (action == 14) chdir(rand_r(&seed) % 2 ? "." : "../work");
        if (action == 15 && i % 8 == 0) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, one_open, (void *)i) == 0) pthread_join(thread, NULL);
        }
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3 || chdir(arguments[1]) != 0 || mkdir("work", 0700) != 0 || chdir("work") != 0) return 1;
    rounds = atol(arguments[2]);
    pthread_t threads[8];
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
