// The lowest layer of the shim: the C library's headers and streams, raw system calls, the real functions of the
// tables, memory without malloc. The layers above it are a header each: text.h, process.h, live.h, object.h, access.h,
// event.h, rows.h (wrappers) and record.h (layers above the C library).
//
// Rules for every line that can run inside a wrapper: no malloc, no stdio, no lock, no dl* call, nothing printed;
// system calls of its own are raw, so errno stays as the real call left it and no wrapper is entered twice;
// little stack (a handler may run on a small sigaltstack); a signal handler may run, and do I/O, between any two
// instructions; after a failure the thread records nothing more, and the program is not affected.
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
#include "vocab.h"
#if defined(__GLIBC__)
#include <fts.h>
#else
typedef struct fts FTS; // a separate library in musl systems
typedef struct ftsent FTSENT;
typedef off_t off64_t;
#define ftello64 ftello
#endif

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define relaxed(variable) atomic_load_explicit(&(variable), memory_order_relaxed)
// In .data, on the page that the loader has touched at each start: for small variables that most processes use.
#define EARLY __attribute__((section(".data")))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

enum { PAGE = 4096, PATH_ROOM = 8192 };

// ---- raw system calls: the result, or -errno; errno itself is never touched

extern _Atomic bool under_seccomp; // sandbox.c: the process entered seccomp, where a system call may kill it

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
    return unlikely(relaxed(under_seccomp)) ? -EPERM : raw_call(number, arguments);
}
#define RAW(name, ...) raw(SYS_##name, (const long[6]){__VA_ARGS__})

// ---- the internals of a stream

#if defined(__GLIBC__)

static inline int stream_fd(const FILE *stream) {
    return stream->_fileno;
}
static inline int stream_flags(const FILE *stream) {
    return stream->_flags;
}
static inline bool stream_wide(const FILE *stream) {
    return stream->_mode > 0;
}
static inline const char *read_base(const FILE *stream) {
    return stream->_IO_read_base;
}
static inline const char *read_at(const FILE *stream) {
    return stream->_IO_read_ptr;
}
static inline const char *read_end(const FILE *stream) {
    return stream->_IO_read_end;
}
static inline const char *write_base(const FILE *stream) {
    return stream->_IO_write_base;
}
static inline const char *write_at(const FILE *stream) {
    return stream->_IO_write_ptr;
}
static inline const char *write_end(const FILE *stream) {
    return stream->_IO_write_end;
}
static inline intptr_t buffer_size(const FILE *stream) {
    return stream->_IO_buf_end - stream->_IO_buf_base;
}

extern FILE _IO_2_1_stdout_; // the C library's own: `stdout` may be NULL or a closed stream
#pragma weak _IO_2_1_stdout_
#define STANDARD_OUTPUT (&_IO_2_1_stdout_)

#else

// The beginning of musl's struct _IO_FILE, unchanged since 1.1.0; no header declares it.
struct stream {
    unsigned flags;
    const char *read_at, *read_end;
    void *close;
    const char *write_end, *write_at, *unused, *write_base;
    void *read, *write, *seek;
    const char *buffer;
    size_t buffer_size;
    void *before, *after;
    int fd, pipe_pid;
    long locks;
    int mode;
};

static inline const struct stream *inside(const FILE *stream) {
    return (const struct stream *)stream;
}
static inline int stream_fd(const FILE *stream) {
    return inside(stream)->fd;
}
static inline int stream_flags(const FILE *stream) {
    return (int)inside(stream)->flags;
}
static inline bool stream_wide(const FILE *stream) {
    return inside(stream)->mode > 0;
}
static inline const char *read_base(const FILE *stream) {
    return inside(stream)->buffer;
}
static inline const char *read_at(const FILE *stream) {
    return inside(stream)->read_at;
}
static inline const char *read_end(const FILE *stream) {
    return inside(stream)->read_end;
}
static inline const char *write_base(const FILE *stream) {
    return inside(stream)->write_base;
}
static inline const char *write_at(const FILE *stream) {
    return inside(stream)->write_at;
}
static inline const char *write_end(const FILE *stream) {
    return inside(stream)->write_end;
}
static inline intptr_t buffer_size(const FILE *stream) {
    return (intptr_t)inside(stream)->buffer_size;
}

#define STANDARD_OUTPUT stdout

#endif

// ---- resolve.c: the rows of the table: numbers, names, real functions

enum {
#define CALL(name, ...) API_##name,
#define CHARACTER CALL
#define VARIADIC CALL
#define HAND CALL
#define FRESH CALL
#define SKIP(name, why)
#define SKIPS(...)
#include "calls.def"
#undef CALL
    API_COUNT,
    API_LAST_OF_POSIX = API_COUNT - 1,
#define HDF5(name, ...) API_##name,
#define HDF5_HAND HDF5
#include "../hdf5/calls.def"
#undef HDF5
#undef HDF5_HAND
#define MPIIO(name, ...) API_##name,
#define MPIIO_HAND MPIIO
#define MPIIO_LARGE MPIIO
#include "../mpiio/calls.def"
#undef MPIIO
#undef MPIIO_HAND
#undef MPIIO_LARGE
    API_NAMED
};
extern const char api_names[][32];
extern const unsigned char api_lengths[];
extern const char api_terms[][16]; // the class of the call

