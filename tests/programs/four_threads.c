/* Four threads, each writing and reading a file of its own, and appending to one they share. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int common;

static void *work(void *argument)
{
    long number = (long)argument;
    char name[32], byte = (char)('a' + number), block[100] = {0};
    snprintf(name, sizeof name, "own%ld", number);
    int own = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < 1000; i++)
        if (pwrite(own, block, sizeof block, i * 100L) != sizeof block || write(common, &byte, 1) != 1) return "failed";
    for (int i = 0; i < 1000; i++)
        if (pread(own, block, sizeof block, i * 100L) != sizeof block) return "failed";
    close(own);
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    common = open("common", O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    int bad = 0;
    for (int i = 0; i < 4; i++) {
        void *expected;
        pthread_join(threads[i], &expected);
        bad += expected != NULL;
    }
    off_t size = lseek(common, 0, SEEK_END);
    if (ftruncate(common, 0)) return 3;
    printf("%ld bytes, %d bad\n", (long)size, bad);
    return 0;
}
