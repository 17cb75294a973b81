// Ways of data between processes that are not followed, and calls that go past the shim: one Gap for each way in each
// process, stated at the first use.
#include "rows.h"

#include <sys/ptrace.h>

static const char *const reasons[WAYS] = {
    [SENDS_MESSAGES] = "sends messages by a message queue: they are not followed",
    [RECEIVES_MESSAGES] = "receives messages from a message queue: they are not followed",
    [SHARES_MEMORY] = "shares memory without a file with other processes: data in it is not followed",
    [READS_MEMORY] = "reads the memory of another process: this data is not followed",
    [WRITES_MEMORY] = "a process wrote into the memory of another process: this data is not followed",
    [KERNEL_AIO] = "uses the kernel's asynchronous I/O: its reads and writes by it are not recorded",
    [IO_URING] = "uses io_uring: its reads and writes by it are not recorded",
    [SECOND_LIBC] = "loaded a second C library: calls of its functions are not recorded",
    [LOST_CHILD] = "the folder of the trace was not there when a process was started: it may not be recorded",
    [LOST_TERMINAL] = "a process opened a pseudo-terminal that could not be marked: data through it is not followed",
};

enum { FIRST_WAY = 512 - WAYS }; // the bits after those of the system calls

// A write into another process matters for the files of that process, a terminal for those of the programs on it, and a
// child for its own: such a Gap is about the whole run.
void unfollowed(enum way way, int api) {
    uint64_t bit = (uint64_t)1 << (FIRST_WAY + way) % 64;
    _Atomic uint64_t *reported = &process.reported[(FIRST_WAY + way) / 64];
    if (!watching() || muted != NOT_MUTED || (relaxed(*reported) & bit)) return;
    if (lender == NULL && (atomic_fetch_or(reported, bit) & bit)) return;
    int error = errno;
    bool whole_run = way == WRITES_MEMORY || way == LOST_TERMINAL || way == LOST_CHILD;
    event_gap_about(api, whole_run ? "" : " ; " TERM_about " <../>", reasons[way], NULL);
    errno = error;
}

#define PASSED(name, type, parameters, arguments, succeeded, way)                                                      \
    type provio_##name parameters {                                                                                    \
        type result = REAL(name) arguments;                                                                            \
        if (succeeded) unfollowed(way, API_##name);                                                                    \
        return result;                                                                                                 \
    }

// ---- message queues, and System V memory

PASSED(mq_send, int, (int queue, const char *data, size_t size, unsigned priority), (queue, data, size, priority),
       result == 0, SENDS_MESSAGES)
PASSED(mq_timedsend, int, (int queue, const char *data, size_t size, unsigned priority, const void *until),
       (queue, data, size, priority, until), result == 0, SENDS_MESSAGES)
PASSED(mq_receive, ssize_t, (int queue, char *data, size_t size, unsigned *priority), (queue, data, size, priority),
       result >= 0, RECEIVES_MESSAGES)
PASSED(mq_timedreceive, ssize_t, (int queue, char *data, size_t size, unsigned *priority, const void *until),
       (queue, data, size, priority, until), result >= 0, RECEIVES_MESSAGES)
PASSED(msgsnd, int, (int queue, const void *message, size_t size, int flags), (queue, message, size, flags),
       result == 0, SENDS_MESSAGES)
PASSED(msgrcv, ssize_t, (int queue, void *message, size_t size, long kind, int flags),
       (queue, message, size, kind, flags), result >= 0, RECEIVES_MESSAGES)

void *provio_shmat(int segment, const void *address, int flags) {
    void *result = REAL(shmat)(segment, address, flags);
    if (shared_map_made(result) != (void *)-1) unfollowed(SHARES_MEMORY, API_shmat);
    return result;
}

int provio_shmdt(const void *address) {
    int result = REAL(shmdt)(address);
    if (result == 0) shared_map_ended(address);
    return result;
}

// ---- the memory of another process

bool is_other_process(long pid) {
    return pid != RAW(getpid, 0);
}

#define MEMORY_PARAMETERS                                                                                              \
    (pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote, unsigned long remotes,    \
     unsigned long flags)
PASSED(process_vm_readv, ssize_t, MEMORY_PARAMETERS, (pid, local, locals, remote, remotes, flags),
       result > 0 && is_other_process(pid), READS_MEMORY)
PASSED(process_vm_writev, ssize_t, MEMORY_PARAMETERS, (pid, local, locals, remote, remotes, flags),
       result > 0 && is_other_process(pid), WRITES_MEMORY)

enum { GETREGS = 12, SETREGS = 13 }; // of the kernel; <sys/ptrace.h> has them on some machines only

// Registers count as memory. -1 is a word of memory, too; the kernel's error then decides.
enum way ptrace_way(long request) {
    if (request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER) return READS_MEMORY;
    if (request >= PTRACE_POKETEXT && request <= PTRACE_POKEUSER) return WRITES_MEMORY;
    if (request == PTRACE_SETREGSET || request == SETREGS) return WRITES_MEMORY;
    return request == PTRACE_GETREGSET || request == GETREGS ? READS_MEMORY : NO_WAY;
}

