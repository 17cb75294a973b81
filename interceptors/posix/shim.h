// The private face of the POSIX interceptor, its sections in the order in which one call's data flows:
// raw system calls -> memory -> text -> clock -> process and thread -> live file -> object -> access -> event.
//
// Rules for every line that can run inside a wrapper: no malloc, no stdio, no lock, no dl* call, nothing printed;
// system calls of its own are raw, so errno stays as the real call left it and no wrapper is entered twice;
// little stack (a handler may run on a small sigaltstack); a signal handler may run, and do I/O, between any two
// instructions; what can fail makes the thread silent, never the program different.
#ifndef PROVIO_SHIM_H
#define PROVIO_SHIM_H

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

// ---- intercept.c: the rows of the table, as numbers, names and real functions

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
extern const char api_terms[][16]; // the class of what a call does

// Functions of layers above, registered while the process runs (record.c): their numbers follow.
enum { REGISTERED = 256 };
struct function {
    _Atomic unsigned char length; // 0: not there, or not yet
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

typedef int (*visiting)(const char *, const void *, int, void *); // of nftw(3)

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

// A real function is looked up when it is first called: a process pays for the few names that it uses.
extern void *_Atomic real_functions[API_COUNT];
void *resolve(int api); // resolve.c
void resolve_begin(void);
bool at_home(void); // in a program of the C library that the shim is for

static inline void *real_function(int api) {
    void *known = relaxed(real_functions[api]);
    return likely(known != NULL) ? known : resolve(api);
}
#define REAL(name) ((__typeof__(((struct real *)NULL)->real_##name))real_function(API_##name))

// Where it was looked up before.
#define KNOWN(name) ((__typeof__(((struct real *)NULL)->real_##name))relaxed(real_functions[API_##name]))

#define EXPORTED(name, type, parameters, ...)                                                                          \
    __attribute__((visibility("default"))) type provio_##name parameters __asm__(#name);

int mode_flags(const char *mode);

// ---- memory.c: what is taken is never unmapped, so that a stale pointer can always be looked at

long memory_map(size_t size, long flags, long fd, long offset); // an address, or -errno
void memory_unmap(void *start, size_t size);

// A pool's items are whole cache lines; 16 bytes of each are the pool's own, mostly the last ones.
#define POOL(type) POOL_OF((sizeof(type) + 16 + 63) & ~63u)
#define POOL_OF(whole)                                                                                                 \
    { .size = (whole), .own = (whole)-16 }

struct pool {
    _Atomic uint64_t head; // change count << 32 | index + 1 of the first free item: the count defeats reuse in between
    _Atomic uint32_t made;
    uint32_t size;
    int32_t own;             // where its own bytes are, from what is handed out
    uint32_t lead;           // where what is handed out begins
    char *_Atomic slabs[28]; // slab i holds 4 << i items
};

// A pool that few processes use is all zeros until then: it takes no room on the pages that every start touches.
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

// ---- text.c

struct text {
    char *at, *end;
};

typedef unsigned char sixteen __attribute__((vector_size(16), may_alias));

#if defined(__SSE2__)
#include <emmintrin.h>
// All 16 at once: two lanes of 8 digits, then four of 4, eight of 2, sixteen of 1.
static inline sixteen sixteen_digits(uint64_t value) {
    const uint64_t high = value / 100000000;
    const __m128i eights = _mm_set_epi64x((long long)(value - high * 100000000), (long long)high);
    const __m128i upper = _mm_srli_epi64(_mm_mul_epu32(eights, _mm_set1_epi32((int)0xd1b71759)), 45);
    const __m128i lower = _mm_sub_epi32(eights, _mm_mul_epu32(upper, _mm_set1_epi32(10000)));
    const __m128i fours = _mm_or_si128(upper, _mm_slli_epi64(lower, 32));
    const __m128i hundreds = _mm_srli_epi32(_mm_mulhi_epu16(fours, _mm_set1_epi32(10486)), 4);
    const __m128i rest = _mm_sub_epi32(fours, _mm_mullo_epi16(hundreds, _mm_set1_epi32(100)));
    const __m128i twos = _mm_or_si128(hundreds, _mm_slli_epi32(rest, 16));
    const __m128i tens = _mm_mulhi_epu16(twos, _mm_set1_epi16(6554));
    const __m128i ones = _mm_sub_epi16(twos, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
    const __m128i digits = _mm_or_si128(tens, _mm_slli_epi16(ones, 8));
    return (sixteen)_mm_add_epi8(digits, _mm_set1_epi8('0'));
}
#else
static inline sixteen sixteen_digits(uint64_t value) {
    sixteen digits;
    for (int i = 15; i >= 0; i--, value /= 10) digits[i] = (unsigned char)('0' + value % 10);
    return digits;
}
#endif

// At most so many digits: log10(2) is a little less than 1233 / 4096.
static inline unsigned digits_at_most(uint64_t value) {
    return (64u - (unsigned)__builtin_clzll(value | 1)) * 1233 / 4096 + 1;
}

static inline void store_loosely(char *at, sixteen digits) {
    memcpy(at, &digits, 16);
}

// Up to 16 digits that end before `end`, and what lies before them is overwritten with zeros: so a line is written from
// its end to its beginning. Returns where the digits begin.
static inline char *digits_before(char *end, uint64_t value) {
    sixteen digits = sixteen_digits(value);
    store_loosely(end - 16, digits);
#if defined(__SSE2__)
    unsigned zeros = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8((__m128i)digits, _mm_set1_epi8('0')));
    return end - 16 + __builtin_ctz(~zeros | 0x8000);
#else
    char *start = end - 16;
    while (start < end - 1 && *start == '0') start++;
    return start;
#endif
}

#define SIXTEEN_PLACES 10000000000000000u

// The same of a number of any length.
static inline char *number_before(char *end, uint64_t value) {
    if (likely(value < SIXTEEN_PLACES)) return digits_before(end, value);
    store_loosely(end - 16, sixteen_digits(value % SIXTEEN_PLACES));
    return digits_before(end - 16, value / SIXTEEN_PLACES);
}

static inline void text_bytes(struct text *text, const void *bytes, size_t size) {
    if (unlikely(size > (size_t)(text->end - text->at))) size = (size_t)(text->end - text->at);
    memcpy(text->at, bytes, size);
    text->at += size;
}
#define TEXT(text, constant) text_bytes(text, constant, sizeof(constant) - 1)
#define TEXT_API(text, api) text_bytes(text, api_name(api), api_length(api))

// A path below the first `at` bytes of PATH_ROOM, without `.` and empty parts; its length, 0: too long.
size_t path_append(char *room, size_t at, const char *path);
void text_string(struct text *text, const char *string);
void text_number(struct text *text, uint64_t value);
void text_real(struct text *text, double value); // real.c
bool text_plain(const char *bytes, size_t size);
size_t name_room(const char *bytes, size_t size);
// ` ; property "bytes"`, or with `encoded` as the property where the bytes are not UTF-8
void text_name(struct text *text, const char *property, const char *encoded, const char *bytes, size_t size);
void text_argument(struct text *text, const char *argument);
size_t argument_room(const char *argument);
#define TEXT_NUMBER(text, term, value) (TEXT(text, " ; " term " "), text_number(text, value))
#define TEXT_NAME(text, name, bytes, size) text_name(text, TERM_##name, TERM_##name##Encoded, bytes, size)

// ---- clock.c: nanoseconds since 1970

struct anchor {
    uint64_t ticks, nanoseconds, multiplier, lifetime; // multiplier: nanoseconds << 32 a tick; lifetime in ticks
};

// ---- process and thread (process.c)

struct live;
struct access;
struct counters;

enum { SCOPES = 8 };

struct thread {
    // Of this owner of the state, in the Task that it is in: an access knows by it whether it counts what is done now.
    _Atomic uint32_t number;
    uint8_t inherited;    // the Task is left when it ends: task.c
    uint64_t scope;       // the Task; 0: none
    struct thread *older; // of all that were made
    struct {
        uint64_t scope;
        uint32_t number;
    } scopes[SCOPES]; // the numbers it had
    int depth;        // > 0: inside the shim; what a signal handler then finds must not be freed or moved
    uint64_t latest, epoch;
    struct anchor *anchor;
    struct live *live, *calls;
    int ordinal;        // K of the base in force, -1 before this owner's first block
    int64_t calls_base; // whose base is in force in the file of calls
    int tid;
    unsigned anchor_turn;
    short predicted[2][2]; // the functions last used: [stream][side]
    struct anchor anchors[4] __attribute__((aligned(64)));
    uint64_t accesses, events, failures;
    uint32_t entries, limit; // accesses in the table, and how many before the dead ones are swept
    struct access **table;
    struct access *mine;
    uint64_t date_second;
    char date_text[20];
};

enum { IDLE = 64 };

struct process {               // on a page that a fork wipes
    _Atomic uint32_t alive;    // detail + 1: this image is watched and this memory is its own
    _Atomic uint32_t number;   // n + 1
    _Atomic uint32_t ordinals; // threads that have a file, beyond the first
    _Atomic uint32_t pid, parent;
    _Atomic uint64_t tick; // 0: the process has not been named yet
    uint64_t started;
    uint32_t forked;
    _Atomic uint64_t said[8];          // system calls that a Gap was left for
    struct thread *_Atomic idle[IDLE]; // states and files handed on by threads that ended
};

union process_page {
    struct process process;
    char page[PAGE];
};
extern union process_page page;
#define process (page.process)

// The last: as `op`, but nothing of how long calls took.
enum detail { DETAIL_FILE, DETAIL_OP, DETAIL_CALL, DETAIL_UNTIMED };

// The classes of record that can be left out, in the order of left_out.c's words.
enum class {
    CLASS_THREAD,
    CLASS_PROGRAM,
    CLASS_RANK,
    CLASS_PROCESS,
    CLASS_API,
    CLASS_DURATION,
    CLASS_FILE,
    CLASS_DIRECTORY,
    CLASS_PIPE,
    CLASS_SOCKET,
    CLASS_GROUP,
    CLASS_DATASET,
    CLASS_ATTRIBUTE,
    CLASS_DATATYPE,
    CLASS_LINK,
    CLASS_CONFIGURATION,
    CLASS_METRIC,
    CLASS_CHECKPOINT,
    CLASS_ENTITY,
};

extern struct settings {
    const char *run, *host, *home, *folder, *layer; // layer: what provio puts into a Python; NULL: this is none
    size_t home_length, folder_length, layer_length;
    bool watched, time_stamp_counter, stat, list; // the last two: classes that are recorded only when asked for
    bool limited;                                 // there are paths that are left out
    uint32_t off;                                 // classes that are left out, a bit each
    enum detail detail;
    char *arguments, *arguments_end;
    uint32_t rank, ranked; // its number in a parallel program, and whether it has one
    uint64_t mounts;       // the mount namespace of what watches; 0: not told
} settings;

static inline bool left_out(enum class class) {
    return unlikely(settings.off >> class & 1);
}
bool words_read(const char *words); // left_out.c
bool limit_add(const char *limit, size_t length);
bool path_left_out(const char *path, size_t length);
bool descriptor_left_out(int fd, int dirfd, const char *path);
bool kind_left_out(uint32_t mode);

extern THREAD_LOCAL struct thread *self;   // NULL: none yet, or in a vfork's child
extern THREAD_LOCAL struct thread *lender; // in a vfork's child: the thread whose memory it borrows

extern THREAD_LOCAL enum { HEARD, FORGETS, LEAVES } muted; // clone.c: not to be told apart from another process
void vfork_begin(void);
int vfork_end(int api, int pid);

void text_date(struct text *text, struct thread *thread, uint64_t nanoseconds);
bool wake(void);
struct thread *thread_begin(void);
long process_identify(void);
uint64_t start_tick(int pid, uint32_t *parent);
uint64_t clock_slow(struct thread *thread);
void clock_stop(struct thread *thread);            // no clock at all from here on: the last time stays
void clock_without_counter(struct thread *thread); // only by system calls
void clock_go_on(void);
uint64_t wall_clock(void);

static inline bool watching(void) {
    return likely(relaxed(process.alive)) || wake();
}

// How much is recorded, where watching() said yes.
static inline bool detailed(enum detail detail) {
    return relaxed(process.alive) == (uint32_t)detail + 1;
}

static inline struct thread *thread_self(void) {
    return likely(self != NULL) ? self : thread_begin();
}

static inline uint64_t now(struct thread *thread) {
#if defined(__x86_64__) || defined(__aarch64__)
    struct anchor *anchor = thread->anchor;
    if (likely(anchor != NULL)) {
#if defined(__x86_64__)
        uint64_t ticks = __builtin_ia32_rdtsc() - anchor->ticks;
#else
        uint64_t ticks;
        asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        ticks -= anchor->ticks;
#endif
        if (likely(ticks < anchor->lifetime)) {
            uint64_t time = anchor->nanoseconds + (ticks * anchor->multiplier >> 32);
            if (unlikely(time < thread->latest)) time = thread->latest;
            return thread->latest = time;
        }
    }
#endif
    return clock_slow(thread);
}

// ---- live.c: the live Turtle file

struct chunk {
    uint32_t size;
    _Atomic uint32_t used;
    uint32_t accesses; // that still count in it
    char *start;
    struct chunk *older;
};

struct block {
    struct text text;
    char *start;
    struct chunk *chunk;
    struct thread *thread;
};

bool block_begin(struct thread *thread, struct block *block, size_t room);
static inline void block_commit(struct block *block) {
    // A text that filled its room to the end may have been cut: it stays a comment.
    if (likely(block->text.at < block->text.end)) __atomic_store_n(block->start, ' ', __ATOMIC_RELEASE);
    *(volatile int *)&block->thread->depth -= 1;
}
// What was reserved stays a comment.
static inline void block_drop(struct block *block) {
    block->text.at = block->text.end;
    block_commit(block);
}
bool line_begin(struct thread *thread, struct block *block, size_t size);
void line_end(struct thread *thread, struct block *block);
void live_sweep(struct thread *thread);
void live_gain_ahead(struct thread *thread, uint32_t size);
void base_return(struct thread *thread);
bool live_ready(struct thread *thread);

// ---- object.c: descriptor -> opening

struct facts {
    uint32_t device_major, device_minor, links, mode;
    uint64_t inode, birth, modified, changed, size;
};

struct address {
    uint8_t bytes[16]; // of four bytes: mapped to sixteen
    uint16_t port;
};

struct connection {
    uint64_t peer_inode; // AF_UNIX; 0: unknown, then peer_pid may be known
    uint32_t peer_pid;
    uint16_t family; // 0: not looked at yet, or none
    union {
        char path[109]; // AF_UNIX
        struct {
            struct address local, peer;
        };
    };
};

struct object {
    _Atomic uint64_t serial; // 0: found open, to be announced at its first use
    struct counters *_Atomic hint[2];
    _Atomic uint64_t
        position; // the file offset, as far as known; of a stream, what only a reposition changes by a leap
    _Atomic uint64_t references; // descriptors, and maps << 32
    uint32_t flags;
    struct access *opening;  // the access made with it, which has its `closed` counter
    const char *_Atomic put; // of a stream: up to here what lies in its buffer is counted
    struct facts facts;
    const char *kind; // its class
    char *path;       // NULL: none
    uint32_t path_length;
    _Atomic bool stream, shared;     // shared: several threads write to the stream
    _Atomic bool channel;            // a pipe or a connection; read also where another thread closes it
    bool inherited, unlinked, plain; // the last: the path needs no escapes
    union {
        char short_path[128];
        struct connection connection; // of a socket
    };
};

enum { MAP_REFERENCE = 1 }; // shifted by 32
extern struct object ignored;
extern struct object *_Atomic first_descriptors[1024];

struct object *object_slow(int fd);
struct object *object_known(int fd); // as the table has it, or NULL: only for its atomics
struct object *object_kept(int fd);  // the same, held until object_release(…, 1)
struct object *object_held(int fd);  // known or looked up now, held: never NULL
struct object *object_open(int api, int fd, int dirfd, const char *path, int flags, uint64_t started, bool stream);
void object_pair(int api, const int fds[2], uint64_t started); // the two ends of a socketpair
void object_share(int fd, struct object *object);
int object_doubled(struct object *object, int copy); // irregular.c
void object_forget(int fd);
void object_release(struct object *object, uint64_t reference);
void objects_after_fork(void);
uint64_t serial_next(void);
extern uint64_t serials_of_parent; // what has one of these was announced before the last fork
void overlay_drop(void);
struct mounts {
    uint64_t space, hash; // the mount namespace, 0 where it is that of what watches, and what its table hashes to
};
void mounts_look(struct mounts *mounts); // mounts.c
void text_mounts(struct text *text, const struct mounts *mounts);
enum { MOUNTS_ROOM = 64 };

bool statx_facts(int dirfd, const char *path, int flags, struct facts *facts);
enum { FACTS_ROOM = 192 }; // what text_facts takes at most
void text_facts(struct text *text, const struct facts *facts);

struct closing {
    struct object *object;
    struct facts facts;
    bool last, known;
};
void closing_begin(struct closing *closing, int fd);
void closing_look(struct closing *closing);
void closing_write(struct thread *thread, struct closing *closing, uint64_t serial, uint64_t time);
void closing_end(struct closing *closing, bool by_path);
void closing_undo(struct closing *closing, int fd);
void closing_range(unsigned first, unsigned last);
unsigned descriptors_end(void);

// path.c
size_t path_join(char *room, int dirfd, const char *path); // into PATH_ROOM bytes; 0: cannot be said
bool path_ignored(const char *path, size_t length);
size_t path_of_fd(int fd, char *room, bool *unlinked);
void cwd_changed(void);
void root_changed(const char *path, size_t length);

static inline void object_moved(struct object *object, uint64_t position) {
    atomic_store_explicit(&object->position, position, memory_order_relaxed);
}

// socket.c
void connection_read(int fd, struct object *object);
void text_connection(struct text *text, const struct connection *connection);
void message_taken(const struct msghdr *message);

// The opening behind a descriptor, ready to be counted on; `&ignored` where nothing is recorded.
static inline struct object *object_of(int fd) {
    if (likely((unsigned)fd < 1024 && self != NULL)) {
        struct object *object = atomic_load_explicit(&first_descriptors[fd], memory_order_acquire);
        if (likely(object != NULL && relaxed(object->serial) != 0)) return object;
    }
    return object_slow(fd);
}

// ---- map.c: shared writable maps, until the last part of each is unmapped

struct map {
    _Atomic uintptr_t address;
    _Atomic size_t size;
    struct object *object;
    _Atomic uint64_t event; // the Map that it came from, and whose event that is; looked at while another thread has it
    _Atomic int ordinal;
    uintptr_t was;
    struct map *next; // of those that one call ends
};
void map_follow(void *address, size_t size, const struct map *like);
bool map_at(const void *address, struct map *found); // with a reference to its object
bool maps_any(void);
struct map *maps_cut(const void *address, size_t size);
void maps_restore(struct map *gone);
void maps_gone(int api, struct map *gone, uint64_t started);
void maps_after_fork(void);

// ---- task.c: the Task that a thread is in. One that enters or leaves it gets another number, so what it did before is
// no longer its own to count on: calls look at nothing more than they do without Tasks.

extern uint64_t tasks_of_parent; // what has one of these was begun before the last fork
uint64_t scope_of(struct thread *thread);
bool numbered_so(const struct thread *thread, uint32_t number);
void scopes_begin(struct thread *thread, bool made);
uint32_t number_next(void);
void tasks_after_fork(void);
bool task_is_own(uint64_t task);
void said_after_fork(void); // said.c
void text_task(struct text *text, uint64_t scope);
static inline size_t task_room(uint64_t scope) {
    return likely(scope == 0) ? 0 : sizeof " ; " TERM_task " <../t>" + digits_at_most(scope);
}

// ---- access.c: (thread, opening, Task, function) -> its counters

enum side { READING, WRITING };

// One direction of an access: its first cache line is what one call touches, of the second it reads the start. After a
// system call cold lines and cold code are what a wrapper costs.
struct counters {
    _Atomic uint32_t owner; // the thread's number; others look at it, and at nothing else unless it is theirs
    int16_t api;            // -1: none
    int16_t side;
    uint64_t serial;
    uint64_t values[4]; // count, bytes, elapsed, last
    char *digits;       // of the count in the live file; the others follow, each 32 bytes on: see enum digits
    uint64_t next;      // the offset at which a consecutive call begins

