// What every file of the shim includes of the C library, and its own system calls.
#ifndef PROVIO_RAW_H
#define PROVIO_RAW_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <wchar.h>
#if defined(__GLIBC__)
#include <fts.h>
#else
typedef struct fts FTS; // of a library of its own there
typedef struct ftsent FTSENT;
typedef off_t off64_t;
#define ftello64 ftello
#endif

#include "stream.h"
#include "vocab.h"

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define relaxed(variable) atomic_load_explicit(&(variable), memory_order_relaxed)
// On the page of the loader's making, which every start has touched already: for small things that most processes use.
#define EARLY __attribute__((section(".data")))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

enum { PAGE = 4096, PATH_ROOM = 8192 };

// ---- raw system calls: the result, or -errno; errno itself is never touched

extern _Atomic bool sealed; // confine.c: seccomp was entered, where a system call may be death

static inline long raw_call(long number, const long arguments[6]) {
#if defined(__x86_64__)
    long result;
    register long a asm("r10") = arguments[3], b asm("r8") = arguments[4], c asm("r9") = arguments[5];
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(a), "r"(b), "r"(c)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long n asm("x8") = number;
    register long a asm("x0") = arguments[0], b asm("x1") = arguments[1], c asm("x2") = arguments[2];
    register long d asm("x3") = arguments[3], e asm("x4") = arguments[4], f asm("x5") = arguments[5];
    asm volatile("svc 0" : "+r"(a) : "r"(n), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f) : "memory");
    return a;
#else
    int kept = errno;
    long result = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    if (result == -1) result = -errno;
    errno = kept;
    return result;
#endif
}

static inline long raw(long number, const long arguments[6]) {
    return unlikely(relaxed(sealed)) ? -EPERM : raw_call(number, arguments);
}
#define RAW(name, ...) raw(SYS_##name, (const long[6]){__VA_ARGS__})

#endif
