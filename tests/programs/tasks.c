// `tasks HOW FOLDER`: Tasks (provio.h) of one process: `threads` with a Task and a file each, `turns` of one thread
// between two Tasks, `heirs` created within a Task, the same among many other running Tasks (`crowd`), `children`, or
// `killed` within a Task.
#define _GNU_SOURCE
#include "../../interceptors/include/provio.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 500 };

static uint64_t begin(const char *name) {
    struct provio_task task = {.name = name, .kind = "part", .source = "f(\"x\")\n", .number = 7};
    return provio_task_begin(&task);
}

static void end(uint64_t task) {
    provio_task_end(task, "ok");
}

static void put(int fd) {
    if (write(fd, "data", 4) != 4) exit(3);
}

static void get(int fd) {
    char byte;
    if (pread(fd, &byte, 1, 0) != 1) exit(4);
}

static int made(const char *name) {
    int fd = open(name, O_CREAT | O_TRUNC | O_RDWR, 0644);
    if (fd < 0) exit(5);
    return fd;
}

// ---- threads: each with its Task and its file, and one file that all read

static int common;

static void *one_of_many(void *number) {
    char name[16];
    snprintf(name, sizeof name, "thread%ld", (long)number);
    uint64_t task = begin(name), before = provio_task_enter(task);
    int fd = made(name);
    for (int i = 0; i < ROUNDS; i++) {
        put(fd);
        get(common);
    }
    close(fd);
    provio_task_enter(before);
    end(task);
    return NULL;
}

static void threads(void) {
    pthread_t started[2];
    common = made("common");
    put(common);
    for (long i = 0; i < 2; i++) pthread_create(&started[i], NULL, one_of_many, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(started[i], NULL);
}

// ---- turns: one thread, one descriptor and one stream, alternating between two Tasks

static void turns(void) {
    uint64_t tasks[2] = {begin("even"), begin("odd")};
    int fd = made("shared");
    FILE *stream = fopen("stream", "w");
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t before = provio_task_enter(tasks[i % 2]);
        put(fd);
        putc_unlocked('x', stream);
        if (i % 5 == 0) { // a nested one
            uint64_t inner = begin("inner"), outer = provio_task_enter(inner);
            put(fd);
            provio_task_enter(outer);
            end(inner);
        }
        provio_task_enter(before);
        put(fd);
    }
    fclose(stream);
    close(fd);
    end(tasks[0]);
    end(tasks[1]);
}

// ---- heirs: a thread that lives longer than the Task in which it was created

static sem_t ended, go_on;

static void *heir(void *argument) {
    int fd = made("heir");
    (void)argument;
    put(fd);
    put(fd);
    sem_post(&ended);
    sem_wait(&go_on);
    put(fd);
    close(fd);
    return NULL;
}

static void heirs_among(int others) {
    pthread_t started;
    sem_init(&ended, 0, 0);
    sem_init(&go_on, 0, 0);
    uint64_t task = begin("parent");
    provio_task_enter(task);
    for (int i = 0; i < others; i++) begin("other");
    pthread_create(&started, NULL, heir, NULL);
    sem_wait(&ended);
    provio_task_enter(0);
    end(task);
    sem_post(&go_on);
    pthread_join(started, NULL);
}

static void heirs(void) {
    heirs_among(0);
}

static void crowd(void) {
    heirs_among(3000);
}

// ---- children: by fork, and by vfork and exec

static void children(void) {
    uint64_t task = begin("parent");
    provio_task_enter(task);
    pid_t forked = fork();
    if (forked == 0) {
        if (provio_task_now() != 0) _exit(6);
        uint64_t before = provio_task_enter(task); // the parent's, invalid here
        if (before != 0 || provio_task_now() != 0) _exit(7);
        close(made("child"));
        uint64_t own = begin("child's");
        provio_task_enter(own);
        put(made("in child"));
        _exit(0);
    }
    int status;
    if (waitpid(forked, &status, 0) != forked || status != 0) exit(8);
    if (system("echo x > shell") != 0) exit(9);
    put(made("after"));
    provio_task_enter(0);
    end(task);
}

static void killed(void) {
    provio_task_enter(begin("killed"));
    put(made("before"));
    kill(getpid(), SIGKILL);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*way)(void);
    } ways[] = {{"threads", threads}, {"turns", turns},       {"heirs", heirs},
                {"crowd", crowd},     {"children", children}, {"killed", killed}};
    if (count != 3 || chdir(arguments[2]) != 0) return 2;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(arguments[1], ways[i].name) == 0) return ways[i].way(), 0;
    return 2;
}
