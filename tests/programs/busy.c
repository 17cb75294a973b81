// `busy FOLDER THREADS`: threads that open, write, rename and close files (also with odd names) until they are killed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *work(void *number) {
    char name[64], other[64];
    for (unsigned i = 0;; i++) {
        snprintf(name, sizeof name, "t%ld \"%u\n", (long)number, i % 50);
        snprintf(other, sizeof other, "u%ld <%u\xff>", (long)number, i % 50);
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
    if (count != 3 || chdir(arguments[1]) != 0) return 1;
    pthread_t thread;
    for (long i = atol(arguments[2]); i > 0; i--) pthread_create(&thread, NULL, work, (void *)i);
    pause();
    return 0;
}
