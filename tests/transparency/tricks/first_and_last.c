// also: run
// reads: preinit
// writes: preinit constructor main atexit destructor finished
// I/O before every constructor (.preinit_array), in the first of them, at exit, in destructors, after the last of them.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(const char *name) {
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    write(fd, name, strlen(name));
    close(fd);
}

static void preinit(int count, char **arguments, char **environment) {
    char text[16] = "";
    put("preinit");
    int fd = open("preinit", O_RDONLY);
    if (read(fd, text, sizeof text) != 7) put("preinit failed");
    dup2(fd, 9);
    close(fd);
}
__attribute__((section(".preinit_array"), used)) static void (*at_first)(int, char **, char **) = preinit;

__attribute__((constructor(101))) static void constructor(void) {
    put("constructor");
}

__attribute__((destructor(101))) static void destructor(void) {
    put("destructor");
}

static void finished(void) {
    put("finished");
}
__attribute__((section(".fini_array.00000"), used)) static void (*at_last)(void) = finished;

static void at_exit(void) {
    put("atexit");
}

int main(void) {
    atexit(at_exit);
    put("main");
    FILE *stream = fopen("stream", "w");
    fputs("flushed when it ends", stream);
    printf("descriptor 9: %d\n", fcntl(9, F_GETFD));
    return 0;
}
