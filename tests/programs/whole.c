// `whole MODE FOLDER IGNORED [BYTES]`: calls whose whole trace is known, in the folder: on files of every kind
// (`files`), of every size (`sizes`), on many files and descriptors at once (`many`), in a child of vfork or fork, on
// copies in the kernel, on sockets, on streams. IGNORED is a file that is not recorded. `closed`: each of five threads
// waits in a call while its descriptor is closed; each byte of the standard input starts the next thread, the last byte
// the closes. `nested`: a signal handler opens a file while the first trace file of a process is made.
// In the mode `all`, the process may map at most BYTES more than at its start; in `limited`, it may open no descriptor.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

static char data[1 << 16];
static const char *ignored;

static int made(const char *name, int flags, size_t size) {
    int fd = open(name, flags | O_CREAT, 0644);
    MUST(fd >= 0);
    if (size > 0) MUST(write(fd, data, size) == (ssize_t)size);
    return fd;
}

// ---- files: every way to open one, every kind, every operation on one

static void files(void) {
    char byte;
    int folder = open(".", O_RDONLY | O_DIRECTORY), path = open(".", O_PATH), both = made("both", O_RDWR, 100);
    MUST(folder >= 0 && path >= 0 && lseek(both, 10, SEEK_SET) == 10 && read(both, data, 40) == 40);
    MUST(write(both, data, 20) == 20 && pread(both, data, 30, 0) == 30 && pwrite(both, data, 5, 200) == 5);
    MUST(read(both, data, 1000) == 135 && read(both, data, 10) == 0 && read(both, data, 10) == 0);
    MUST(fsync(both) == 0 && fdatasync(both) == 0 && fsync(both) == 0 && posix_fallocate(both, 0, 300) == 0);
    MUST(read(99, &byte, 1) == -1 && write(folder, data, 1) == -1 && close(99) == -1 && open("none", O_RDONLY) == -1);
    MUST(write(folder, data, 1) == -1 && fsync(path) == -1 && pread(both, data, 1, -5) == -1);
    int later = openat(folder, "a \"name\"\n", O_WRONLY | O_CREAT | O_APPEND, 0600);
    MUST(write(later, data, 7) == 7 && dup2(later, 50) == 50 && close(later) == 0 && write(50, data, 3) == 3);
    MUST(dup2(both, 50) == 50 && dup2(50, 50) == 50 && dup2(-1, 50) == -1 && read(50, data, 1) == 1);
    MUST(close(50) == 0 && close(both) == 0 && close(path) == 0 && close(folder) == 0);
    int unlinked = made("unlinked", O_RDWR, 0);
    MUST(unlink("unlinked") == 0 && dup3(unlinked, 60, O_CLOEXEC) == 60 && close(unlinked) == 0);
    int again = open("/dev/fd/60", O_RDONLY);
    MUST(again >= 0 && read(again, data, 9) == 0 && close(again) == 0);
    int nameless = open(".", O_TMPFILE | O_RDWR, 0600), null = open("/dev/null", O_WRONLY);
    MUST(nameless >= 0 && write(nameless, data, 11) == 11 && write(null, data, 12) == 12);
    MUST(fcntl(nameless, F_DUPFD, 70) == 70 && fcntl(null, F_DUPFD_CLOEXEC, 80) == 80 && close(nameless) == 0);
    MUST(write(70, data, 13) == 13 && write(80, data, 14) == 14);
    int ends[2], terminal = posix_openpt(O_RDWR | O_NOCTTY);
    MUST(pipe(ends) == 0 && write(ends[1], data, 15) == 15 && read(ends[0], data, 15) == 15);
    MUST(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    MUST(slave >= 0 && write(slave, data, 1) == 1 && read(terminal, data, 1) == 1);
    close(open(ignored, O_RDONLY));
    close(made("created", O_WRONLY | O_TRUNC, 0));
    close(60);
}

// ---- sizes: at the limits of the ten classes, of reads and of writes

static void sizes(void) {
    static const size_t limits[] = {100, 1024, 10240, 102400, 1048576, 4194304, 10485760, 104857600, 1073741824};
    int null = open("/dev/null", O_WRONLY), file = made("file", O_RDWR, 200);
    char *large = mmap(NULL, (size_t)1 << 31, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MUST(large != MAP_FAILED);
    for (int i = 0; i < 9; i++)
        for (int more = 0; more < 2; more++)
            for (int times = 0; times <= i; times++)
                MUST(write(null, large, limits[i] + more) == (ssize_t)limits[i] + more);
    MUST(write(null, large, 0) == 0 && write(null, large, 1) == 1);
    static const struct {
        int offset, size;
    } reads[] = {{200, 5}, {0, 101}, {101, 99}, {0, 100}, {100, 100}, {200, 100}, {150, 50}, {0, 150}};
    for (int i = 0; i < 8; i++) pread(file, data, reads[i].size, reads[i].offset);
    struct iovec part = {data, 10};
    for (int i = 0; i < 12; i++) MUST(pwritev(null, &part, 1, i < 6 ? 10 * i : 20 * i) == 10);
}

// ---- many: openings at once, each with two functions, in three rounds; descriptors of any number

enum { MANY = 300 };

static void many(void) {
    static int fds[MANY];
    char name[16];
    struct rlimit limit;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "f%03d", i);
        fds[i] = made(name, O_RDWR, 3);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < MANY; i++) {
            MUST(pwrite(fds[i], data, 2, 0) == 2 && write(fds[i], data, 1) == 1 && pread(fds[i], data, 2, 0) == 2);
            if (i % 3 == round) MUST(posix_fallocate(fds[i], 0, 1) == 0 && read(fds[i], data, 9) == 0);
        }
    for (int i = 0; i < MANY; i++) MUST(close(fds[i]) == 0);
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 5000);
    static const int numbers[] = {1023, 1024, 1025, 2047, 2048, 5000};
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "d%d", numbers[i]);
        int fd = made(name, O_WRONLY, 1);
        MUST(dup2(fd, numbers[i]) == numbers[i] && close(fd) == 0 && write(numbers[i], data, 2) == 2);
    }
    for (int i = 0; i < 6; i++) MUST(write(numbers[i], data, 3) == 3);
    MUST(close(1023) == 0 && close(1025) == 0);
    MUST(close_range(1024, 2047, 0) == 0 && close_range(5000, UINT_MAX, 0) == 0);
    MUST(write(2048, data, 4) == 4 && write(1024, data, 1) == -1);
}