    uint64_t low, width; // the sizes that need no counter of their own; width 0: no call had a size yet
    uint64_t longest, empty;
    struct spread *spread; // the sizes of the other calls
    uint64_t usual;        // what `width` was, where it is 0 so that each call is looked at: see turns.c
    uint64_t turn, turn_last, turn_bytes;
    unsigned turns;
    uint64_t source;  // of a Copy; of failures, their error
    uint64_t number;  // of the access in its name
    const char *term; // NULL: as the side says
    char prefix[16];  // of its calls' lines at detail `call`, ending at the last byte
    unsigned prefix_length;
};
enum { COUNT, BYTES, ELAPSED, LAST };
enum digits { FIRST = 4, LONGEST, EMPTY };

struct access {
    struct counters side[2];
    char *closed;
    struct object *object;
    struct access *next; // in the same slot of the thread's table
    struct access *mine; // of the same thread
    struct chunk *chunk;
    uint64_t scope; // the Task
};

#define AN_ERROR ((uint64_t)1 << 63) // in the place of a copy's source

// Whose failures belong to no opening.
extern struct object nobody, within; // `within`: in the place of a copy's source, of all objects of a file

struct counters *access_find(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api);
struct counters *access_counted(struct thread *thread, struct object *object, const char *term, int api,
                                struct object *source);
void count_change(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                  uint64_t started);
void count_operation(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                     uint64_t started);
void access_opened(struct thread *thread, struct object *object, int api, uint64_t started, uint64_t elapsed);
void access_forget(struct thread *thread);
void access_touched(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                    uint64_t time);
void access_failed_with(struct thread *thread, struct object *object, int api, int error, uint64_t started);
static inline void access_failed(struct thread *thread, struct object *object, int api, uint64_t started) {
    access_failed_with(thread, object, api, errno, started);
}
void account_stream(struct thread *thread, struct object *object, enum side side, int api, uint64_t bytes);
void account_otherwise(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                       uint64_t offset, uint64_t bytes, uint64_t started);
struct access *access_new(struct thread *thread, struct object *object, uint64_t serial, uint64_t number,
                          struct block *block);
void access_remember(struct thread *thread, struct access *access);
void counters_begin(struct counters *counters, uint64_t bytes, uint64_t first);
void sizes_free(struct counters *counters);
void counters_longer(struct counters *counters, uint64_t elapsed);
void counters_again(struct counters *counters);
void counters_spread(struct thread *thread, struct counters *counters, uint64_t bytes, bool consecutive,
                     uint64_t first);
void call_line(struct thread *thread, struct counters *counters, uint64_t count, uint64_t offset, uint64_t bytes,
               uint64_t started, uint64_t elapsed, int error);

// turns.c: where reading goes on after the process wrote, and writing after it read
void turn_to(enum side side);
bool turns_seen(const struct counters *counters);
void turn_follow(struct counters *counters);
void turn_look(struct thread *thread, struct counters *counters, uint64_t first);
void turn_end(struct thread *thread, struct counters *counters, uint64_t first);

bool access_closed(struct thread *thread, struct object *object, uint64_t serial, uint64_t time);

// A counter in the text: a label of 16 bytes and 16 digits.
enum { COUNTER = 32 };
#define PADDING "                "
#define ZEROS "0000000000000000"

void text_counter(struct text *text, const char *label);
void text_align(struct text *text);
void text_counted_api(struct text *text, const char *property, int api);
unsigned side_counters(enum side side);
void text_side(struct text *text, struct access *access, enum side side, int api);

// One instruction, so that a handler between two of them cannot lose a count.
static inline void add(uint64_t *counter, uint64_t amount) {
#if defined(__x86_64__)
    asm volatile("addq %1, %0" : "+m"(*counter) : "er"(amount) : "cc");
#else
    __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
#endif
}

static inline uint64_t next_number(uint64_t *counter) {
#if defined(__x86_64__)
    uint64_t amount = 1;
    asm volatile("xaddq %0, %1" : "+r"(amount), "+m"(*counter)::"cc");
    return amount + 1;
#else
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED) + 1;
#endif
}

