// Passes descriptors on: a parent opens each given file and sends it to its child, by SCM_RIGHTS in one message or in
// several (recvmmsg), or lets the child take it (pidfd_getfd). The child first has another file with the number that it
// will receive, closed by a call that is not intercepted. Prints the bytes that the child read.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int pidfd_open(pid_t, unsigned);
int pidfd_getfd(int, int, unsigned);

static void check(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

union room {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static struct msghdr message_with(union room *room, struct iovec *part) {
    return (struct msghdr){
        .msg_iov = part, .msg_iovlen = 1, .msg_control = room->bytes, .msg_controllen = sizeof room->bytes};
}

static void send_descriptor(int to, int fd) {
    union room room = {{.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {"x", 1};
    struct msghdr message = message_with(&room, &part);
    memcpy(CMSG_DATA(&room.head), &fd, sizeof fd);
    check(sendmsg(to, &message, 0) == 1, "sendmsg");
}

// A file with the lowest free number, which is freed again by a call that is not intercepted.
static void stale(void) {
    char data[16];
    FILE *before = fopen("before", "r");
    check(before != NULL && fread(data, 1, sizeof data, before) > 0, "before");
    fcloseall();
}

static int descriptor_in(union room *room) {
    int fd;
    memcpy(&fd, CMSG_DATA(&room->head), sizeof fd);
    return fd;
}

static void take(int from, int outcome, const char *way) {
    char data[64], byte;
    struct iovec part = {&byte, 1};
    union room room;
    struct mmsghdr several = {.msg_hdr = message_with(&room, &part)};
    int fd;
    stale();
    if (strcmp(way, "recvmmsg") == 0)
        check(recvmmsg(from, &several, 1, 0, NULL) == 1, "recvmmsg"), fd = descriptor_in(&room);
    else if (strcmp(way, "recvmsg") == 0)
        check(recvmsg(from, &several.msg_hdr, MSG_CMSG_CLOEXEC) == 1, "recvmsg"), fd = descriptor_in(&room);
    else {
        int sent;
        check(read(from, &sent, sizeof sent) == sizeof sent, "read");
        fd = pidfd_getfd(pidfd_open(getppid(), 0), sent, 0);
        check(fd >= 0, "pidfd_getfd");
    }
    ssize_t size = read(fd, data, sizeof data);
    check(size > 0 && write(outcome, data, (size_t)size) == size, "read");
    _exit(0);
}

static void pass(const char *file, const char *way) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
    pid_t pid = fork();
    if (pid == 0) take(ends[1], dup(1), way);
    int fd = open(file, O_RDONLY), status;
    check(fd >= 0, file);
    if (strcmp(way, "pidfd_getfd") == 0)
        check(write(ends[0], &fd, sizeof fd) == sizeof fd, "write");
    else
        send_descriptor(ends[0], fd);
    check(waitpid(pid, &status, 0) == pid && status == 0, way);
    close(ends[0]);
    close(ends[1]);
    close(fd);
}

int main(void) {
    pass("one", "recvmsg");
    pass("two", "recvmmsg");
    pass("three", "pidfd_getfd");
    return 0;
}
