// Drops rights in the middle of its work, and continues: `confined HOW`, with HOW one of
//   strict    strict seccomp: only read, write and exit remain
//   filter    a filter that kills at every call that the program itself does not need
//   chroot    its root becomes the folder `inside`
//   user      it becomes the user 65534; also with setuid and seteuid
//   unshare   it gets its own mounts, and then its old ones again
//   tsc       it disables the time-stamp counter
// Copies `in` to `out` two bytes at a time, and prints `done`.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KILLS(call)                                                                                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void filter(int by_prctl) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        KILLS(statx),
        KILLS(mmap),
        KILLS(munmap),
        KILLS(pread64),
        KILLS(pwrite64),
        KILLS(preadv),
        KILLS(pwritev),
        KILLS(pwritev2),
        KILLS(prlimit64),
        KILLS(getpid),
        KILLS(gettid),
        KILLS(fcntl),
        KILLS(readlinkat),
        KILLS(getcwd),
        KILLS(socket),
        KILLS(process_vm_readv),
        KILLS(clock_gettime),
        KILLS(ftruncate),
        KILLS(symlinkat),
        KILLS(renameat2),
        KILLS(getsockname),
        KILLS(faccessat2),
        KILLS(madvise),
        KILLS(geteuid),
        KILLS(getresuid),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) exit(2);
    int result = by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)
                          : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    if (result != 0) exit(3);
}

static int copy(int from, int to) {
    char data[2];
    for (ssize_t size; (size = read(from, data, sizeof data)) > 0;)
        if (write(to, data, (size_t)size) != size) return 1;
    return 0;
}

static void later(void) {
    int fd = open("later", O_CREAT | O_WRONLY, 0644), other = dup(fd);
    if (write(other, "later\n", 6) != 6) exit(5);
    if (dup2(fd, 100) != 100 || write(100, "more\n", 5) != 5) exit(5);
    close(100);
    close(other);
    close(fd);
    if (rename("later", "renamed") != 0 || open("missing", O_RDONLY) != -1 || errno != ENOENT) exit(6);
}

int main(int count, char **arguments) {
    const char *how = arguments[1];
    int from = open("in", O_RDONLY), to = open("out", O_CREAT | O_WRONLY | O_TRUNC, 0666), strict = 0;
    if (count != 2 || from < 0 || to < 0) return 1;
    if (strcmp(how, "strict") == 0) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0) return 2;
        strict = 1;
    } else if (strcmp(how, "filter") == 0 || strcmp(how, "syscall") == 0) {
        filter(how[0] == 'f');
    } else if (strcmp(how, "chroot") == 0) {
        if (chroot("inside") != 0 || chdir("/") != 0) return 2;
    } else if (strcmp(how, "user") == 0) {
        if (setresuid(65534, 65534, 65534) != 0) return 2;
    } else if (strcmp(how, "setuid") == 0) {
        if (setuid(65534) != 0) return 2;
    } else if (strcmp(how, "seteuid") == 0) {
        if (seteuid(65534) != 0 || setreuid((uid_t)-1, 0) != 0 || setreuid((uid_t)-1, 65534) != 0) return 2;
    } else if (strcmp(how, "unshare") == 0) {
        int space = open("/proc/self/ns/mnt", O_RDONLY), folder = open(".", O_RDONLY);
        if (unshare(CLONE_NEWNS) != 0 || setns(space, CLONE_NEWNS) != 0 || fchdir(folder) != 0) return 2;
    } else if (strcmp(how, "tsc") == 0) {
        if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) return 2;
    } else {
        return 2;
    }
    int failed = copy(from, to);
    if (!strict) later();
    if (write(1, "done\n", 5) != 5) failed = 1;
    if (strict) syscall(SYS_exit, failed);
    return failed;
}
