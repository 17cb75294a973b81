// `fork_storm FOLDER FORKS`: 4 threads write while the main thread forks children that write one byte and _exit. Prints
// the pid and the number of writes of the threads.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int stop;
static long made[4];

static void *work(void *number) {
    char name[16];
    snprintf(name, sizeof name, "t%ld", (long)number);
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    for (; !stop; made[(long)number]++) {
        if (write(fd, name, 2) != 2) exit(1);
        if (made[(long)number] % 100 == 0) usleep(100);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3 || chdir(arguments[1]) != 0) return 1;
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = atoi(arguments[2]); i > 0; i--) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        pid_t pid = fork();
        if (pid == 0) {
            int fd = open(name, O_CREAT | O_WRONLY, 0644);
            _exit(write(fd, "x", 1) != 1);
        }
        int status;
        if (waitpid(pid, &status, 0) != pid || status != 0) return 1;
    }
    stop = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%d %ld\n", getpid(), made[0] + made[1] + made[2] + made[3]);
    return 0;
}
