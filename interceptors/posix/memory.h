// Memory without malloc: pools and buffers.
#ifndef PROVIO_MEMORY_H
#define PROVIO_MEMORY_H

#include "calls.h"

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
    char *_Atomic slabs[28]; // slab i holds 1 << i items
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

#endif
