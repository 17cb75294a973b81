// `ways WAY`: a child is forked, then one of the two reads the file `in`, and its content goes to the other by the given
// way between processes, which writes it into the file `out`. Ends with 77 if the system refuses the way.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 64, REFUSED = 77 };

static char data[SIZE];
static sigset_t turn;

static void must(int good) {
    if (!good) _exit(errno == EPERM || errno == EACCES || errno == ENOSYS ? REFUSED : 1);
}

static void load(void) {
    int fd = open("in", O_RDONLY);
    must(fd >= 0 && read(fd, data, SIZE) > 0 && close(fd) == 0);
}

static void store(void) {
    int fd = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    must(fd >= 0 && write(fd, data, strlen(data)) > 0 && close(fd) == 0);
}

static void wait_turn(void) {
    int number;
    must(sigwait(&turn, &number) == 0);
}

// ---- from the parent to its child

struct shared {
    volatile int ready;
    char text[SIZE];
};

static void give(struct shared *shared) {
    load();
    memcpy(shared->text, data, SIZE);
    shared->ready = 1;
}

static void take(struct shared *shared) {
    while (!shared->ready) usleep(1000);
    memcpy(data, shared->text, SIZE);
    store();
    shmdt(shared);
}

static mqd_t queue;
static int messages;
static struct shared *shared;
static int events;
static struct {
    long kind;
    char text[SIZE];
} message = {1, ""};

static void prepare(const char *way) {
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = SIZE};
    char name[64];
    if (strncmp(way, "mq", 2) == 0) {
        snprintf(name, sizeof name, "/provio-%d", (int)getpid());
        must((queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes)) != (mqd_t)-1 && mq_unlink(name) == 0);
    } else if (strncmp(way, "msg", 3) == 0) {
        must((messages = msgget(IPC_PRIVATE, 0600)) >= 0);
    } else if (strncmp(way, "shm", 3) == 0) {
        int segment = shmget(IPC_PRIVATE, sizeof *shared, 0600);
        must(segment >= 0);
        shared = strcmp(way, "shm") == 0 ? shmat(segment, NULL, 0) : (void *)syscall(SYS_shmat, segment, NULL, 0);
        must(shared != (void *)-1 && shmctl(segment, IPC_RMID, NULL) == 0);
    } else if (strncmp(way, "map", 3) == 0) {
        int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_ANONYMOUS;
        shared = strcmp(way, "map") == 0 ? mmap(NULL, sizeof *shared, protection, flags, -1, 0)
                                         : (void *)syscall(SYS_mmap, NULL, sizeof *shared, protection, flags, -1, 0);
        must(shared != MAP_FAILED && shmdt(shared) != 0 && munmap(shared, 0) != 0); // it stays
    } else if (strcmp(way, "eventfd") == 0) {
        must((events = eventfd(0, 0)) >= 0);
    }
}

