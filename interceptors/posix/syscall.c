// syscall(2): its common calls are recorded like the functions of the C library; other calls that do I/O leave one Gap
// in each process. It does not call those functions, because they are cancellation points and syscall() is not.
#include "rows.h"

#include <sched.h>
#include <sys/prctl.h>

enum kind { PLAIN, WATCHED, NOTED }; // NOTED may return twice on one stack: noted before the call

enum { NUMBERS = 512 };

// By number. Numbers that are missing here do no I/O and make no descriptor.
__attribute__((used, visibility("hidden"))) const unsigned char provio_syscall_kinds[NUMBERS] = {
#define WATCH(name) [SYS_##name] = WATCHED,
#define OLD(name)
#if defined(__x86_64__)
#undef OLD
#define OLD(name) [SYS_##name] = WATCHED,
    [SYS_vfork] = NOTED,
#endif
    [SYS_clone] = NOTED,
    WATCH(read) WATCH(write) WATCH(pread64) WATCH(pwrite64) WATCH(readv) WATCH(writev) WATCH(preadv) WATCH(pwritev)
        WATCH(preadv2) WATCH(pwritev2) WATCH(recvfrom) WATCH(sendto) WATCH(recvmsg) WATCH(sendmsg) OLD(open) OLD(creat)
            WATCH(openat) WATCH(openat2) WATCH(memfd_create) WATCH(close) WATCH(close_range) WATCH(dup) OLD(dup2)
                WATCH(dup3) WATCH(fcntl) OLD(pipe) WATCH(pipe2) WATCH(socketpair) WATCH(socket) WATCH(connect)
                    WATCH(accept) WATCH(accept4) WATCH(eventfd2) OLD(eventfd) WATCH(epoll_create1) OLD(epoll_create)
                        WATCH(signalfd4) WATCH(timerfd_create) WATCH(inotify_init1) WATCH(pidfd_open) WATCH(pidfd_getfd)
                            WATCH(userfaultfd) WATCH(perf_event_open) WATCH(bpf) WATCH(open_by_handle_at)
                                WATCH(open_tree) WATCH(fanotify_init) WATCH(copy_file_range) WATCH(sendfile)
                                    WATCH(splice) WATCH(chdir) WATCH(fchdir) OLD(rename) OLD(renameat) WATCH(renameat2)
                                        OLD(unlink) WATCH(unlinkat) OLD(fork) WATCH(execve) WATCH(execveat)
                                            WATCH(seccomp) WATCH(prctl) WATCH(chroot) WATCH(pivot_root) WATCH(unshare)
                                                WATCH(setns) WATCH(setuid) WATCH(setreuid) WATCH(setresuid) WATCH(mmap)
                                                    WATCH(mprotect) WATCH(pkey_mprotect) WATCH(tee) WATCH(vmsplice)
                                                        WATCH(setxattr) WATCH(lsetxattr) WATCH(fsetxattr)
                                                            WATCH(removexattr) WATCH(lremovexattr) WATCH(fremovexattr)
                                                                WATCH(getxattr) WATCH(lgetxattr) WATCH(fgetxattr)
    // calls that leave a Gap:
    WATCH(io_uring_setup) WATCH(io_setup) WATCH(io_submit) WATCH(io_uring_enter) WATCH(recvmmsg) WATCH(sendmmsg)
        WATCH(truncate) WATCH(ftruncate) WATCH(fallocate) OLD(link) WATCH(linkat) OLD(symlink) WATCH(symlinkat)
            OLD(mknod) WATCH(mknodat) OLD(mkdir) WATCH(mkdirat) OLD(rmdir) OLD(utime) OLD(utimes) OLD(futimesat)
                WATCH(utimensat) WATCH(ioctl) WATCH(mq_timedsend) WATCH(mq_timedreceive) WATCH(msgsnd) WATCH(msgrcv)
                    WATCH(shmat) WATCH(process_vm_readv) WATCH(process_vm_writev) WATCH(ptrace)
#if defined(SYS_landlock_restrict_self)
                        WATCH(landlock_restrict_self)
#endif
};

