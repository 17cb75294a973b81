// slow: 1,000 forks
// order: any
// any: t0 t1 t2 t3 t4 t5 t6 t7
// writes: t0 t7 children
// One thread forks 1,000 times while eight others open, write, read and close.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int stop;
static _Atomic long failed;

static void *work(void *number) {
    char name[8], data[64];
    snprintf(name, sizeof name, "t%ld", (long)number);
    while (!stop) {
        int fd = open(name, O_CREAT | O_RDWR, 0644);
        for (int i = 0; i < 20; i++) failed += pwrite(fd, name, 2, 2 * i) != 2 || pread(fd, data, 64, 0) < 2;
        failed += close(fd) != 0;
        usleep(200);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[8];
    int children = open("children", O_CREAT | O_WRONLY | O_APPEND, 0644), good = 0;
    close(open("t0", O_CREAT | O_RDWR, 0644)); // the first child may come before the first thread
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 1000; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(20);
            int fd = open("t0", O_RDONLY);
            _exit(fd < 0 || close(fd) != 0 || write(children, "c\n", 2) != 2);
        }
        good += waitpid(pid, &status, 0) == pid && status == 0;
    }
    stop = 1;
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    printf("good: %d, failed: %ld\n", good, failed);
    return 0;
}
