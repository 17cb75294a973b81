// In the given folder, one thread opens a file, writes it and ends; then the next thread writes and closes it. Prints
// "done".
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int fd;

static void *opens(void *unused) {
    fd = open("handed", O_CREAT | O_WRONLY, 0644);
    write(fd, "first", 5);
    return unused;
}

static void *closes(void *unused) {
    write(fd, "second", 6);
    close(fd);
    return unused;
}

int main(int count, char **arguments) {
    if (count != 2 || chdir(arguments[1]) != 0) return 1;
    pthread_t thread;
    for (int i = 0; i < 100; i++) {
        if (pthread_create(&thread, NULL, opens, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
        if (pthread_create(&thread, NULL, closes, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
    }
    return puts("done") < 0;
}
