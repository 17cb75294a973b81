// gaps: under a filter the shim may record nothing more
// unseen: after* strict because they were written under a filter
// writes: before
// Filters that forbid calls that the program does not need: by an error, by a signal, by the strict mode with four calls.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void allow_only(unsigned otherwise, int by_prctl) {
    static const int allowed[] = {SYS_read, SYS_write, SYS_openat, SYS_close, SYS_lseek, SYS_pread64, SYS_pwrite64,
                                  SYS_unlink, SYS_rename, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_newfstatat};
    enum { COUNT = sizeof allowed / sizeof *allowed };
    struct sock_filter code[2 * COUNT + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (int i = 0; i < COUNT; i++) {
        code[2 * i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        code[2 * i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(90);
    if (by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) : syscall(SYS_seccomp, 1, 0, &program)) _exit(91);
}

static void work(const char *name) {
    char text[32] = "", moved[32];
    int fd = open(name, O_CREAT | O_RDWR, 0644);
    for (int i = 0; i < 50; i++)
        if (write(fd, "line\n", 5) != 5 || pread(fd, text, 5, 0) != 5) _exit(92);
    snprintf(moved, sizeof moved, "%s moved", name);
    if (close(fd) != 0 || rename(name, moved) != 0 || open("missing", O_RDONLY) != -1 || errno != ENOENT) _exit(93);
    if (unlink(name) != -1 || errno != ENOENT) _exit(94);
    _exit(write(1, text, 5) == 5 ? 0 : 95);
}

static void child(int which) {
    char name[32];
    int fd = open("strict", O_CREAT | O_WRONLY, 0644);
    snprintf(name, sizeof name, "after %d", which);
    if (which == 0) allow_only(SECCOMP_RET_ERRNO | EPERM, 1);
    if (which == 1) allow_only(SECCOMP_RET_ERRNO | ENOSYS, 0);
    if (which == 2) allow_only(SECCOMP_RET_KILL_PROCESS, 1);
    if (which == 3) allow_only(SECCOMP_RET_KILL_PROCESS, 0);
    if (which < 4) work(name);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(96);
    for (int i = 0; i < 50; i++)
        if (write(fd, "strict\n", 7) != 7) syscall(SYS_exit, 97);
    syscall(SYS_exit, 98);
}

int main(void) {
    int fd = open("before", O_CREAT | O_WRONLY, 0644);
    for (int i = 0; i < 10; i++) write(fd, "before\n", 7);
    for (int i = 0; i < 5; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) child(i);
        waitpid(pid, &status, 0);
        printf("%d: %d, signal %d\n", i, WEXITSTATUS(status), WTERMSIG(status));
        fflush(stdout);
    }
    return 0;
}