#if defined(__aarch64__)
// Before ARMv8.4 a store of 16 bytes may be carried out as two, with a kill or a reader in between: what is whole on
// every such processor is the exclusive pair.
static inline void store_whole(char *at, sixteen digits) {
    uint64_t halves[2], before, behind;
    uint32_t failed;
    memcpy(halves, &digits, sizeof halves);
    asm volatile("1: ldxp %0, %1, %3\n"
                 "stxp %w2, %4, %5, %3\n"
                 "cbnz %w2, 1b"
                 : "=&r"(before), "=&r"(behind), "=&r"(failed), "+Q"(*(sixteen *)at)
                 : "r"(halves[0]), "r"(halves[1]));
}
#else
static inline void store_whole(char *at, sixteen digits) {
    *(volatile sixteen *)at = digits;
}
#endif

static inline void store_digits(char *digits, uint64_t value) {
    store_whole(digits, sixteen_digits(value));
}

#define AS_IT_IS(counter) (*(volatile uint64_t *)&(counter))

// A counter that mostly grows by one: only a last digit changes then, and a byte cannot be torn either.
static inline void store_grown(volatile char *digits, uint64_t value, bool by_one) {
    if (likely(by_one && digits[15] != '9'))
        digits[15]++;
    else
        store_digits((char *)digits, value);
}