static void parent(const char *way, pid_t child) {
    struct iovec here = {data, SIZE}, there = {data, SIZE};
    char name[64];
    if (strcmp(way, "mq") == 0) {
        load();
        must(mq_send(queue, data, SIZE, 0) == 0);
    } else if (strcmp(way, "mq timed") == 0) {
        struct timespec until = {INT32_MAX, 0};
        load();
        must(mq_timedsend(queue, data, SIZE, 0, &until) == 0);
    } else if (strcmp(way, "mq syscall") == 0) {
        load();
        must(syscall(SYS_mq_timedsend, queue, data, SIZE, 0, NULL) == 0);
    } else if (strncmp(way, "msg", 3) == 0) {
        load();
        memcpy(message.text, data, SIZE);
        must((strcmp(way, "msg") == 0 ? msgsnd(messages, &message, SIZE, 0)
                                      : syscall(SYS_msgsnd, messages, &message, SIZE, 0)) == 0);
    } else if (shared != NULL) {
        give(shared);
    } else if (strcmp(way, "eventfd") == 0) {
        load();
        must(eventfd_write(events, (eventfd_t)data[0]) == 0);
    } else if (strcmp(way, "process_vm_writev") == 0) {
        load();
        must(process_vm_writev(child, &here, 1, &there, 1, 0) == SIZE);
        kill(child, SIGUSR1);
    } else if (strcmp(way, "write mem") == 0) {
        load();
        snprintf(name, sizeof name, "/proc/%d/mem", (int)child);
        int fd = open(name, O_WRONLY);
        must(fd >= 0 && pwrite(fd, data, SIZE, (off_t)(uintptr_t)data) == SIZE && close(fd) == 0);
        kill(child, SIGUSR1);
    } else if (strcmp(way, "poke") == 0) {
        load();
        must(ptrace(PTRACE_ATTACH, child, NULL, NULL) == 0 && waitpid(child, NULL, 0) == child);
        for (size_t i = 0; i < SIZE; i += sizeof(long)) {
            long word;
            memcpy(&word, data + i, sizeof word);
            must(ptrace(PTRACE_POKEDATA, child, data + i, (void *)word) == 0);
        }
        must(ptrace(PTRACE_DETACH, child, NULL, NULL) == 0);
        kill(child, SIGUSR1);
    } else { // from the child
        wait_turn();
        if (strcmp(way, "process_vm_readv") == 0) {
            must(process_vm_readv(child, &here, 1, &there, 1, 0) == SIZE);
        } else if (strcmp(way, "read mem") == 0) {
            snprintf(name, sizeof name, "/proc/%d/mem", (int)child);
            int fd = open(name, O_RDONLY);
            must(fd >= 0 && pread(fd, data, SIZE, (off_t)(uintptr_t)data) == SIZE && close(fd) == 0);
        } else if (strcmp(way, "peek") == 0) {
            must(ptrace(PTRACE_ATTACH, child, NULL, NULL) == 0 && waitpid(child, NULL, 0) == child);
            for (size_t i = 0; i < SIZE; i += sizeof(long)) {
                long word = ptrace(PTRACE_PEEKDATA, child, data + i, NULL);
                memcpy(data + i, &word, sizeof word);
            }
            must(ptrace(PTRACE_DETACH, child, NULL, NULL) == 0);
        } else if (strcmp(way, "pidfd_getfd") == 0) { // the child's descriptor 9 is open on `in`
            int process = (int)syscall(SYS_pidfd_open, child, 0);
            int fd = (int)syscall(SYS_pidfd_getfd, process, 9, 0);
            must(process >= 0 && fd >= 0 && read(fd, data, SIZE) > 0);
        }
        kill(child, SIGUSR1);
        store();
    }
}

static void child(const char *way, pid_t parent) {
    ssize_t got = 1;
    eventfd_t number = 0;
    if (strcmp(way, "mq") == 0) {
        got = mq_receive(queue, data, SIZE, NULL);
    } else if (strcmp(way, "mq timed") == 0) {
        struct timespec until = {INT32_MAX, 0};
        got = mq_timedreceive(queue, data, SIZE, NULL, &until);
    } else if (strcmp(way, "mq syscall") == 0) {
        got = syscall(SYS_mq_timedreceive, queue, data, SIZE, NULL, NULL);
    } else if (strncmp(way, "msg", 3) == 0) {
        got = strcmp(way, "msg") == 0 ? msgrcv(messages, &message, SIZE, 0, 0)
                                      : syscall(SYS_msgrcv, messages, &message, SIZE, 0, 0);
        msgctl(messages, IPC_RMID, NULL);
        memcpy(data, message.text, SIZE);
    } else if (shared != NULL) {
        take(shared);
        return;
    } else if (strcmp(way, "eventfd") == 0) {
        must(eventfd_read(events, &number) == 0);
        data[0] = (char)number;
    } else if (strcmp(way, "process_vm_writev") == 0 || strcmp(way, "write mem") == 0 || strcmp(way, "poke") == 0) {
        wait_turn();
    } else {
        if (strcmp(way, "pidfd_getfd") == 0)
            must(dup2(open("in", O_RDONLY), 9) == 9);
        else
            load();
        kill(parent, SIGUSR1);
        wait_turn();
        return;
    }
    must(got > 0);
    store();
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    sigemptyset(&turn);
    sigaddset(&turn, SIGUSR1);
    sigprocmask(SIG_BLOCK, &turn, NULL);
    prepare(arguments[1]);
    pid_t own = getpid(), other = fork();
    if (other == 0) {
        alarm(30);
        child(arguments[1], own);
        _exit(0);
    }
    parent(arguments[1], other);
    int status;
    must(waitpid(other, &status, 0) == other);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
