// The state of the process and of its threads, the settings, and the clock.
#ifndef PROVIO_PROCESS_H
#define PROVIO_PROCESS_H

#include "text.h"

// ---- clock.c: nanoseconds since 1970

struct anchor {
    uint64_t ticks, nanoseconds, multiplier, lifetime; // multiplier: nanoseconds << 32 per tick; lifetime in ticks
};

// ---- process and thread (process.c)

struct live;
struct access;
struct counters;

enum { SCOPES = 8 };

struct thread {
    // Identifies this owner of the state in its current Task: an access compares it before it counts a call.
    _Atomic uint32_t number;
    _Atomic uint8_t inherited; // the Task is left when it ends: task.c
    uint64_t scope;            // the Task; 0: none
    struct thread *older;      // list of all threads
    struct {
        uint64_t scope;
        uint32_t number;
    } scopes[SCOPES]; // previous numbers
    int depth;        // > 0: inside the shim: a signal handler must not free or move the data in use
    bool jumped;      // out of a signal handler that had interrupted the shim, perhaps: jumps.c
    bool sweeping;    // the table of its accesses
    bool messages;    // its sockets carry messages of a framework: layer.h
    uintptr_t outer;  // the stack pointer of the outermost use of the shim
    struct unmade {
        uint32_t number, ordinal; // number + 1; 0: none
    } making;                     // the name of its file that is being made
    uint64_t latest, epoch;
    struct anchor *anchor;
    struct live *live, *calls;
    int ordinal;        // K of the base in force; -1 before the first block of this owner
    int64_t calls_base; // the base in force in the file of calls
    int tid;
    unsigned anchor_turn;
    short predicted[2][2]; // the functions used last: [stream][side]
    struct anchor anchors[4] __attribute__((aligned(64)));
    uint64_t accesses, events, failures;
    uint32_t entries, limit; // accesses in the table, and the number at which unused ones are removed
    struct access **table;
    struct access *mine;
    uint64_t date_second;
    char date_text[20];
};

enum { IDLE = 64 };

struct process {               // on a page that a fork wipes
    _Atomic uint32_t alive;    // detail + 1: this process image is recorded and this memory is its own
    _Atomic uint32_t number;   // n + 1
    _Atomic uint32_t ordinals; // threads with a file, except the first
    _Atomic uint32_t pid, parent;
    _Atomic uint64_t tick;        // 0: the process has not been identified yet
    uint64_t started, known_tick; // known_tick: the value that fork passed on
    uint32_t forked;
    _Atomic bool headless;             // its first file, which describes it, was not made to the end
    _Atomic bool memory_gap;           // there is a Gap because memory ended
    _Atomic uint64_t reported[8];      // system calls that already have a Gap
    struct thread *_Atomic idle[IDLE]; // states and files of ended threads, for reuse
};

union process_page {
    struct process process;
    char page[PAGE];
};
extern union process_page page;
#define process (page.process)

// The last one: as `op`, but without durations.
enum detail { DETAIL_FILE, DETAIL_OP, DETAIL_CALL, DETAIL_UNTIMED };

// The classes of records that can be filtered out, in the order of the names in filter.c.
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

enum { JOB, JOB_INDEX, JOB_WORDS };

extern struct settings {
    const char *run, *host, *home, *folder, *layer; // layer: the folder of the Python layer; NULL: not a Python
    size_t home_length, folder_length, layer_length;
    bool watched, time_stamp_counter, stat, list; // stat, list: classes that are recorded only on request
    bool limited;                                 // some paths are filtered out
    bool values;                                  // some names are those of files with parameters or metrics
    bool libraries;                               // the loaded libraries are recorded
    bool output;                                  // standard output and error are kept
    bool wipes;                                   // the kernel wipes the page of the process in each child
    uint32_t off;                                 // a bit for each class that is filtered out
    enum detail detail;
    char *arguments, *arguments_end;
    // rank: number in a parallel program; ranked: whether it has one; world_size 0: unknown
    uint32_t rank, ranked, world_size;
    const char *launcher;       // the launcher that set these values
    const char *conflicting[2]; // variables with contradictory rank numbers; NULL: none
    char program[96];           // the launcher's name of the parallel program; may be empty
    char job[JOB_WORDS][48];    // the names of its batch job; empty: no job
    const char *own_job;        // the job of the run itself; NULL: none
    char **environment;         // in the kernel's layout
    uint64_t mounts;            // the mount namespace of `provio run`; 0: unknown
} settings;

