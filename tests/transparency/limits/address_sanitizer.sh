# needs: gcc gcc
# any: program
# also: run
# writes: file
# A program with AddressSanitizer, with threads, fork, vfork and exec; then one that has an error to be found.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:symbolize=0
cat >program.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *number) {
    char *text = malloc(32);
    for (int i = 0; i < 500; i++) {
        int fd = open("file", O_CREAT | O_RDWR | O_APPEND, 0644);
        if (write(fd, "0123456789\n", 11) != 11 || pread(fd, text, 11, 0) != 11) return "failed";
        close(fd);
    }
    free(text);
    return NULL;
}
__attribute__((noinline)) static void start(const char *path) {
    char *arguments[40] = {"sh", "-c", "exit 3"};
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        execv(path, arguments);
        _exit(4);
    }
    waitpid(pid, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
}
__attribute__((noinline)) static int below(int depth) {
    char room[4000];
    memset(room, depth, sizeof room);
    return depth == 0 ? room[7] : below(depth - 1) + room[9];
}
int main(int count, char **arguments) {
    pthread_t threads[4];
    void *said;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &said);
        if (said != NULL) puts(said);
    }
    start("/bin/sh");
    start("/no/such/shell");
    printf("%d\n", below(20));
    fflush(stdout);
    if (fork() == 0) _exit(0);
    wait(NULL);
    char *freed = malloc(10);
    free(freed);
    return count > 1 && write(1, freed, 5);
}
END
gcc -g -w -fsanitize=address -o program program.c -lpthread || exit
./program
echo "ended with $?"
./program wrong >wrong.txt 2>wrong.txt
echo "ended with $?"
grep -c "heap-use-after-free" wrong.txt
rm wrong.txt
