// The state of the process and of its threads, the settings, and the clock.
#ifndef PROVIO_PROCESS_H
#define PROVIO_PROCESS_H

#include "text.h"

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
    _Atomic uint8_t inherited; // the Task is left when it ends: task.c
    uint64_t scope;            // the Task; 0: none
    struct thread *older;      // of all that were made
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
    _Atomic uint64_t tick;        // 0: the process has not been named yet
    uint64_t started, known_tick; // the latter: where the fork told it
    uint32_t forked;
    _Atomic uint64_t reported[8];      // system calls that a Gap was left for
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

// The classes of record that can be left out, in the order of filter.c's words.
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
    const char *run, *host, *home, *folder, *layer; // layer: what provio puts into a Python; NULL: this is none
    size_t home_length, folder_length, layer_length;
    bool watched, time_stamp_counter, stat, list; // the last two: classes that are recorded only when asked for
    bool limited;                                 // there are paths that are left out
    bool wipes;                                   // the kernel wipes the page of the process in each child
    uint32_t off;                                 // classes that are left out, a bit each
    enum detail detail;
    char *arguments, *arguments_end;
    uint32_t rank, ranked, world_size; // its number in a parallel program, whether it has one; of how many, 0: not said
    const char *launcher;              // who says so
    const char *conflicting[2];        // the variables whose numbers contradict each other; NULL: none do
    char program[96];                  // the name of that program, as its launcher gives it; may be none
    char job[JOB_WORDS][48];           // what the batch system calls the job that it is part of; empty: of none
    const char *own_job;               // the run's own; NULL: none
    char **environment;                // as the kernel laid it out
    uint64_t mounts;                   // the mount namespace of what watches; 0: not told
} settings;

static inline bool filtered(enum class class) {
    return unlikely(settings.off >> class & 1);
}
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
bool descriptor_filtered(int fd, int dirfd, const char *path);
bool kind_filtered(uint32_t mode);

extern THREAD_LOCAL struct thread *self;   // NULL: none yet, or in a vfork's child
extern THREAD_LOCAL struct thread *lender; // in a vfork's child: the thread whose memory it borrows

extern THREAD_LOCAL enum { HEARD, FORGETS, LEAVES } muted; // children.c: not to be told apart from another process
void vfork_begin(void);
int vfork_end(int api, int pid);

extern _Atomic bool python_pending; // python.c: a Python that has not begun yet
void python_detect(void);
void python_request(void);

void text_date(struct text *text, struct thread *thread, uint64_t nanoseconds);
bool wake(void);
struct thread *thread_begin(void);
long process_identify(void);
uint64_t start_tick(int pid, uint32_t *parent);
void child_begin(void);
uint64_t child_tick(int pid);
void child_named(void);
uint64_t boot_tick(void);
uint64_t clock_slow(struct thread *thread);
void clock_stop(struct thread *thread);            // no clock at all from here on: the last time stays
void clock_without_counter(struct thread *thread); // only by system calls
void clock_resume(void);
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

#endif
