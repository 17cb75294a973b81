// slow: 64 threads × 10,000 writes
// order: any
// writes: file0 file63 all
// 64 threads write 10,000 times each, to a file of their own and to one that all append to.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int all;

static void *work(void *number) {
    char name[32], line[16];
    snprintf(name, sizeof name, "file%ld", (long)number);
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    for (int i = 0; i < 10000; i++) {
        snprintf(line, sizeof line, "%4ld %9d\n", (long)number, i);
        if (write(fd, line, 15) != 15) return "failed";
    }
    if (write(all, "one line a thread\n", 18) != 18) return "failed";
    return close(fd) == 0 ? NULL : "failed";
}

int main(void) {
    pthread_t threads[64];
    void *result;
    int failed = 0;
    all = open("all", O_CREAT | O_WRONLY | O_APPEND, 0644);
    for (long i = 0; i < 64; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 64; i++) {
        pthread_join(threads[i], &result);
        failed += result != NULL;
    }
    printf("failed: %d\n", failed);
    return failed;
}