// Where the digits of a counter are: without durations there are fewer.
static inline char *counter_digits(const struct counters *counters, int which) {
    if (left_out(CLASS_DURATION)) which -= which == EMPTY ? 2 : which > ELAPSED;
    return counters->digits + 32 * which;
}

// Without durations the last moment stands where they would.
static ALWAYS_INLINE void counters_store_untimed(struct counters *counters, uint64_t count) {
    store_grown(counters->digits, count, true);
    for (;;) {
        store_digits(counters->digits + 32 * BYTES, AS_IT_IS(counters->values[BYTES]));
        store_digits(counters->digits + 32 * ELAPSED, AS_IT_IS(counters->values[LAST]));
        if (likely(count == AS_IT_IS(counters->values[COUNT]))) return;
        count = AS_IT_IS(counters->values[COUNT]);
        store_digits(counters->digits, count);
    }
}

static ALWAYS_INLINE void counters_store(struct counters *counters, uint64_t count) {
    store_grown(counters->digits, count, true);
    for (;;) {
        // A loop, for its code is short: most of it is cold after a system call.
        for (int i = BYTES; i <= LAST; i++) store_digits(counters->digits + 32 * i, AS_IT_IS(counters->values[i]));
        // Again where a handler counted in between: it may have been overwritten with less.
        if (likely(count == AS_IT_IS(counters->values[COUNT]))) return;
        count = AS_IT_IS(counters->values[COUNT]);
        store_digits(counters->digits, count);
    }
}