struct call {
    long number, a, b, c, d, e, f;
    struct thread *thread;
    uint64_t started;
};

static long direct(const struct call *call) {
    long result = raw_call(call->number, (const long[6]){call->a, call->b, call->c, call->d, call->e, call->f});
    if (likely(result >= 0 || result < -PAGE)) return result;
    errno = (int)-result;
    return -1;
}

static bool already_reported(unsigned number) {
    uint64_t bit = (uint64_t)1 << number % 64;
    return atomic_fetch_or(&process.reported[number / 64 % 8], bit) & bit;
}

static void report_once(long number) {
    static const char reason[] = "made the system call ", end[] = " by syscall(), which is not recorded";
    char words[96];
    struct text text = {words, words + sizeof words - 1};
    if (already_reported((unsigned)number)) return;
    text_bytes(&text, reason, sizeof reason - 1);
    text_number(&text, (uint64_t)number);
    text_bytes(&text, end, sizeof end - 1);
    *text.at = '\0';
    event_gap(API_syscall, words, NULL);
}

// ---- the calls

static long data(const struct call *call, enum side side, bool positioned) {
    struct object *object = object_of((int)call->a);
    if (object == &ignored) return direct(call);
    positioned &= call->d != -1; // preadv2 and pwritev2: -1 is the current offset
    uint64_t serial = relaxed(object->serial), where = positioned ? (uint64_t)call->d : relaxed(object->position);
    if (side == WRITING && !positioned && relaxed(object->channel))
        access_attempted(call->thread, object, serial, API_syscall);
    long result = direct(call);
    if (result < 0) {
        access_failed(call->thread, object, API_syscall, call->started);
        return result;
    }
    int64_t bytes = result;
    if (call->number == SYS_recvmsg && ((const struct msghdr *)call->b)->msg_controllen > 0)
        message_taken((const struct msghdr *)call->b);
    account(call->thread, object, serial, side, API_syscall, where, (uint64_t)bytes, call->started);
    if (!positioned) object_moved(object, where + (uint64_t)bytes);
    return result;
}

static long opening(const struct call *call, int dirfd, const char *path, int flags) {
    long fd = direct(call);
    if (fd >= 0) object_open(API_syscall, (int)fd, dirfd, path, flags, call->started, false);
    return fd;
}

// The flags are the first member of a structure, which is readable if the call succeeded.
static long opening_how(const struct call *call) {
    long fd = direct(call);
    if (fd >= 0)
        object_open(API_syscall, (int)fd, (int)call->a, (const char *)call->b, (int)*(const uint64_t *)call->c,
                    call->started, false);
    return fd;
}

static long closing(const struct call *call) {
    struct closing closing;
    closing_begin(&closing, (int)call->a);
    long result = direct(call);
    closing_end(&closing, false);
    return result;
}

static long doubled(const struct call *call) {
    struct object *object = object_held((int)call->a);
    return object_doubled(object, (int)direct(call));
}

static long over(const struct call *call) {
    struct closing closing;
    if (call->a == call->b) return direct(call);
    struct object *object = object_held((int)call->a);
    closing_begin(&closing, (int)call->b);
    long fd = direct(call);
    if (fd < 0)
        closing_undo(&closing, (int)call->b);
    else
        closing_end(&closing, false);
    return object_doubled(object, (int)fd);
}

static long pair(const struct call *call, const int *fds) {
    long result = direct(call);
    for (int i = 0; result == 0 && i < 2; i++) object_forget(fds[i]);
    return result;
}

static long fresh(const struct call *call) {
    long fd = direct(call);
    if (fd >= 0) object_forget((int)fd);
    return fd;
}

static long copied(const struct call *call, long from, long from_offset, long to, long to_offset) {
    struct copy copy;
    copy_begin(&copy, API_syscall, (int)from, (const off64_t *)from_offset, (int)to, (const off64_t *)to_offset);
    copy.stays = call->number == SYS_tee;
    return copy_end(&copy, API_syscall, direct(call));
}

