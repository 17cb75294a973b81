// gaps: no memory may be left to map the trace
// unseen: * because nothing can be recorded without memory
// RLIMIT_AS at the present size: malloc and mmap fail as without the shim, reads and writes continue.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int first) {
    int failed = 0;
    for (int i = first; i < first + 200; i++) {
        char name[16], text[16];
        snprintf(name, sizeof name, "file%d", i % 50);
        int fd = open(name, O_CREAT | O_RDWR, 0644);
        failed += write(fd, name, strlen(name)) != (ssize_t)strlen(name) || pread(fd, text, 2, 0) != 2;
        failed += rename(name, name) != 0 || chdir(".") != 0 || close(fd) != 0;
    }
    return failed;
}

int main(void) {
    printf("%d\n", work(0));
    fflush(stdout);
    setrlimit(RLIMIT_AS, &(struct rlimit){1, 1});
    errno = 0;
    printf("map: %d, ", mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    printf("%s\n", strerror(errno));
    printf("%d\n", work(1000));
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) _exit(work(2000));
    int status;
    waitpid(pid, &status, 0);
    printf("%d\n", status);
    return 0;
}
