// cc: -lrt -lpthread
// gap: sends messages by a message queue: they are not followed
// gap: receives messages from a message queue: they are not followed
// Message queues of both kinds: results, errno, and a cancelled receiver.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <unistd.h>

static mqd_t queue;
static int kind;

static void show(const char *call, long result) {
    printf("%s %ld %s\n", call, result, result < 0 ? strerror(errno) : "");
}

static void *receive(void *unused) {
    char data[16];
    if (kind == 0)
        mq_receive(queue, data, sizeof data, NULL);
    else
        msgrcv(kind, data, 8, 0, 0);
    return unused;
}

static void cancel(void) {
    pthread_t thread;
    void *end;
    pthread_create(&thread, NULL, receive, NULL);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &end);
    printf("cancelled %d\n", end == PTHREAD_CANCELED);
}

int main(void) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 16};
    struct timespec past = {1, 0};
    struct {
        long kind;
        char text[8];
    } message = {3, "seven"};
    char name[64], data[16] = "text";
    unsigned priority = 0;
    snprintf(name, sizeof name, "/provio-same-%d", (int)getpid());
    queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
    mq_unlink(name);
    show("mq_timedreceive", mq_timedreceive(queue, data, 16, NULL, &past));
    show("mq_receive", mq_receive(queue, data, 2, NULL));
    show("mq_send", mq_send(queue, "12345678901234567", 17, 0));
    show("mq_send", mq_send(queue, "one", 4, 7));
    show("mq_timedsend", mq_timedsend(queue, "two", 4, 7, &past));
    errno = ENOTTY;
    show("mq_receive", mq_receive(queue, data, 16, &priority));
    printf("%s %u %d\n", data, priority, errno == ENOTTY);
    show("mq_send", mq_send(-1, "one", 4, 0));
    cancel();
    kind = msgget(IPC_PRIVATE, 0600);
    show("msgrcv", msgrcv(kind, &message, 8, 0, IPC_NOWAIT));
    show("msgsnd", msgsnd(kind, &message, 8, 0));
    show("msgrcv", msgrcv(kind, &message, 2, 0, 0));
    show("msgrcv", msgrcv(kind, &message, 8, 3, 0));
    cancel();
    show("msgctl", msgctl(kind, IPC_RMID, NULL));
    show("msgsnd", msgsnd(kind, &message, 8, 0));
    show("shmat", (long)shmat(-1, NULL, 0));
    show("shmdt", shmdt(NULL));
    return 0;
}