static long renamed(const struct call *call, int fromfd, long from, int tofd, long to) {
    long result = direct(call);
    if (result == 0)
        event_rename(API_syscall, TERM_Rename, fromfd, (const char *)from, tofd, (const char *)to, call->started);
    return result;
}

static long deleted(const struct call *call, int dirfd, long path) {
    struct facts facts;
    statx_facts(dirfd, (const char *)path, AT_SYMLINK_NOFOLLOW, &facts);
    long result = direct(call);
    if (result == 0) event_delete(API_syscall, dirfd, (const char *)path, &facts, call->started);
    return result;
}

static long executing(struct call *call, int dirfd, long path, long argv, long envp, long flags) {
    struct launch launch;
    launch_begin(&launch, dirfd, (const char *)path, (int)flags, false, (char *const *)argv, (char *const *)envp);
    launch_report(&launch, API_syscall, (const char *)path);
    *(call->number == SYS_execve ? &call->c : &call->d) = (long)launch.environment;
    long result = direct(call);
    launch_failed(&launch, API_syscall, errno);
    return result;
}

static long seccomp_entry(const struct call *call, bool strict) {
    struct seccomp_entry seccomp_entry;
    seccomp_begin(&seccomp_entry, strict);
    long result = direct(call);
    seccomp_end(&seccomp_entry, API_syscall, result == 0);
    return result;
}

// NO_WAY: data stays in the process; WAYS: another call.
static enum way way_of(const struct call *call, long result) {
    switch (call->number) {
    case SYS_io_uring_setup:
    case SYS_io_uring_enter:
        return IO_URING;
    case SYS_io_setup:
    case SYS_io_submit:
        return KERNEL_AIO;
    case SYS_mq_timedsend:
    case SYS_msgsnd:
        return SENDS_MESSAGES;
    case SYS_mq_timedreceive:
    case SYS_msgrcv:
        return RECEIVES_MESSAGES;
    case SYS_shmat:
        shared_map_made((void *)result);
        return SHARES_MEMORY;
    case SYS_process_vm_readv:
        return is_other_process(call->a) ? READS_MEMORY : NO_WAY;
    case SYS_process_vm_writev:
        return is_other_process(call->a) ? WRITES_MEMORY : NO_WAY;
    case SYS_ptrace:
        return ptrace_way(call->a);
    default:
        return WAYS;
    }
}

static long gap(const struct call *call) {
    long result = direct(call);
    if (result < 0) return result;
    enum way way = way_of(call, result);
    if (way == WAYS)
        report_once(call->number);
    else if (way != NO_WAY)
        unfollowed(way, API_syscall);
    return result;
}

static long without_file(const struct call *call) {
    long result = direct(call);
    if ((call->d & MAP_TYPE) == MAP_SHARED) shared_map_made((void *)result);
    return result;
}

static long protecting(const struct call *call) {
    long result = direct(call);
    if (result == 0) map_protected(API_syscall, (void *)call->a, (size_t)call->b, (int)call->c, call->started);
    return result;
}

static long attribute_set(const struct call *call, int dirfd, long path, int flags) {
    long result = direct(call);
    if (result == 0)
        event_attribute(TERM_SetAttribute, API_syscall, dirfd, (const char *)path, flags, (const char *)call->b,
                        call->started);
    return result;
}

static long attribute_got(const struct call *call, int dirfd, long path, int flags) {
    long result = direct(call);
    if (result >= 0)
        event_attribute_got(API_syscall, dirfd, (const char *)path, flags, (const char *)call->b, call->started);
    return result;
}

static long changing_folder(const struct call *call) {
    long result = direct(call);
    if (result == 0) cwd_changed();
    return result;
}

// ---- dispatch