// ---- children: the openings of the parent, in a child that shares its memory or has a copy

static void in_child(int inherited, int unwritten, int replaced, int before) {
    int fds[50];
    char name[16];
    MUST(write(inherited, data, 2) == 2 && write(unwritten, data, 4) == 4);
    int own = made("own", O_WRONLY, 8), copy = dup(inherited);
    MUST(write(copy, data, 16) == 16 && close(copy) == 0 && dup2(own, replaced) == replaced);
    MUST(write(replaced, data, 32) == 32 && close(own) == 0 && close(inherited) == 0);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "c%02d", i);
        fds[i] = made(name, O_WRONLY, 1);
    }
    for (int i = 0; i < 50; i++) MUST(close(fds[i]) == 0);
    MUST(read(before, data, 64) == 2);
}

static void children(int shares) {
    char name[700] = "./";
    for (int i = 0; i < 3; i++) { // a path of more than 512 bytes
        memset(name + strlen(name), 'l', 200);
        MUST(mkdir(name, 0755) == 0);
        strcat(name, "/");
    }
    strcat(name, "file");
    int inherited = made("inherited", O_RDWR, 1), unwritten = made(name, O_RDWR, 0);
    int replaced = made("replaced", O_RDWR, 1), ends[2], pair[2];
    MUST(pipe(ends) == 0 && write(ends[1], data, 2) == 2 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    pid_t pid = shares ? vfork() : fork();
    if (pid == 0) {
        in_child(inherited, unwritten, replaced, ends[0]);
        MUST(write(pair[0], data, 9) == 9);
        _exit(0);
    }
    MUST(waitpid(pid, NULL, 0) == pid && read(pair[1], data, 10) == 9);
    usleep(20000); // the files are seen to change after the child closed them
    MUST(write(inherited, data, 100) == 100 && write(replaced, data, 100) == 100 && write(unwritten, data, 100) == 100);
    MUST(close(inherited) == 0 && close(unwritten) == 0 && close(replaced) == 0);
    close(made("after", O_WRONLY, 5));
}

// ---- copies: between files, pipes, and one that is not recorded

static void copies(void) {
    int from = made("from", O_RDWR, 5000), to = made("to", O_RDWR, 0), hidden = open(ignored, O_RDWR);
    int ends[2], others[2];
    off64_t start = 0, other = 0;
    struct iovec part = {data, 10};
    MUST(hidden >= 0 && pipe(ends) == 0 && pipe(others) == 0);
    MUST(copy_file_range(from, &start, to, NULL, 1000, 0) == 1000);
    MUST(copy_file_range(from, &start, to, NULL, 9, 0) == 9);
    MUST(sendfile(to, from, &other, 200) == 200 && sendfile64(to, from, &other, 300) == 300);
    MUST(lseek(from, 0, SEEK_SET) == 0 && sendfile(to, from, NULL, 10) == 10);
    MUST(splice(from, NULL, ends[1], NULL, 400, 0) == 400 && tee(ends[0], others[1], 50, 0) == 50);
    MUST(splice(ends[0], NULL, to, NULL, 400, 0) == 400 && read(others[0], data, 99) == 50);
    MUST(vmsplice(ends[1], &part, 1, 0) == 10 && vmsplice(ends[0], &part, 1, 0) == 10);
    MUST(lseek(from, 0, SEEK_SET) == 0 && lseek(hidden, 0, SEEK_SET) == 0);
    MUST(sendfile(hidden, from, NULL, 60) == 60 && sendfile(hidden, from, NULL, 60) == 60);
    MUST(read(from, data, 7) == 7 && write(to, data, 8) == 8);
    MUST(lseek(hidden, 0, SEEK_SET) == 0 && sendfile(to, hidden, NULL, 70) == 70);
    MUST(copy_file_range(from, NULL, 99, NULL, 1, 0) == -1 && sendfile(99, from, NULL, 1) == -1);
    MUST(splice(from, NULL, to, NULL, 1, 0) == -1 && tee(from, to, 1, 0) == -1 && vmsplice(from, &part, 1, 0) == -1);
}

// ---- sockets: names, addresses, ends

static int listening(struct sockaddr *name, socklen_t size) {
    int fd = socket(name->sa_family, SOCK_STREAM, 0);
    MUST(fd >= 0 && bind(fd, name, size) == 0 && listen(fd, 9) == 0);
    return fd;
}

static void talk(int server, struct sockaddr *name, socklen_t size, int bytes) {
    int client = socket(name->sa_family, SOCK_STREAM, 0);
    MUST(client >= 0 && connect(client, name, size) == 0);
    int end = accept(server, NULL, NULL);
    MUST(end >= 0 && send(client, data, bytes, 0) == bytes && recv(end, data, bytes, 0) == bytes);
    MUST(send(end, data, 1, 0) == 1 && recv(client, data, 9, 0) == 1);
    MUST(close(client) == 0 && close(end) == 0 && close(server) == 0);
}

static void local(const char *path, size_t length, int bytes) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, path, length);
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + length;
    talk(listening((struct sockaddr *)&name, size), (struct sockaddr *)&name, size, bytes);
}