static inline void store_counter(struct counters *counters, enum digits which, uint64_t value) {
    store_digits(counter_digits(counters, (int)which), value);
}

// What was read is known from the first return on, what was written from the first call on: `first` says which.
// Returns which call of these it was.
static ALWAYS_INLINE uint64_t counters_add(struct thread *thread, struct counters *counters, uint64_t offset,
                                           uint64_t bytes, uint64_t started, uint64_t ended, uint64_t first,
                                           const bool timed) {
    uint64_t elapsed = ended - started;
    if (unlikely(counters->values[COUNT] == 0)) {
        counters_begin(counters, bytes, first - thread->epoch);
        counters->next = offset;
    }
    bool consecutive = offset == counters->next;
    counters->next = offset + bytes;
    uint64_t count = next_number(&counters->values[COUNT]);
    add(&counters->values[BYTES], bytes);
    if (timed) add(&counters->values[ELAPSED], elapsed);
    counters->values[LAST] = ended - thread->epoch;
    if (timed)
        counters_store(counters, count);
    else
        counters_store_untimed(counters, count);
    if (timed && unlikely(elapsed > counters->longest)) counters_longer(counters, elapsed);
    if (unlikely(bytes - counters->low >= counters->width || !consecutive))
        counters_spread(thread, counters, bytes, consecutive, first);
    return count;
}

