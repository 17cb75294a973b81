// What one call costs: `calls pread|pwrite|open|fread|getc|start FILE COUNT` prints nanoseconds a call.
// `open` is open, fstat, read, close of COUNT files FILE.0, FILE.1 …; `start` is fork, exec and wait of FILE.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char data[4096];

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void make(const char *path, size_t size) {
    int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
    for (size_t written = 0; written < size; written += sizeof data)
        if (write(fd, data, sizeof data) < 0) exit(1);
    close(fd);
}

static void one_file(const char *path, long i) {
    char name[4096];
    struct stat facts;
    snprintf(name, sizeof name, "%s.%ld", path, i % 5000);
    int fd = open(name, O_RDONLY);
    if (fd < 0 || fstat(fd, &facts) != 0 || read(fd, data, sizeof data) < 0) exit(1);
    close(fd);
}

static void start(const char *path) {
    pid_t pid = fork();
    if (pid == 0) {
        execl(path, path, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

int main(int count, char **arguments) {
    if (count < 4) return 2;
    const char *what = arguments[1], *path = arguments[2];
    long times = atol(arguments[3]);
    FILE *stream = NULL;
    int fd = -1;
    if (strcmp(what, "start") != 0) {
        make(path, 1 << 20);
        stream = fopen(path, "r");
        fd = open(path, O_RDWR);
    }
    if (strcmp(what, "open") == 0)
        for (int i = 0; i < 5000; i++) {
            char name[4096];
            snprintf(name, sizeof name, "%s.%d", path, i);
            make(name, 1);
        }
    // Past the first instants, in which clocks are measured and pages are touched first.
    for (double until = seconds() + 0.05; seconds() < until && fd >= 0;)
        if (pread(fd, data, sizeof data, 0) < 0) return 1;
    double began = seconds();
    for (long i = 0; i < times; i++) {
        if (strcmp(what, "pread") == 0 && pread(fd, data, sizeof data, (i % 256) * 4096) < 0)
            return 1;
        else if (strcmp(what, "pwrite") == 0 && pwrite(fd, data, sizeof data, (i % 256) * 4096) < 0)
            return 1;
        else if (strcmp(what, "open") == 0)
            one_file(path, i);
        else if (strcmp(what, "fread") == 0 && fread(data, 64, 1, stream) != 1)
            rewind(stream);
        else if (strcmp(what, "getc") == 0 && getc(stream) == EOF)
            rewind(stream);
        else if (strcmp(what, "start") == 0)
            start(path);
    }
    printf("%s %.1f\n", what, (seconds() - began) * 1e9 / (double)times);
    return 0;
}