long provio_ptrace(int request, pid_t pid, void *address, void *data) {
    long result = REAL(ptrace)(request, pid, address, data);
    enum way way = ptrace_way(request);
    if (way != NO_WAY && result != -1) unfollowed(way, API_ptrace);
    return result;
}

// `/proc/<pid>/mem` of another process. The path is that of an opened file.
void memory_opened(int api, const char *path, size_t length, int flags) {
    static const char start[] = "/proc/", end[] = "/mem";
    const char *at = path + sizeof start - 1;
    if (length < sizeof "/proc/1/mem" - 1 || memcmp(path, start, sizeof start - 1) != 0) return;
    long pid = 0;
    for (; *at >= '0' && *at <= '9' && pid < 1 << 28; at++) pid = pid * 10 + (*at - '0');
    if (pid == 0 || strcmp(path + length - (sizeof end - 1), end) != 0 || !is_other_process(pid)) return;
    int mode = flags & O_ACCMODE;
    if (mode != O_WRONLY) unfollowed(READS_MEMORY, api);
    if (mode != O_RDONLY) unfollowed(WRITES_MEMORY, api);
}

// ---- memory that is shared without a file: a fork makes a map without a name common to two processes. The child
// states its Gap when it records something for the first time: live.c.

enum { SHARED_MAPS = 16, TOO_MANY = SHARED_MAPS };

EARLY _Atomic int shared_maps; // how many this process has; never 0 again after too many
static EARLY _Atomic uintptr_t shared_addresses[SHARED_MAPS];

void *shared_map_made(void *address) {
    if (address == MAP_FAILED) return address;
    for (int i = 0; i < SHARED_MAPS; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&shared_addresses[i], &none, (uintptr_t)address)) continue;
        atomic_fetch_add(&shared_maps, 1);
        return address;
    }
    atomic_fetch_add(&shared_maps, TOO_MANY);
    return address;
}

void shared_maps_inherited(void) {
    unfollowed(SHARES_MEMORY, API_fork);
}

void shared_map_ended(const void *address) {
    for (int i = 0; i < SHARED_MAPS; i++) {
        uintptr_t known = (uintptr_t)address;
        if (!atomic_compare_exchange_strong(&shared_addresses[i], &known, 0)) continue;
        atomic_fetch_sub(&shared_maps, 1);
        return;
    }
}

// ---- libraries that make system calls themselves: libaio and liburing
// Their names are exported with the libraries' versions, hidden: only a program that is linked with the library finds
// them, and not one that asks by a weak reference or dlsym(3) whether it is loaded. musl's loader finds no hidden name.

#define OF_LIBRARY(version, name, type, parameters, arguments, succeeded, way)                                         \
    __asm__(".symver library_" #name "," #name "@" version);                                                           \
    __attribute__((used, visibility("default"))) type library_##name parameters {                                      \
        type result = REAL(name) arguments;                                                                            \
        if (succeeded) unfollowed(way, API_##name);                                                                    \
        return result;                                                                                                 \
    }

OF_LIBRARY("LIBAIO_0.4", io_setup, int, (int events, void *context), (events, context), result == 0, KERNEL_AIO)
OF_LIBRARY("LIBAIO_0.1", io_submit, int, (void *context, long count, void *requests), (context, count, requests),
           result > 0, KERNEL_AIO)
OF_LIBRARY("LIBAIO_0.1", io_queue_init, int, (int events, void *context), (events, context), result == 0, KERNEL_AIO)
OF_LIBRARY("LIBURING_2.3", io_uring_setup, int, (unsigned entries, void *parameters), (entries, parameters),
           result >= 0, IO_URING)
OF_LIBRARY("LIBURING_2.0", io_uring_queue_init, int, (unsigned entries, void *ring, unsigned flags),
           (entries, ring, flags), result == 0, IO_URING)
OF_LIBRARY("LIBURING_2.0", io_uring_queue_init_params, int, (unsigned entries, void *ring, void *parameters),
           (entries, ring, parameters), result == 0, IO_URING)
OF_LIBRARY("LIBURING_2.5", io_uring_queue_init_mem, int,
           (unsigned entries, void *ring, void *parameters, void *memory, size_t size),
           (entries, ring, parameters, memory, size), result >= 0, IO_URING)

// ---- libraries that were loaded by dlopen(3), whose functions the program calls by their addresses

EARLY _Atomic bool libraries_pending; // one was loaded that may be such a library

void library_loads(const char *path) {
    const char *name = base_name(path);
    if (strstr(name, "libc.") != NULL || strstr(name, "libc-") != NULL || begins(name, "liburing") ||
        begins(name, "libaio"))
        atomic_store(&libraries_pending, true);
}

// Not in the wrapper of dlopen, which does not return to the shim: at the next open, and at the end.
__attribute__((cold)) void libraries_look(int api) {
    atomic_store(&libraries_pending, false);
    if (libraries_that_define("__libc_start_main") > 1) unfollowed(SECOND_LIBC, api);
    if (libraries_that_define("io_uring_queue_init") > 0) unfollowed(IO_URING, api);
    if (libraries_that_define("io_submit") > 0) unfollowed(KERNEL_AIO, api);
}
