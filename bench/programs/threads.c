// `threads FOLDER COUNT`: COUNT threads, two at a time, each of which opens one file, reads it and ends.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *folder;

static void *one_file(void *argument) {
    char name[4096], data[4096];
    long i = (long)argument;
    snprintf(name, sizeof name, "%s/%03ld/%05ld", folder, i / 100, i);
    int fd = open(name, O_RDONLY);
    if (fd < 0 || read(fd, data, sizeof data) < 0) exit(1);
    close(fd);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    folder = arguments[1];
    for (long i = 0; i + 1 < atol(arguments[2]); i += 2) {
        pthread_t threads[2];
        for (long j = 0; j < 2; j++)
            if (pthread_create(&threads[j], NULL, one_file, (void *)(i + j)) != 0) return 1;
        for (int j = 0; j < 2; j++) pthread_join(threads[j], NULL);
    }
    return 0;
}