static void internet(int domain, const char *own, const char *peer) {
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(7)}, from = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(7)};
    int fd = socket(domain, SOCK_DGRAM, 0), yes = 1;
    if (domain == AF_INET) {
        MUST(inet_pton(AF_INET, peer, &four.sin_addr) == 1);
        MUST(connect(fd, (struct sockaddr *)&four, sizeof four) == 0);
    } else {
        MUST(inet_pton(AF_INET6, own, &from.sin6_addr) == 1 && inet_pton(AF_INET6, peer, &six.sin6_addr) == 1);
        setsockopt(fd, IPPROTO_IPV6, 78, &yes, sizeof yes); // IPV6_FREEBIND
        MUST(bind(fd, (struct sockaddr *)&from, sizeof from) == 0);
        MUST(connect(fd, (struct sockaddr *)&six, sizeof six) == 0);
    }
    MUST(send(fd, data, 3, 0) >= -1);
}

static void sockets(void) {
    char longest[108], abstract[] = "\0abstract";
    int pair[2], late, end;
    memset(longest, 'p', sizeof longest);
    local("local", 5, 10);
    local(longest, sizeof longest, 30);
    snprintf(abstract + 1, 9, "%08d", getpid());
    local(abstract, 9, 40);
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "late"};
    int server = listening((struct sockaddr *)&name, sizeof name);
    MUST((late = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0 && connect(late, (struct sockaddr *)&name, sizeof name) == 0);
    MUST(send(late, data, 50, 0) == 50 && close(late) == 0 && (end = accept4(server, NULL, NULL, 0)) >= 0);
    MUST(recv(end, data, 99, 0) == 50 && recv(end, data, 99, 0) == 0);
    MUST(connect(server, (struct sockaddr *)&name, sizeof name) == -1);
    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0 && send(pair[0], data, 60, 0) == 60);
    MUST(recv(pair[1], data, 99, 0) == 60);
    int alone = socket(AF_UNIX, SOCK_DGRAM, 0);
    MUST(send(alone, data, 1, 0) == -1);
    internet(AF_INET, NULL, "127.0.0.1");
    internet(AF_INET, NULL, "127.10.200.255");
    if (getenv("WITHOUT_IPV6") != NULL) return;
    internet(AF_INET6, "::", "::ffff:127.0.0.2");
    internet(AF_INET6, "::1", "::1");
    internet(AF_INET6, "2001:db8:10:200:a00:1:0:f", "::1");
}