// Functions that layers above register at run time (layer.c); their numbers follow those of the rows.
enum { REGISTERED = 256 };
struct function {
    _Atomic unsigned char length; // 0: not registered yet
    _Atomic bool taken;
    char name[62];
    const char *term;
};
extern struct function registered[REGISTERED];

static inline const char *api_name(int api) {
    return likely(api < API_NAMED) ? api_names[api] : registered[api - API_NAMED].name;
}
static inline size_t api_length(int api) {
    return likely(api < API_NAMED) ? api_lengths[api] : registered[api - API_NAMED].length;
}
static inline const char *api_term(int api) {
    return likely(api < API_NAMED) ? api_terms[api] : registered[api - API_NAMED].term;
}

typedef int (*visiting)(const char *, const void *, int, void *); // nftw(3)

struct real {
#define CALL(name, type, parameters, ...) type(*real_##name) parameters;
#include "calls.def"
#undef CALL
#undef CHARACTER
#undef VARIADIC
#undef HAND
#undef FRESH
#undef SKIP
#undef SKIPS
};

// A real function is looked up at its first call, so that a process pays only for the names that it uses. The first
// descriptors follow on the same page: each process uses both, and a page fault costs more than ten calls.
struct object;
extern struct tables {
    void *_Atomic functions[API_COUNT];
    struct object *_Atomic descriptors[1024];
} tables;
#define real_functions (tables.functions)
#define first_descriptors (tables.descriptors)
void *resolve(int api); // resolve.c
void resolve_begin(void);
void *real_named(const char *name); // for names that are not in the table; NULL: not found
bool real_is_of_libc(const char *name);
void *variable_named(const char *name);      // NULL: not found
void *kernel_function(const char *name);     // a function of the vdso; NULL: not found
int libraries_that_define(const char *name); // how many, without the shim
bool libc_matches(void);                     // whether the program uses the C library for which the shim was built

static inline void *real_function(int api) {
    void *known = relaxed(real_functions[api]);
    return likely(known != NULL) ? known : resolve(api);
}
#define REAL(name) ((__typeof__(((struct real *)NULL)->real_##name))real_function(API_##name))

// The function, if it was looked up before.
#define KNOWN(name) ((__typeof__(((struct real *)NULL)->real_##name))relaxed(real_functions[API_##name]))

#define EXPORTED(name, type, parameters, ...)                                                                          \
    __attribute__((visibility("default"))) type provio_##name parameters __asm__(#name);

int mode_flags(const char *mode); // intercept.c

// ---- memory.c: memory is never unmapped, so that a stale pointer can always be read

long memory_map(size_t size, long flags, long fd, long offset); // an address, or -errno
void memory_unmap(void *start, size_t size);

// A pool's items are whole cache lines. 16 bytes of each, usually the last ones, belong to the pool.
#define POOL(type) POOL_OF((sizeof(type) + 16 + 63) & ~63u)
#define POOL_OF(whole)                                                                                                 \
    { .size = (whole), .own = (whole)-16 }

struct pool {
    _Atomic uint64_t head; // change count << 32 | index + 1 of the first free item; the count prevents ABA errors
    _Atomic uint32_t made;
    uint32_t size;
    int32_t own;             // offset of the pool's own bytes in an item
    uint32_t lead;           // offset of the usable part of an item
    char *_Atomic slabs[28]; // slab i holds 1 << i items
};

// A pool that few processes use stays all zeros until its first use: it takes no space on the pages that every start
// touches.
#define LATER(pool, type) pool_later(pool, (sizeof(type) + 16 + 63) & ~63u)
static inline struct pool *pool_later(struct pool *pool, uint32_t size) {
    if (unlikely(__atomic_load_n(&pool->size, __ATOMIC_ACQUIRE) == 0)) {
        __atomic_store_n(&pool->own, (int32_t)size - 16, __ATOMIC_RELAXED);
        __atomic_store_n(&pool->size, size, __ATOMIC_RELEASE);
    }
    return pool;
}

void *arena_take(size_t size);
void memory_gain_ahead(void);
void *pool_take(struct pool *pool);
void pool_give(struct pool *pool, void *item);
extern struct pool scratches; // buffers of PATH_ROOM bytes

// ---- libraries.c

// Loaded libraries, for layers above the C library: also libraries that were loaded privately, outside the global
// scope. Not for signal handlers, because the loader locks its list.

void *loaded_function(const char *name); // from the first library that finds a function outside the shim; NULL: none
void *loaded_symbol(void *handle, const char *name); // as dlsym(3); RTLD_NEXT: after the shim
bool loaded_here(const void *function);              // whether the function is part of the shim
bool loaded_as(const char *part);                    // whether the file name of a loaded library contains `part`

// The loader's own functions, looked up when needed: otherwise every start of a process would pay for these names, and
// for the separate library that holds them before glibc 2.34.
struct dl_phdr_info;
extern struct loader {
    int (*dl_iterate_phdr)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    void *(*dlopen)(const char *, int);
    int (*dlclose)(void *);
} loader;
bool loader_ready(void);

#endif