// What both compare before they count on a hint: is it this thread's, this opening's, this function's?
static inline bool counters_fit(const struct counters *counters, const struct thread *thread, uint64_t serial,
                                int api) {
    return likely(counters != NULL && relaxed(counters->owner) == relaxed(thread->number) &&
                  counters->serial == serial && counters->api == api);
}

static inline void operation_add(struct thread *thread, struct counters *counters, uint64_t bytes, uint64_t started) {
    uint64_t ended = now(thread), left = SIXTEEN_PLACES - 1 - counters->values[BYTES];
    // What a call may be asked for has no limit; a counter has: there it stays.
    uint64_t count = counters_add(thread, counters, counters->next, bytes < left ? bytes : left, started, ended,
                                  started, !left_out(CLASS_DURATION));
    if (detailed(DETAIL_CALL)) call_line(thread, counters, count, 0, bytes, started, ended - started, 0);
}

// Detail `file`: has this thread's doing on this side been said already?
static ALWAYS_INLINE bool touched(const struct object *object, uint64_t serial, enum side side) {
    const struct counters *counters = relaxed(object->hint[side]);
    return likely(counters != NULL && self != NULL && relaxed(counters->owner) == relaxed(self->number) &&
                  counters->serial == serial && counters->values[COUNT] != 0);
}