// ---- streams: whose descriptors change, and which end

static void streams(void) {
    FILE *stream = fopen("first", "w"), *other = fopen("other", "a+e"), *mounts;
    struct mntent mount = {"dev", "/m", "ext4", "rw", 0, 0};
    MUST(fputs("12345", stream) >= 0 && (stream = freopen("second", "w+x", stream)) != NULL);
    MUST(fputs("123", stream) >= 0 && fflush(stream) == 0 && fputs("1234", stream) >= 0);
    rewind(stream);
    MUST(fread(data, 1, 2, stream) == 2 && fread(data, 1, 99, stream) == 5);
    MUST(freopen("no folder/file", "r", stream) == NULL);
    MUST(fputs("1", other) >= 0 && rename("other", "moved") == 0 && fclose(other) == 0);
    MUST((mounts = setmntent("mounts", "w")) != NULL && addmntent(mounts, &mount) == 0 && endmntent(mounts) == 1);
    MUST((mounts = setmntent("mounts", "r")) != NULL && getmntent(mounts) != NULL && getmntent(mounts) == NULL);
    MUST(endmntent(mounts) == 1);
    stream = fopen("characters", "w");
    for (int i = 0; i < 1234; i++) MUST((fputc)('x', stream) == 'x');
    MUST(fwrite(data, 1, 100, stream) == 100 && fclose(stream) == 0);
    stream = fopen("characters", "r");
    for (int i = 0; i < 1100; i++) MUST((fgetc)(stream) == 'x');
    for (int i = 0; i < 30; i++) MUST(fread(data, 1, 2, stream) == 2);
    MUST(fgets(data, 9, stream) != NULL && fclose(stream) == 0);
}

// ---- closed: openings that another thread closes during a call

enum { WAITING = 5 };
static int pipes[WAITING][2], source, target, hidden;
static FILE *stream;

static void *waits(void *number) {
    char *line = NULL;
    MUST(fsync(pipes[(long)number][0]) == -1); // so that the threads have their files in this order
    switch ((long)number) {
    case 0:
        MUST(splice(pipes[0][0], NULL, target, NULL, 100, 0) == 5);
        break;
    case 1:
        MUST(splice(pipes[1][0], NULL, hidden, NULL, 100, 0) == 5);
        break;
    case 2:
        MUST(splice(source, NULL, pipes[2][1], NULL, 100, 0) == 100);
        break;
    case 3:
        MUST(read(pipes[3][0], data, 100) == 5);
        break;
    case 4:
        MUST(getdelim(&line, &(size_t){0}, '\0', stream) == 1000);
    }
    return NULL;
}

