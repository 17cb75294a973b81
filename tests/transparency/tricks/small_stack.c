// any: main
// writes: main handler
// also: run
// A handler on a small alternate stack, with a page below it that must not be touched, opens, writes, reads, renames
// and forks while the main thread is in pwrite. The stack has the size that the kernel needs, and a page.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void soon(void) { // but not before the handler has ended: a slow machine would do nothing else
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 100}}, NULL);
}

static void handler(int number) {
    char byte[8];
    int fd = open("handler", O_CREAT | O_RDWR | O_APPEND, 0644);
    write(fd, "x", 1);
    pread(fd, byte, 1, 0);
    close(fd);
    if (handled % 16 == 0) {
        close(open("new name", O_CREAT | O_WRONLY, 0644));
        rename("new name", "renamed");
    }
    if (handled % 64 == 0) {
        pid_t pid = fork();
        if (pid == 0) _exit(write(1, "", 0));
        waitpid(pid, NULL, 0);
    }
    if (++handled < 1000) soon();
}

int main(int count, char **arguments) {
    size_t page = 4096, need = ((size_t)sysconf(_SC_MINSIGSTKSZ) + 2 * page - 1) & -page;
    char *memory = mmap(NULL, page + need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory, page, PROT_NONE);
    stack_t stack = {.ss_sp = memory + page, .ss_size = need};
    printf("stack: %d\n", sigaltstack(&stack, NULL));
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    int fd = open("main", O_CREAT | O_RDWR, 0644);
    soon();
    long wrong = 0;
    for (long i = 0; handled < 1000; i++) wrong += pwrite(fd, "main", 4, i % 1000 * 4) != 4;
    if (count > 1) dprintf(open(arguments[1], O_CREAT | O_WRONLY, 0644), "%ld", (long)handled);
    off_t written = lseek(open("handler", O_RDONLY), 0, SEEK_END);
    if (written != handled) printf("%ld written, %ld handled\n", (long)written, (long)handled);
    truncate("handler", 1000);
    printf("wrong: %ld\n", wrong);
    return 0;
}
