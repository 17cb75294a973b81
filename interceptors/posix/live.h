// The live Turtle file of a thread: blocks that are reserved, filled and committed.
#ifndef PROVIO_LIVE_H
#define PROVIO_LIVE_H

#include "process.h"

// One instruction, so that no signal handler can run in the middle and lose a count.
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
// Before ARMv8.4 a store of 16 bytes may be split in two, and a kill or a reader may come in between. The exclusive
// pair is atomic on every such processor.
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

// A counter that usually grows by one: only its last digit changes then, and the store of a byte is atomic, too. The
// digit is read once: a signal handler may change it in between.
static inline void store_grown(char *digits, uint64_t value, bool by_one) {
    char last = *(volatile char *)&digits[15];
    if (likely(by_one && last != '9'))
        *(volatile char *)&digits[15] = (char)(last + 1);
    else
        store_digits(digits, value);
}

#define AS_IT_IS(counter) (*(volatile uint64_t *)&(counter))

// ---- live.c: the live Turtle file

// A file of a thread: it continues in the next one before it gets too large.
struct trace_file {
    uint32_t number;  // m in its name; 0: the first
    uint64_t changes; // number of committed blocks
    char *digits;     // of `changes` in the file; NULL: none
};

struct chunk {
    uint32_t size; // usable bytes
    _Atomic uint32_t used;
    uint32_t accesses; // that still count in it
    uint32_t whole;
    char *start;
    struct chunk *older;
    struct trace_file *file;
    uint64_t offset; // in the file
};

struct block {
    struct text text;
    char *start;
    struct chunk *chunk;
    struct thread *thread;
};

// A line of counters that an opening no longer needs: the next one with the same counters uses it again.
struct slot {
    char *at; // the digits of its opening
    struct chunk *chunk;
};

bool block_begin(struct thread *thread, struct block *block, size_t room);
// The number of blocks in the file, stored after each commit: a file with fewer blocks has lost some.
void chunk_changed(const struct chunk *chunk);
static inline bool block_store(struct block *block) {
    // A text that fills its space completely may be truncated: it stays a comment.
    bool complete = likely(block->text.at < block->text.end);
    if (complete) __atomic_store_n(block->start, ' ', __ATOMIC_RELEASE);
    return complete;
}
// The space after the text, if no signal handler has reserved the bytes behind it. Its newline becomes a `#` again:
// texts that are written from their end to their start must not have one inside.
static inline void block_give_back(const struct block *block) {
    struct chunk *chunk = block->chunk;
    uint32_t start = (uint32_t)(block->start - chunk->start),
             reserved = start + (uint32_t)(block->text.end + 1 - block->start);
    uint32_t needed = start + (((uint32_t)(block->text.at - block->start) + 1 + 15) & ~15u);
    if (needed >= reserved) return;
    volatile char *end = chunk->start + reserved - 1;
    *(volatile char *)(chunk->start + needed - 1) = '\n';
    if (relaxed(chunk->used) != reserved) return;
    *end = '#';
    atomic_signal_fence(memory_order_seq_cst);
    if (!atomic_compare_exchange_strong_explicit(&chunk->used, &reserved, needed, memory_order_relaxed,
                                                 memory_order_relaxed))
        *end = '\n'; // a signal handler was faster
}
static inline void block_commit(struct block *block) {
    if (block_store(block)) {
        chunk_changed(block->chunk);
        block_give_back(block);
    }
    shim_leave(block->thread);
}
// The number of a block's file << 32, and its offset there.
static inline uint64_t block_place(const struct block *block) {
    const struct chunk *chunk = block->chunk;
    return ((uint64_t)chunk->file->number << 32) + chunk->offset + (uint64_t)(block->start - chunk->start);
}
// The reserved space stays a comment.
static inline void block_drop(struct block *block) {
    shim_leave(block->thread);
}
bool line_begin(struct thread *thread, struct block *block, size_t size);
void line_end(struct thread *thread, struct block *block);
void live_sweep(struct thread *thread);
void live_gain_ahead(struct thread *thread, uint32_t size);
bool slot_take(struct thread *thread, unsigned kind, struct slot *slot);
void slot_give(struct thread *thread, unsigned kind, char *at, struct chunk *chunk);
void base_return(struct thread *thread);
void live_lost(void);
int base_ordinal(const struct thread *thread);
bool live_ready(struct thread *thread);

enum {
    FIRST_CHUNK = 4096,
    KEPT_BACK = 256, // reserved for a Gap at the end of each chunk
    CHANGES = 48,    // size of the first line of a thread file: a comment with the number of its changes
};

#ifndef LARGEST_FILE
#define LARGEST_FILE (480u << 20) // bytes; a thread continues in another file before
#endif

enum { SLOT_KINDS = 10, FREE_SLOTS = 4 };