static void closed(void) {
    pthread_t threads[WAITING];
    source = made("source", O_RDWR, 100);
    target = made("target", O_RDWR, 0);
    MUST((hidden = open(ignored, O_RDWR)) >= 0 && lseek(source, 0, SEEK_SET) == 0);
    for (long i = 0; i < WAITING; i++) {
        char byte;
        MUST(pipe(pipes[i]) == 0);
        if (i == 2) { // the pipe is full
            MUST(fcntl(pipes[i][1], F_SETPIPE_SZ, sizeof data) == sizeof data);
            MUST(write(pipes[i][1], data, sizeof data) == sizeof data);
        }
        if (i == 4) { // its buffer has the start of a text
            char text[1000] = {[0 ... 999] = 'x'};
            MUST((stream = fdopen(pipes[i][0], "r")) != NULL && write(pipes[i][1], text, 1000) == 1000);
            MUST(fgetc(stream) == 'x');
        }
        MUST(pthread_create(&threads[i], NULL, waits, (void *)i) == 0 && read(0, &byte, 1) == 1);
    }
    for (int i = 0; i < WAITING; i++) MUST(close(pipes[i][i == 2]) == 0);
    for (int i = 0; i < WAITING; i++) MUST(i == 2 ? read(pipes[i][0], data, sizeof data) : write(pipes[i][1], data, 5));
    for (int i = 0; i < WAITING; i++) MUST(pthread_join(threads[i], NULL) == 0);
}

// ---- nested: a signal handler that uses files while the first file of its process is made

#ifdef __x86_64__
static void on_instruction(int number, siginfo_t *info, void *context) {
    static int makes;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number, (void)info;
    registers[REG_EFL] |= 0x100; // call the handler after the next instruction, too
    if (makes) {
        registers[REG_EFL] &= ~0x100;
        close(made("within", O_WRONLY, 3));
    }
    makes = memcmp((void *)registers[REG_RIP], "\x0f\x05", 2) == 0 && registers[REG_RAX] == SYS_openat &&
            (registers[REG_RDX] & O_EXCL);
}
#endif

static void nested(void) {
    int before = made("before", O_WRONLY, 1);
    pid_t pid = fork();
    if (pid == 0) {
#ifdef __x86_64__
        struct sigaction action = {.sa_sigaction = on_instruction, .sa_flags = SA_SIGINFO};
        MUST(sigaction(SIGTRAP, &action, NULL) == 0);
        __asm__ volatile("int3");
#endif
        MUST(write(before, data, 2) == 2);
        close(made("later", O_WRONLY, 4));
        _exit(0);
    }
    MUST(waitpid(pid, NULL, 0) == pid);
}

// ---- without memory, or without descriptors, for the trace

static void limit(int what, size_t most) {
    MUST(setrlimit(what, &(struct rlimit){most, most}) == 0);
}

static void limit_memory(size_t more) {
    size_t pages = 0;
    free(malloc(1 << 16));
    FILE *sizes = fopen("/proc/self/statm", "r");
    MUST(sizes != NULL && fscanf(sizes, "%zu", &pages) == 1 && fclose(sizes) == 0);
    limit(RLIMIT_AS, pages * sysconf(_SC_PAGESIZE) + more);
}

static void all(size_t more) {
    limit_memory(more);
    many();
    MUST(rename("f000", "renamed") == 0 && link("f001", "linked") == 0 && truncate("f002", 1) == 0);
    files();
    copies();
    streams();
    children(0);
    sockets();
}

static void limited(void) {
    limit(RLIMIT_NOFILE, 0);
    MUST(write(1, data, 3) == 3 && open("none", O_WRONLY | O_CREAT, 0600) == -1 && write(1, data, 4) == 4);
}

int main(int count, char **arguments) {
    if (count < 4 || chdir(arguments[2]) != 0) return 1;
    ignored = arguments[3];
    const char *mode = arguments[1];
    if (strcmp(mode, "files") == 0) files();
    if (strcmp(mode, "sizes") == 0) sizes();
    if (strcmp(mode, "many") == 0) many();
    if (strcmp(mode, "vfork") == 0) children(1);
    if (strcmp(mode, "fork") == 0) children(0);
    if (strcmp(mode, "copies") == 0) copies();
    if (strcmp(mode, "sockets") == 0) sockets();
    if (strcmp(mode, "streams") == 0) streams();
    if (strcmp(mode, "closed") == 0) closed();
    if (strcmp(mode, "nested") == 0) nested();
    if (strcmp(mode, "all") == 0) all(atol(arguments[4]));
    if (strcmp(mode, "limited") == 0) limited();
    return 0;
}
