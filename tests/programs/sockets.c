// Messages over connected sockets and kernel copies through pipes, one call of each, on descriptors of one process.
// Prints `R|W <api> <calls> <bytes>`.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#if defined(__GLIBC__)
int __connect(int, const void *, socklen_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, void *, void *);
ssize_t form_recv(int, void *, size_t, int) __asm__("__recv");
int form_sendmmsg(int, struct mmsghdr *, unsigned, int) __asm__("__sendmmsg");
int pidfd_open(pid_t, unsigned);
#define FORM(name) "__" name
#define CHECKED(name) "__" name "_chk"
#else // musl has each call under one name
#define FORM(name) name
#define CHECKED(name) name
#define form_recv recv
#define form_sendmmsg sendmmsg
#define __connect connect
#define __recv_chk(fd, data, count, size, flags) recv(fd, data, count, flags)
#define __recvfrom_chk(fd, data, count, size, flags, from, length) recvfrom(fd, data, count, flags, from, length)
#define pidfd_open(pid, flags) dup(0)
#endif

#if defined(__GLIBC__) && defined(__x86_64__)
#define SEND "__send"
ssize_t form_send(int, const void *, size_t, int) __asm__("__send");
#else
#define SEND "send"
#define form_send send
#endif

static char data[4096];
static struct iovec part = {data, 100};

#define EXPECT(side, api, call, bytes) SAY_OF(side, #api, call, bytes)
#define SAY_OF(side, api, call, bytes)                                                                                 \
    do {                                                                                                               \
        if ((call) < 0) {                                                                                              \
            perror(api);                                                                                               \
            exit(1);                                                                                                   \
        }                                                                                                              \
        printf(side " " api " 1 %d\n", bytes);                                                                         \
    } while (0)

static void messages(int a, int b) {
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr several[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
    EXPECT("W", send, send(a, data, 10, 0), 10);
    EXPECT("R", recv, recv(b, data, 10, 0), 10);
    EXPECT("W", sendto, sendto(a, data, 20, 0, NULL, 0), 20);
    EXPECT("R", recvfrom, recvfrom(b, data, 20, 0, NULL, NULL), 20);
    EXPECT("W", sendmsg, sendmsg(a, &message, 0), 100);
    EXPECT("R", recvmsg, recvmsg(b, &message, 0), 100);
    SAY_OF("W", FORM("sendmmsg"), form_sendmmsg(a, several, 1, 0), 100);
    SAY_OF("R", FORM("recv"), form_recv(b, data, 100, 0), 100);
    EXPECT("W", sendmmsg, sendmmsg(a, several, 2, 0), 200);
    EXPECT("R", recvmmsg, recvmmsg(b, several, 2, 0, NULL), 200);
    EXPECT("W", write, write(a, data, 60), 60);
    SAY_OF("R", CHECKED("recv"), __recv_chk(b, data, 30, sizeof data, 0), 30);
    SAY_OF("R", CHECKED("recvfrom"), __recvfrom_chk(b, data, 30, sizeof data, 0, NULL, NULL), 30);
}

static void loopback(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0), from = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&address, size) != 0 || listen(listening, 2) != 0) exit(1);
    getsockname(listening, (struct sockaddr *)&address, &size);
    if (connect(from, (struct sockaddr *)&address, size) != 0) exit(1);
    int to = accept(listening, NULL, NULL);
    SAY_OF("W", SEND, form_send(from, data, 5, 0), 5);
    int other = socket(AF_INET, SOCK_STREAM, 0);
    if (__connect(other, (struct sockaddr *)&address, size) != 0) exit(1);
    int last = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (recv(to, data, 5, 0) != 5 || last < 0) exit(1);
}

// Descriptors that are not files: reads from them leave no trace, and their numbers must not refer to previous
// openings.
static void others(void) {
    uint64_t value = 1;
    sigset_t none;
    sigemptyset(&none);
    int made[] = {signalfd(-1, &none, 0),
                  eventfd(1, 0),
                  epoll_create(1),
                  epoll_create1(0),
                  timerfd_create(CLOCK_MONOTONIC, 0),
                  inotify_init(),
                  inotify_init1(0),
                  pidfd_open(getpid(), 0)};
    if (read(made[1], &value, 8) != 8) exit(1);
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++) close(made[i]);
}

int main(int count, char **arguments) {
    int pair[2], ends[2];
    if (count != 2 || chdir(arguments[1]) != 0) return 1;
    others();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
    messages(pair[0], pair[1]);
    loopback();
    if (pipe2(ends, O_CLOEXEC) != 0) return 1;
    int file = open("file", O_CREAT | O_RDWR, 0644), memory = memfd_create("memory", 0);
    if (write(file, data, 1000) != 1000 || lseek(file, 0, SEEK_SET) != 0) return 1;
    EXPECT("O", splice, splice(file, NULL, ends[1], NULL, 300, 0), 300);
    EXPECT("O", sendfile64, sendfile64(memory, file, NULL, 200), 200);
    FILE *nameless = tmpfile();
    fputs("hello", nameless);
    fclose(nameless);
    printf("W fputs 1 5\n");
    int shared = shm_open("/provio-test", O_CREAT | O_RDWR, 0600);
    EXPECT("W", pwrite, pwrite(shared, data, 70, 0), 70);
    shm_unlink("/provio-test");
    return 0;
}
