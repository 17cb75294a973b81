// System calls by number, in the given folder: their records and Gaps; calls that return twice, or with errno, must
// work as usual. Prints `R|W|O|E|G ...` for the expected trace.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char data[4096];
static struct iovec part = {data, 100};

static long good(long result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
    return result;
}
#define GOOD(...) good(syscall(__VA_ARGS__), #__VA_ARGS__)

static void files(void) {
    struct open_how how = {.flags = O_RDWR | O_CREAT, .mode = 0644};
    long one = GOOD(SYS_openat, AT_FDCWD, "one", O_RDWR | O_CREAT, 0644);
    long two = GOOD(SYS_openat2, AT_FDCWD, "two", &how, sizeof how);
    GOOD(SYS_write, one, data, 1000);
    GOOD(SYS_pwrite64, one, data, 500, 1000);
    GOOD(SYS_writev, one, &part, 1);
    GOOD(SYS_pread64, one, data, 300, 0);
    GOOD(SYS_pwritev2, one, &part, 1, -1, -1, 0);
    long copy = GOOD(SYS_dup, one), other = GOOD(SYS_dup3, one, 77, 0), third = GOOD(SYS_fcntl, one, F_DUPFD, 20);
    GOOD(SYS_write, copy, data, 10);
    GOOD(SYS_write, other, data, 10);
    GOOD(SYS_write, third, data, 10);
    printf("W syscall one 7 1730\nR syscall one 1 300\n");
    GOOD(SYS_lseek, one, 0, SEEK_SET);
    GOOD(SYS_sendfile, two, one, NULL, 200);
    printf("O syscall two 1 200\n");
    GOOD(SYS_close, one);
    long again = GOOD(SYS_openat, AT_FDCWD, "three", O_WRONLY | O_CREAT, 0644);
    if (again != one) exit(2);
    GOOD(SYS_write, again, data, 40);
    printf("W syscall three 1 40\n");
    GOOD(SYS_close, again);
    GOOD(SYS_renameat2, AT_FDCWD, "three", AT_FDCWD, "four", 0);
    GOOD(SYS_unlinkat, AT_FDCWD, "four", 0);
    printf("E syscall Rename four\nE syscall Delete four\n");
    GOOD(SYS_close_range, 70, 80, 0);
    printf("closed %ld %d\n", syscall(SYS_write, other, data, 1), errno);
    GOOD(SYS_mkdirat, AT_FDCWD, "folder", 0755);
    GOOD(SYS_mkdirat, AT_FDCWD, "another", 0755);
    printf("G made the system call %d\n", (int)SYS_mkdirat);
}

static void connections(void) {
    int fds[2];
    char from[10];
    GOOD(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, fds);
    GOOD(SYS_sendto, fds[0], data, 10, 0, NULL, 0);
    if (GOOD(SYS_recvfrom, fds[1], from, 10, 0, NULL, NULL) != 10) exit(3);
    GOOD(SYS_pipe2, fds, O_CLOEXEC);
    if (GOOD(SYS_write, fds[1], data, 5) != 5 || GOOD(SYS_read, fds[0], from, 10) != 5) exit(3);
}

static void errors(void) {
    errno = 0;
    printf("bad %ld %d", syscall(SYS_read, -1, data, 1), errno);
    printf(" %ld %d", syscall(SYS_openat, AT_FDCWD, "missing", O_RDONLY), errno);
    printf(" %ld %d", syscall(SYS_openat, AT_FDCWD, (char *)8, O_RDONLY), errno);
    printf(" %ld %d", syscall(SYS_openat2, AT_FDCWD, "one", (void *)8, 24), errno);
    printf(" %ld %d", syscall(SYS_recvmsg, 0, (void *)8, 0), errno == ENOTSOCK || errno == EFAULT);
    printf(" %ld %d", syscall(SYS_unlinkat, AT_FDCWD, (char *)8, 0), errno);
    printf(" %ld %d", syscall(100000, 1, 2, 3, 4, 5, 6), errno);
    printf(" %ld %d", syscall(SYS_execve, "/does/not/exist", NULL, NULL), errno);
    errno = 77;
    long pid = syscall(SYS_getpid);
    printf(" %d %d\n", pid == getpid(), errno);
    // Six arguments, the last one on the stack.
    long map = syscall(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("map %d\n", map > 0);
}

static int in_child(void *unused) {
    (void)unused;
    int fd = open("cloned", O_CREAT | O_WRONLY | O_APPEND, 0644);
    if (write(fd, "child\n", 6) != 6) return 1;
    close(fd);
    return 0;
}

static void ended(pid_t pid) {
    int status;
    if (pid <= 0 || waitpid(pid, &status, 0) != pid || status != 0) exit(4);
}

static void children(void) {
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(in_child(NULL));
    ended(pid);
#ifdef SYS_fork
    pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) _exit(in_child(NULL));
    ended(pid);
#endif
    pid = fork();
    if (pid == 0) {
        char *arguments[] = {"true", NULL};
        int fd = open("own", O_CREAT | O_WRONLY, 0644);
        if (write(fd, "x", 1) != 1) _exit(1);
        syscall(SYS_execve, "/bin/true", arguments, environ);
        _exit(5);
    }
    ended(pid);
    printf("E syscall Exec\n");
}

static void ring(void) {
    char parameters[256] = {0};
    long fd = syscall(SYS_io_uring_setup, 4, parameters);
    if (fd >= 0) printf("G uses io_uring\n");
    if (fd >= 0) close((int)fd);
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count != 2 || chdir(arguments[1]) != 0) return 1;
    files();
    connections();
    errors();
    children();
    ring();
    if (write(1, "end\n", 4) != 4) return 1;
    syscall(SYS_exit_group, 7);
    return 0;
}
