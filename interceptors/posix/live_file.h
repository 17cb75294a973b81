// Of live.c, and of what else has a hand in a live file: chunk.c, unmapped.c, header.c, live_calls.c.
#ifndef PROVIO_LIVE_FILE_H
#define PROVIO_LIVE_FILE_H

#include "shim.h"

enum {
    FIRST_CHUNK = 4096,
    KEPT_BACK = 256, // of each chunk, for a Gap
    CHANGES = 48,    // the first line of a thread file, a comment that holds the number of its changes
};

struct live {
    uint32_t ordinal; // k in its name
    uint32_t next;    // size of the next chunk
    uint64_t size;
    struct chunk *_Atomic chunk;
    _Atomic bool held; // its chunks change, or are written: whoever else needs space takes another file
    bool silent;
    bool of_calls; // `….calls.ttl`
    bool written;  // its file cannot be mapped: see unmapped.c
    long pid;
    struct live *next_written;
    uint64_t changes; // blocks that were committed, and closes
    char *digits;     // of that number in the file; NULL: none
};

static inline bool live_hold(struct live *live) {
    return !atomic_exchange(&live->held, true);
}

static inline void live_release(struct live *live) {
    atomic_store(&live->held, false);
}

static inline const char *ending_of(const struct live *live) {
    return live->of_calls ? ".calls.ttl" : ".ttl";
}

// live.c: `number` and `ordinal` are of the file's name
char *file_name(char *room, uint32_t number, uint32_t ordinal, const char *ending);
bool reserve_or_grow(struct thread *thread, struct live *live, struct block *block, size_t room);
void gap_write(struct thread *thread, struct live *live, long error);
extern struct pool lives;
extern THREAD_LOCAL bool borrowed; // in a vfork's child: it has said its own base in the suspended parent's file

// chunk.c
long chunk_gain(struct live *live, int fd, size_t need); // 0, or why not
void chunks_sweep(struct live *live);

// unmapped.c
bool is_refused(long result);
long chunk_as_memory(struct live *live, int fd, uint32_t size);
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
void text_place(struct text *text, bool own, const char *cwd, size_t cwd_size, const struct mounts *mounts);
long header_gain(struct live *live, struct thread *thread, int fd, char *room, const char *end);

// live_calls.c
struct live *calls_begin(struct thread *thread);

// One instruction, without a lock: only this thread and its handlers reserve here.
static inline uint32_t advance(_Atomic uint32_t *counter, uint32_t amount) {
#if defined(__x86_64__)
    asm volatile("xaddl %0, %1" : "+r"(amount), "+m"(*counter)::"cc");
    return amount;
#else
    return atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
#endif
}

// Blocks with counters are aligned to them.
static inline bool reserve(struct thread *thread, struct live *live, struct block *block, size_t room) {
    uint32_t size = live->of_calls ? (uint32_t)room + 2 : ((uint32_t)room + 2 + 15) & ~15u;
    struct chunk *chunk = atomic_load(&live->chunk);
    if (chunk == NULL || relaxed(chunk->used) + size > chunk->size - KEPT_BACK) return false;
    *(volatile int *)&thread->depth += 1; // until the commit
    uint32_t at = advance(&chunk->used, size);
    if (at + size > chunk->size - KEPT_BACK) {
        *(volatile int *)&thread->depth -= 1;
        return false;
    }
    char *start = chunk->start + at;
    *(volatile char *)(start + size - 1) = '\n';
    if (at > 0) *(volatile char *)(start - 1) = '\n'; // an interrupted reservation before may not have come to it
    atomic_signal_fence(memory_order_seq_cst);
    *block = (struct block){{start + 1, start + size - 1}, start, chunk, thread};
    return true;
}

#endif
