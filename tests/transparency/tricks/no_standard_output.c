// A program that ends with `stdout` set to nothing, or to a stream that it closed.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void ended(const char *how, void (*end)(void)) {
    int status;
    if (fork() == 0) end();
    wait(&status);
    fprintf(stderr, "%s: %d\n", how, status);
}

static void none(void) {
    stdout = NULL;
    exit(3);
}

static void closed(void) {
    stdout = fopen("file", "w");
    fputs("text\n", stdout);
    fclose(stdout);
    exit(4);
}

static void another(void) {
    stdout = fopen("another", "w");
    printf("text\n");
    exit(5);
}

int main(void) {
    ended("none", none);
    ended("closed", closed);
    ended("another", another);
    return 0;
}
