// order: any
// writes: key0 key1 again
// also: run
// Thread-specific keys with destructors that open and write files; the last one is set by a destructor.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_key_t keys[2], again;

static void put(const char *name, const char *text) {
    int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0644);
    write(fd, text, strlen(text));
    close(fd);
}

static void destroyed(void *name) {
    put(name, "destroyed\n");
    if (strcmp(name, "key1") == 0) pthread_setspecific(again, "again");
}

static void once_more(void *name) {
    put(name, "in a later round\n");
}

static void *work(void *number) {
    for (int i = 0; i < 2; i++) pthread_setspecific(keys[i], i ? "key1" : "key0");
    if ((long)number % 2) put("work", "of a thread\n");
    return NULL;
}

int main(void) {
    pthread_key_create(&keys[0], destroyed);
    put("main", "the first\n");
    pthread_key_create(&keys[1], destroyed);
    pthread_key_create(&again, once_more);
    for (long i = 0; i < 50; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, (void *)i);
        pthread_join(thread, NULL);
    }
    pthread_setspecific(keys[0], "main");
    pthread_exit(NULL);
}
