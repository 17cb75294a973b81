// The live Turtle file: blocks that are begun, filled and committed.
#ifndef PROVIO_LIVE_H
#define PROVIO_LIVE_H

#include "thread.h"

// ---- live.c: the live Turtle file

struct chunk {
    uint32_t size; // that may be used by now
    _Atomic uint32_t used;
    uint32_t accesses; // that still count in it
    uint32_t whole;
    char *start;
    struct chunk *older;
    uint64_t offset; // in the file
};

struct block {
    struct text text;
    char *start;
    struct chunk *chunk;
    struct thread *thread;
};

void lives_write(void);
bool block_begin(struct thread *thread, struct block *block, size_t room);
// Readers see by a number in the file that it has something new.
void live_changed(const struct thread *thread);
static inline void block_store(struct block *block) {
    // A text that filled its room to the end may have been cut: it stays a comment.
    if (likely(block->text.at < block->text.end)) __atomic_store_n(block->start, ' ', __ATOMIC_RELEASE);
}
static inline void block_commit(struct block *block) {
    block_store(block);
    live_changed(block->thread);
    *(volatile int *)&block->thread->depth -= 1;
}
// Where a block lies in its file.
static inline uint64_t block_offset(const struct block *block) {
    return block->chunk->offset + (uint64_t)(block->start - block->chunk->start);
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
bool live_is_written(const struct live *live); // its file cannot be mapped: unmapped.c
void live_write_now(struct live *live);
bool size_allowed(uint64_t size); // of a file: chunk.c

#endif