static long names(const struct call *call) {
    switch (call->number) {
#if defined(__x86_64__)
    case SYS_open:
        return opening(call, AT_FDCWD, (const char *)call->a, (int)call->b);
    case SYS_creat:
        return opening(call, AT_FDCWD, (const char *)call->a, O_CREAT | O_WRONLY | O_TRUNC);
    case SYS_rename:
        return renamed(call, AT_FDCWD, call->a, AT_FDCWD, call->b);
    case SYS_unlink:
        return deleted(call, AT_FDCWD, call->a);
    case SYS_renameat:
#endif
    case SYS_renameat2:
        return renamed(call, (int)call->a, call->b, (int)call->c, call->d);
    case SYS_unlinkat:
        return deleted(call, (int)call->a, call->b);
    case SYS_openat:
        return opening(call, (int)call->a, (const char *)call->b, (int)call->c);
    case SYS_openat2:
        return opening_how(call);
    case SYS_memfd_create:
        return opening(call, AT_FDCWD, NULL, O_CREAT | O_RDWR);
    case SYS_chdir:
    case SYS_fchdir:
        return changing_folder(call);
    case SYS_setxattr:
    case SYS_removexattr:
        return attribute_set(call, AT_FDCWD, call->a, 0);
    case SYS_lsetxattr:
    case SYS_lremovexattr:
        return attribute_set(call, AT_FDCWD, call->a, AT_SYMLINK_NOFOLLOW);
    case SYS_fsetxattr:
    case SYS_fremovexattr:
        return attribute_set(call, (int)call->a, 0, 0);
    case SYS_getxattr:
        return attribute_got(call, AT_FDCWD, call->a, 0);
    case SYS_lgetxattr:
        return attribute_got(call, AT_FDCWD, call->a, AT_SYMLINK_NOFOLLOW);
    case SYS_fgetxattr:
        return attribute_got(call, (int)call->a, 0, 0);
    default:
        return gap(call);
    }
}

static long descriptors(const struct call *call) {
    switch (call->number) {
    case SYS_close:
        return closing(call);
    case SYS_close_range:
        if ((unsigned)call->a <= (unsigned)call->b && (call->c & ~2) == 0)
            closing_range((unsigned)call->a, (unsigned)call->b);
        return direct(call);
    case SYS_fcntl:
        return call->b == F_DUPFD || call->b == F_DUPFD_CLOEXEC ? doubled(call) : direct(call);
    case SYS_dup:
        return doubled(call);
#if defined(__x86_64__)
    case SYS_dup2:
    case SYS_dup3:
        return over(call);
    case SYS_pipe:
        return pair(call, (const int *)call->a);
    case SYS_eventfd:
    case SYS_epoll_create:
#else
    case SYS_dup3:
        return over(call);
#endif
    case SYS_socket:
    case SYS_accept:
    case SYS_accept4:
    case SYS_eventfd2:
    case SYS_epoll_create1:
    case SYS_signalfd4:
    case SYS_timerfd_create:
    case SYS_inotify_init1:
    case SYS_pidfd_open:
    case SYS_pidfd_getfd:
    case SYS_userfaultfd:
    case SYS_perf_event_open:
    case SYS_bpf:
    case SYS_open_by_handle_at:
    case SYS_open_tree:
    case SYS_fanotify_init:
        return fresh(call);
    case SYS_pipe2:
        return pair(call, (const int *)call->a);
    case SYS_socketpair:
        return pair(call, (const int *)call->d);
    case SYS_connect:
        object_forget((int)call->a);
        return direct(call);
    default:
        return names(call);
    }
}

static long processes(struct call *call) {
    switch (call->number) {
#if defined(__x86_64__)
    case SYS_fork:
        return forked(API_syscall, (pid_t)direct(call), call->thread, call->started);
#endif
    case SYS_execve:
        return executing(call, AT_FDCWD, call->a, call->b, call->c, 0);
    case SYS_execveat:
        return executing(call, (int)call->a, call->b, call->c, call->d, call->e);
    case SYS_seccomp: // strict mode, or a filter; other operations only query
        return call->a == 0 || call->a == 1 ? seccomp_entry(call, call->a == 0) : direct(call);
    case SYS_prctl:
        return call->a == PR_SET_SECCOMP ? seccomp_entry(call, call->b == 1) : direct(call);
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_unshare:
    case SYS_setns:
    case SYS_setuid:
    case SYS_setreuid:
    case SYS_setresuid:
#if defined(SYS_landlock_restrict_self)
    case SYS_landlock_restrict_self:
#endif
        sandbox_begin();
        return sandbox_end((int)direct(call));
    case SYS_mmap: // by the call itself: UCX replaces the function mmap by one that calls syscall()
        return (call->d & MAP_ANONYMOUS) || (int)call->e < 0 ? without_file(call) : gap(call);
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        return protecting(call);
    case SYS_ioctl: // FICLONE, FICLONERANGE: a copy of a file
        return call->b == 0x40049409 || call->b == 0x4020940d ? gap(call) : direct(call);
    default:
        return descriptors(call);
    }
}