static inline bool filtered(enum class class) {
    return unlikely(settings.off >> class & 1);
}
void output_add(const char *request); // output.c
void output_begin(void);
void output_end(void);
enum { RANK_VARIABLES = 22 }; // rank.c
void rank_match(const char **values, const char *name, size_t length, const char *value);
void rank_read(const char **values);
size_t rank_room(void);
void text_rank(struct text *text);
void text_conflicting_ranks(struct text *text);
bool is_segment(const char *text);
void job_match(const char *values[JOB_WORDS], const char *name, size_t length, const char *value); // job.c
void job_keep(const char *values[JOB_WORDS]);
void job_note(void);
bool options_read(const char *words); // filter.c
bool limit_add(const char *limit, size_t length);
bool path_filtered(const char *path, size_t length);
bool glob_matches(const char *glob, const char *name);
bool descriptor_filtered(int fd, int dirfd, const char *path);
bool kind_filtered(uint32_t mode);

extern THREAD_LOCAL struct thread *self;   // NULL: none yet, or in a child of vfork
extern THREAD_LOCAL struct thread *lender; // in a child of vfork: the thread whose memory it uses

// children.c: a child by clone with this memory is not recorded. Its thread-local storage may be its parent's.
extern THREAD_LOCAL enum { NOT_MUTED, SHARED_STORAGE, OWN_STORAGE } muted;

// python.c
extern _Atomic bool python_pending;    // a Python without a started layer
extern _Atomic bool libraries_pending; // unfollowed.c: dlopen loaded a library that the shim may not see into
void libraries_look(int api);
extern _Atomic bool loaded_pending; // loaded.c: there is a loaded library that this process did not note
void loaded_note(struct thread *thread);
void loaded_leave(struct thread *thread);
void loaded_changed(void);
void loaded_end(struct thread *thread);
void loaded_after_fork(void);
extern _Atomic int shared_maps;
void shared_maps_inherited(void);
void memory_opened(int api, const char *path, size_t length, int flags);
void python_detect(void);
void python_request(void);

void text_date(struct text *text, struct thread *thread, uint64_t nanoseconds); // text.c

// process.c
bool wake(void);
struct thread *thread_begin(void);
long process_identify(void);
uint64_t start_tick(int pid, uint32_t *parent);
void child_begin(void);
uint64_t child_tick(int pid);
void child_named(void);

// clock.c
void clock_begin(void);
uint64_t boot_tick(void);
uint64_t clock_slow(struct thread *thread);
void clock_stop(struct thread *thread);            // no clock from here on: the last time stays
void clock_without_counter(struct thread *thread); // only with system calls from here on
void clock_resume(void);
uint64_t wall_clock(void);

void memory_ended(void); // live.c: states a Gap

// ---- jumps.c
// Each use of a thread's state is between these two. A signal handler's use is nested in the one it interrupted, unless
// a handler jumped out of that one.

#if defined(__x86_64__)
#define STACK_POINTER(place) asm volatile("movq %%rsp, %0" : "=m"(place))
#elif defined(__aarch64__)
#define STACK_POINTER(place)                                                                                           \
    do {                                                                                                               \
        uintptr_t pointer;                                                                                             \
        asm volatile("mov %0, sp" : "=r"(pointer));                                                                    \
        place = pointer;                                                                                               \
    } while (0)
#else
#define STACK_POINTER(place) ((place) = (uintptr_t)__builtin_frame_address(0))
#endif

void shim_enter_again(struct thread *thread, uintptr_t pointer);
void shim_mend(struct thread *thread, uintptr_t pointer);

static ALWAYS_INLINE void shim_enter(struct thread *thread) {
    if (unlikely(*(volatile int *)&thread->depth != 0)) {
        uintptr_t pointer;
        STACK_POINTER(pointer);
        shim_enter_again(thread, pointer);
        return;
    }
    STACK_POINTER(thread->outer);
    *(volatile int *)&thread->depth = 1;
}

static ALWAYS_INLINE void shim_leave(struct thread *thread) {
    *(volatile int *)&thread->depth -= 1;
}

static inline bool watching(void) {
    return likely(relaxed(process.alive)) || wake();
}

// The level of detail; valid after watching() returned true.
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

#endif