// Then there is nothing to do but the call itself.
static inline bool nothing_new(int fd, enum side side, int api) {
    if (likely(!detailed(DETAIL_FILE)) || (unsigned)fd >= 1024) return false;
    const struct object *object = atomic_load_explicit(&first_descriptors[fd], memory_order_acquire);
    return object != NULL && relaxed(real_functions[api]) != NULL && touched(object, relaxed(object->serial), side);
}

static ALWAYS_INLINE void account_timed(struct thread *thread, struct object *object, uint64_t serial, enum side side,
                                        int api, uint64_t offset, uint64_t bytes, uint64_t started, bool kept) {
    *(volatile int *)&thread->depth += 1;
    struct counters *counters = relaxed(object->hint[side]);
    if (!counters_fit(counters, thread, serial, api)) counters = access_find(thread, object, serial, side, api);
    if (likely(counters != NULL)) {
        uint64_t ended = now(thread);
        uint64_t count =
            counters_add(thread, counters, offset, bytes, started, ended, side == READING ? ended : started, true);
        if (kept) call_line(thread, counters, count, offset, bytes, started, ended - started, 0);
    }
    *(volatile int *)&thread->depth -= 1;
}

static inline void account(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                           uint64_t offset, uint64_t bytes, uint64_t started) {
    if (likely(detailed(DETAIL_OP)))
        account_timed(thread, object, serial, side, api, offset, bytes, started, false);
    else
        account_otherwise(thread, object, serial, side, api, offset, bytes, started);
}

// The same without durations; `started` 0: not known.
void account_lasting(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                     uint64_t offset, uint64_t bytes, uint64_t started, bool kept);

// When a call begins: without durations only the first write's moment is asked for.
static ALWAYS_INLINE uint64_t begun(struct thread *thread, const struct object *object, uint64_t serial,
                                    enum side side) {
    if (unlikely(detailed(DETAIL_UNTIMED)) && (side == READING || touched(object, serial, side))) return 0;
    return now(thread);
}

// What a stream serves from its buffer: its time is read only now and then.
static inline void account_untimed(struct thread *thread, struct object *object, enum side side, int api,
                                   uint64_t bytes) {
    uint64_t serial = relaxed(object->serial);
    struct counters *counters = relaxed(object->hint[side]);
    if (unlikely(!counters_fit(counters, thread, serial, api) || counters->values[COUNT] < 16 ||
                 (counters->values[COUNT] & 63) == 0)) {
        account_stream(thread, object, side, api, bytes);
        return;
    }
    *(volatile int *)&thread->depth += 1;
    uint64_t count = next_number(&counters->values[COUNT]);
    add(&counters->values[BYTES], bytes);
    store_grown(counters->digits, count, true);
    store_digits(counters->digits + 32, AS_IT_IS(counters->values[BYTES]));
    if (unlikely(count != AS_IT_IS(counters->values[COUNT]))) counters_again(counters);
    if (unlikely(bytes - counters->low >= counters->width)) counters_spread(thread, counters, bytes, true, 0);
    *(volatile int *)&thread->depth -= 1;
}

// A single character: nine times in ten two last digits change and nothing else.
static inline void account_character(struct object *object, enum side side, int api) {
    struct thread *thread = self;
    struct counters *counters = relaxed(object->hint[side]);
    if (unlikely(thread == NULL || counters == NULL || counters->owner != relaxed(thread->number) ||
                 counters->api != api || counters->serial != relaxed(object->serial)))
        return account_stream(thread_self(), object, side, api, 1);
    if (unlikely(detailed(DETAIL_FILE)) && counters->values[COUNT] != 0) return;
    volatile char *digits = counters->digits;
    if (unlikely(digits[15] == '9' || digits[47] == '9' || (counters->values[COUNT] & 63) < 2))
        return account_untimed(thread, object, side, api, 1);
    *(volatile int *)&thread->depth += 1;
    add(&counters->values[COUNT], 1);
    add(&counters->values[BYTES], 1);
    digits[15]++;
    digits[47]++;
    *(volatile int *)&thread->depth -= 1;
}