struct live {
    uint32_t ordinal; // k in its name
    uint32_t next;    // size of the next chunk
    uint64_t size;    // of its last file
    struct trace_file *file;
    struct chunk *_Atomic chunk;
    // The thread that changes or writes its chunks; others that need space use another file.
    const struct thread *_Atomic holder;
    bool silent;
    bool of_calls; // `….calls.ttl`
    bool written;  // its file cannot be mapped: chunk.c
    bool lost;     // a write of its file failed; there is a Gap
    long pid;
    struct live *next_written;
    struct slot slots[SLOT_KINDS][FREE_SLOTS];
    uint8_t free_slots[SLOT_KINDS];
};

bool live_hold(struct live *live);

static inline void live_release(struct live *live) {
    atomic_store(&live->holder, NULL);
}

// If this thread holds it.
static inline void live_release_of(struct live *live, const struct thread *thread) {
    const struct thread *holder = thread;
    if (live != NULL) atomic_compare_exchange_strong(&live->holder, &holder, NULL);
}

static inline const char *ending_of(const struct live *live) {
    return live->of_calls ? ".calls.ttl" : ".ttl";
}

// trace_files.c; `number`, `ordinal` and `part` are in the file name
char *file_name(char *room, uint32_t number, uint32_t ordinal, uint32_t part, const char *ending);
long file_create(char *room, uint32_t number, uint32_t ordinal, uint32_t part, const char *ending);
long file_claim(struct live *live, struct thread *thread, char *room);
void file_unmake(struct thread *thread);
void file_list(const char *path);

// A file next to the thread files, written once in a run.
struct side_file {
    char *path;
    size_t room;
    struct text text;
    char *start;
};
bool side_file_begin(struct side_file *file, const char *kind, const char *key, size_t room);
void side_file_end(struct side_file *file);

// chunk.c
void lives_write(void);
bool live_is_written(const struct live *live); // its file cannot be mapped
void live_write_now(struct live *live);
bool size_allowed(uint64_t size); // of a file
// The next chunk; until it is published, nothing is reserved in it. Returns 0 or a negative errno.
long chunk_new(struct live *live, int fd, size_t need, struct chunk **made);
void chunk_publish(struct live *live, struct chunk *chunk);
long chunk_gain(struct live *live, int fd, size_t need);
struct trace_file *trace_file_new(uint32_t number);
void chunks_sweep(struct live *live);

bool chunk_open_for(struct chunk *chunk, size_t room);
void live_write(struct live *live);

// header.c
#define PREFIXES                                                                                                       \
    "@prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "                 \
    "@prefix : <https://w3id.org/provio/ns#> ."
enum { THREAD_ROOM = 128, PREFIX_ROOM = 256 };
size_t base_room(void);
size_t process_room(void);
void text_base(struct text *text, uint32_t pid, uint64_t tick, int64_t number, int ordinal);
void text_thread(struct text *text, int tid, uint64_t epoch);
void text_process(struct text *text, const char *image, uint32_t pid, uint64_t tick, uint32_t parent, uint64_t started);
void text_place(struct text *text, bool own, const char *cwd, size_t cwd_size);
void text_host(struct text *text);
void text_mounts(struct text *text); // if they are not those of the run
long header_gain(struct live *live, struct thread *thread, int fd, char *room, const char *end);

// One instruction, without a lock: only this thread and its signal handlers reserve here.
static inline uint32_t advance(_Atomic uint32_t *counter, uint32_t amount) {
#if defined(__x86_64__)
    asm volatile("xaddl %0, %1" : "+r"(amount), "+m"(*counter)::"cc");
    return amount;
#else
    return atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
#endif
}

// Blocks with counters are aligned to them.
static inline uint32_t aligned_size(size_t room) {
    return ((uint32_t)room + 2 + 15) & ~15u;
}

static inline bool reserve(struct thread *thread, struct live *live, struct block *block, size_t room) {
    uint32_t size = live->of_calls ? (uint32_t)room + 2 : aligned_size(room);
    struct chunk *chunk = atomic_load(&live->chunk);
    if (chunk == NULL || relaxed(chunk->used) + size > chunk->size - KEPT_BACK) return false;
    shim_enter(thread); // until the commit
    uint32_t at = advance(&chunk->used, size);
    if (at + size > chunk->size - KEPT_BACK) {
        shim_leave(thread);
        return false;
    }
    char *start = chunk->start + at;
    *(volatile char *)(start + size - 1) = '\n';
    if (at > 0) *(volatile char *)(start - 1) = '\n'; // an interrupted reservation may not have written it
    atomic_signal_fence(memory_order_seq_cst);
    *block = (struct block){{start + 1, start + size - 1}, start, chunk, thread};
    return true;
}

// unclosed.c
void gaps_changed(int change);

#endif