__attribute__((used)) long provio_syscall_watched(long number, long a, long b, long c, long d, long e, long f) {
    struct call call = {number, a, b, c, d, e, f, NULL, 0};
    if (!watching() || (call.thread = thread_self()) == NULL) return direct(&call);
    call.started = now(call.thread);
    switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
        return data(&call, READING, false);
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
        return data(&call, WRITING, false);
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
        return data(&call, READING, true);
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
        return data(&call, WRITING, true);
    case SYS_copy_file_range:
        return copied(&call, a, b, c, d);
    case SYS_splice: // of a size of 0, the kernel does not read the offsets
        return copied(&call, a, e == 0 ? 0 : b, c, e == 0 ? 0 : d);
    case SYS_sendfile:
        return copied(&call, b, c, a, 0);
    case SYS_tee:
        return copied(&call, a, 0, b, 0);
    case SYS_vmsplice:
        return data(&call, open_mode((int)a) == O_RDONLY ? READING : WRITING, false);
    default:
        return processes(&call);
    }
}

// Before a call that returns in a child with shared memory, like vfork: the calls of that child cannot be distinguished
// from its parent's.
__attribute__((used)) void provio_syscall_note(long number, unsigned long flags) {
    bool shared = number != SYS_clone || (flags & (CLONE_VM | CLONE_THREAD)) == CLONE_VM;
    if (!shared || !watching() || thread_self() == NULL || already_reported((unsigned)number)) return;
    event_gap(API_syscall,
              "makes children by syscall() that share its memory: their calls cannot be distinguished from its own",
              NULL);
}

#if defined(__x86_64__)
// The arguments stay in their registers and on the stack, for the C function or for the kernel's child.
__asm__(".text\n.p2align 4\n.globl syscall\n.type syscall, @function\n"
        "syscall:\n"
        "endbr64\n"
        "cmpq $511, %rdi\nja 1f\n"
        "leaq provio_syscall_kinds(%rip), %rax\n"
        "movzbl (%rax,%rdi), %eax\n"
        "testl %eax, %eax\njz 1f\n"
        "cmpl $1, %eax\nje provio_syscall_watched\n"
        "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\nsubq $8, %rsp\n"
        "call provio_syscall_note\n"
        "addq $8, %rsp\npopq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n"
        "1:\n"
        "movq %rdi, %rax\nmovq %rsi, %rdi\nmovq %rdx, %rsi\nmovq %rcx, %rdx\nmovq %r8, %r10\nmovq %r9, %r8\n"
        "movq 8(%rsp), %r9\n"
        "syscall\n"
        "cmpq $-4095, %rax\njae 2f\nret\n"
        "2:\nnegl %eax\nmovl %eax, %edi\njmp provio_syscall_failed\n"
        ".size syscall, .-syscall\n");

__attribute__((used)) long provio_syscall_failed(int error) {
    errno = error;
    return -1;
}
#else
long provio_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if ((unsigned long)number < NUMBERS && provio_syscall_kinds[number] == WATCHED)
        return provio_syscall_watched(number, a, b, c, d, e, f);
    if ((unsigned long)number < NUMBERS && provio_syscall_kinds[number] == NOTED)
        provio_syscall_note(number, (unsigned long)a);
    return REAL(syscall)(number, a, b, c, d, e, f); // a tail call, because the child's stack may be another one
}
#endif