// ---- what the compiler put inline: bytes that a program stores into a stream's buffer itself, without a call. They
// are counted with the next call on the stream, at its flush and at its close. Threads that share a stream do not do
// it.

static inline uint64_t put_inline(const struct object *object, const FILE *stream) {
    const char *base = write_base(stream), *end = write_at(stream), *from = relaxed(object->put);
    if (relaxed(object->shared)) return 0;
    if (from == NULL) from = base;
    return from >= base && from <= end ? (uint64_t)(end - from) : 0; // elsewhere: flushed since, by nobody knows what
}

static inline void put_seen(struct object *object, const FILE *stream) {
    atomic_store_explicit(&object->put, write_at(stream), memory_order_relaxed);
}

static inline void put_one(struct object *object, const FILE *stream) {
    const char *put = relaxed(object->put);
    atomic_store_explicit(&object->put, put == NULL ? write_at(stream) : put + 1, memory_order_relaxed);
}

struct object *put_count(FILE *stream);

// ---- event.c: single calls, a block each

uint64_t event_begin(struct thread *thread, struct block *block, const char *term, int api, uint64_t started,
                     size_t room);
void event_end(struct block *block);
void text_object(struct text *text, const char *property, uint64_t serial); // ` ; property <../o7>`
void event_rename(int api, const char *term, int fromfd, const char *from, int tofd, const char *to, uint64_t started);
void event_symbolic(int api, const char *target, int dirfd, const char *path, uint64_t started);
void event_delete(int api, int dirfd, const char *path, const struct facts *facts, uint64_t started);
void event_create(int api, int dirfd, const char *path, uint64_t started);
void event_times(int api, int dirfd, const char *path, int flags, const struct facts *before, uint64_t started);
void event_mode(int api, int dirfd, const char *path, int flags, mode_t mode, uint64_t started);
void event_owner(int api, int dirfd, const char *path, int flags, uid_t owner, gid_t group, uint64_t started);
void event_attribute(int api, int dirfd, const char *path, int flags, const char *attribute, uint64_t started);
void event_asked(int api, const char *term, int dirfd, const char *path, uint64_t started);
void event_pattern(int api, const char *pattern, uint64_t started);
void event_truncate(int api, int fd, const char *path, off64_t length, uint64_t started);
uint64_t event_map(int api, struct object *object, size_t size, int protection, bool shared, uint64_t started);
void event_unmap(int api, int ordinal, uint64_t map, const struct facts *facts, uint64_t started);
void event_child(int api, const char *term, int pid, const char *path, char *const argv[], uint64_t started);
void event_child_end(int api, int pid, int status, uint64_t started);
uint64_t event_exec(int api, const char *path, char *const argv[], bool wanted);
void event_exec_failed(int api, uint64_t exec, int error);
void event_copy(struct thread *thread, int api, struct object *from, struct object *to, uint64_t bytes,
                uint64_t started);

// ---- image.c: what an exec is about to start

struct launch {
    char *const *environment; // what is passed on
    char *const *argv;
    const char *reason; // why it cannot be watched, or NULL
    char *path;         // of what cannot be watched, absolute
    char *room;         // of the environment, where it is not the caller's
    size_t room_size;   // 0: from the pool
    uint32_t path_length;
    bool legible;
    struct block gap; // withdrawn when the exec fails
    uint64_t event;
};

void launch_begin(struct launch *launch, int dirfd, const char *path, int flags, bool searched, char *const argv[],
                  char *const envp[]);
void launch_end(struct launch *launch);
void launch_returned(void);
const char *shell_reason(void);
const char *own_name(void);
void launch_say(struct launch *launch, int api, const char *shown);
void launch_failed(struct launch *launch, int api, int error);
void event_unwatched(struct launch *launch, int api, int pid);
void event_withdraw(struct block *block);
pid_t forked(int api, pid_t pid, struct thread *thread, uint64_t started); // children.c
void event_gap(int api, const char *reason, const char *path);
void callers_unloaded(void); // ../hdf5/library.c

extern _Atomic bool python_waits; // python.c: a Python that has not begun yet
void python_look(void);
void python_ask(void);

// ---- confine.c: what keeps the shim from its files later on

extern _Atomic bool confined; // the root, the user or the namespaces were changed

struct sealing {
    struct thread *thread;
    bool strict;
};

struct thread *confine_begin(void);
int confine_end(int result);
void seal_begin(struct sealing *sealing, bool strict);
void seal_end(struct sealing *sealing, int api, bool done);
void unseal(void);

#endif
