// Prints everything that a preload could change by mistake: errno after successes and failures, numbers of descriptors,
// modes with O_CREAT and O_TMPFILE, inherited flags.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHOW(call)                                                                                                     \
    do {                                                                                                               \
        errno = 77;                                                                                                    \
        long result = (long)(call);                                                                                    \
        printf("%s = %ld, errno %d\n", #call, result, errno);                                                          \
    } while (0)

static int mode(int fd) {
    struct stat facts;
    return fstat(fd, &facts) == 0 ? (int)(facts.st_mode & 07777) : -1;
}

int main(int count, char **arguments) {
    char data[100];
    if (count != 2 || chdir(arguments[1]) != 0) return 1;
    umask(0);
    SHOW(open("new", O_CREAT | O_RDWR, 0640));
    SHOW(mode(3));
    SHOW(open(".", O_TMPFILE | O_RDWR, 0604));
    SHOW(mode(4));
    SHOW(open("missing", O_RDONLY));
    SHOW(open(NULL, O_RDONLY));
    SHOW(write(3, "hello", 5));
    SHOW(pread(3, data, 100, 0));
    SHOW(read(99, data, 1));
    SHOW(write(-1, data, 1));
    SHOW(pread(3, NULL, 5, 0));
    SHOW(dup(3));
    SHOW(dup2(3, 20));
    SHOW(dup2(99, 20));
    SHOW(dup3(3, 3, 0));
    SHOW(fcntl(3, F_DUPFD, 30));
    SHOW(fcntl(20, F_GETFD));
    SHOW(fcntl(20, F_SETFD, FD_CLOEXEC));
    SHOW(fcntl(20, F_GETFD));
    SHOW(close(20));
    SHOW(close(20));
    SHOW(close(-5));
    SHOW(unlink("missing"));
    SHOW(rename("new", "newer"));
    SHOW(rename("missing", "x"));
    SHOW(mkdir("d", 0700));
    SHOW(mkdir("d", 0700));
    SHOW(rmdir("d"));
    SHOW(truncate("newer", 3));
    SHOW(ftruncate(99, 0));
    SHOW(fsync(3));
    SHOW(fsync(99));
    SHOW(mmap(NULL, 4096, PROT_READ, MAP_SHARED, 99, 0) == MAP_FAILED);
    SHOW(fopen("missing", "r"));
    SHOW(fopen("newer", "q"));
    SHOW(opendir("missing"));
    int fds[2];
    SHOW(pipe(fds));
    SHOW(fds[0] * 100 + fds[1]);
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
    SHOW(send(fds[0], "abc", 3, 0));
    SHOW(recv(fds[1], data, 100, 0));
    SHOW(open("/dev/null", O_RDONLY));
    FILE *memory = fmemopen(data, sizeof data, "r");
    SHOW(fgetc(memory));
    SHOW(fclose(memory));
    SHOW(execl("/missing", "x", (char *)NULL));
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) _exit(9);
    int status;
    SHOW(waitpid(pid, &status, 0) == pid);
    SHOW(WEXITSTATUS(status));
    SHOW(waitpid(-1, &status, 0));
    SHOW(wait(NULL));
    pid = vfork();
    if (pid == 0) {
        close(3);
        _exit(open("/dev/null", O_RDONLY));
    }
    SHOW(waitpid(pid, &status, 0) == pid);
    SHOW(WEXITSTATUS(status));
    SHOW(lseek(3, 0, SEEK_CUR));
    SHOW(close_range(3, 1000, 0));
    SHOW(open("newer", O_RDONLY));
    return 0;
}
