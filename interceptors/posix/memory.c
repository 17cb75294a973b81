// Memory without malloc: a region to allocate from and pools of equal items, both lock-free. Nothing is ever unmapped.
#include "process.h"

enum { FIRST_REGION = 1 << 15, REGION = 1 << 20 };

// One: the first items of all pools are then next to each other, on few pages, and a page fault costs more than ten
// calls.
enum { FIRST_SLAB = 1 };

struct region {
    char *start;
    size_t size;
    _Atomic size_t used;
};

// Two regions, so that small items are next to each other: of an item that takes pages, usually only the start is
// touched.
enum { SMALL, LARGE, SIZES };
static _Alignas(PAGE) char first_bytes[SIZES][FIRST_REGION];
static struct region first[SIZES] = {{first_bytes[SMALL], FIRST_REGION, 0}, {first_bytes[LARGE], FIRST_REGION, 0}};
static struct region *_Atomic current[SIZES] = {&first[SMALL], &first[LARGE]};

// Counts mappings and unmappings. The kernel orders the reuse of an address by another thread, but ThreadSanitizer
// cannot see that order in raw system calls; it sees this counter.
static EARLY _Atomic unsigned changes;

long memory_map(size_t size, long flags, long fd, long offset) {
    long address = RAW(mmap, 0, (long)size, PROT_READ | PROT_WRITE, flags, fd, offset);
    atomic_fetch_add_explicit(&changes, 1, memory_order_acq_rel);
    return address;
}

void memory_unmap(void *start, size_t size) {
    atomic_fetch_add_explicit(&changes, 1, memory_order_acq_rel);
    RAW(munmap, (long)start, (long)size);
}

static void *map(size_t size) {
    long address = memory_map(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return address < 0 && address > -PAGE ? NULL : (void *)address;
}

// The record is incomplete from here on.
static __attribute__((cold, noinline)) void *none_left(void) {
    memory_ended();
    return NULL;
}

// A region left over when two threads made one at the same time; used for the next request.
static struct region *_Atomic spare;

static struct region *region_new(void) {
    struct region *fresh = atomic_exchange(&spare, NULL);
    if (fresh == NULL && (fresh = map(REGION)) == NULL) return NULL;
    fresh->start = (char *)fresh;
    fresh->size = REGION;
    atomic_store(&fresh->used, 64);
    return fresh;
}

static void region_offer(struct region *_Atomic *place, struct region *before, struct region *fresh) {
    if (atomic_compare_exchange_strong(place, &before, fresh)) return;
    struct region *kept = atomic_exchange(&spare, fresh);
    if (kept != NULL) memory_unmap(kept, REGION);
}

void *arena_take(size_t size) {
    struct region *_Atomic *place = &current[size >= PAGE];
    size = (size + 63) & ~(size_t)63;
    if (size > REGION / 8) {
        void *made = map(size);
        return made == NULL ? none_left() : made;
    }
    for (;;) {
        struct region *region = atomic_load(place);
        size_t at = atomic_fetch_add(&region->used, size);
        if (at + size <= region->size) return region->start + at;
        struct region *fresh = region_new();
        if (fresh == NULL) return none_left();
        region_offer(place, region, fresh);
    }
}

// Make a new region if the current one is more than half full, because later there may be no memory.
void memory_gain_ahead(void) {
    for (int i = 0; i < SIZES; i++) {
        struct region *region = atomic_load(&current[i]);
        if (region->size == REGION && atomic_load(&region->used) < REGION / 2) continue;
        struct region *fresh = region_new();
        if (fresh != NULL) region_offer(&current[i], region, fresh);
    }
}

// Two threads may do this at the same time; then the memory of one stays unused.
static __attribute__((noinline)) char *slab_new(struct pool *pool, unsigned slab) {
    char *items = NULL, *made = arena_take((size_t)pool->size * (FIRST_SLAB << slab));
    return made == NULL || atomic_compare_exchange_strong(&pool->slabs[slab], &items, made) ? made : items;
}

static ALWAYS_INLINE void *item_at(struct pool *pool, uint32_t index) {
    unsigned slab = 31 - (unsigned)__builtin_clz(index / FIRST_SLAB + 1);
    uint32_t before = FIRST_SLAB * ((1u << slab) - 1);
    if (slab >= sizeof pool->slabs / sizeof *pool->slabs) return none_left();
    char *items = atomic_load(&pool->slabs[slab]);
    if (unlikely(items == NULL) && (items = slab_new(pool, slab)) == NULL) return NULL;
    return items + (size_t)(index - before) * pool->size + pool->lead;
}

struct tail {
    _Atomic uint32_t next; // index + 1 of the next free item
    uint32_t index;
    uint64_t unused;
};

static struct tail *tail_of(struct pool *pool, void *item) {
    return (struct tail *)((char *)item + pool->own);
}

void *pool_take(struct pool *pool) {
    uint64_t head = atomic_load(&pool->head);
    while ((uint32_t)head != 0) {
        void *item = item_at(pool, (uint32_t)head - 1);
        uint32_t next = relaxed(tail_of(pool, item)->next);
        if (atomic_compare_exchange_weak(&pool->head, &head, ((head >> 32) + 1) << 32 | next)) return item;
    }
    uint32_t index = atomic_fetch_add(&pool->made, 1);
    void *item = item_at(pool, index);
    if (item != NULL) tail_of(pool, item)->index = index;
    return item;
}

void pool_give(struct pool *pool, void *item) {
    struct tail *tail = tail_of(pool, item);
    uint64_t head = atomic_load(&pool->head), mine;
    do {
        atomic_store_explicit(&tail->next, (uint32_t)head, memory_order_relaxed);
        mine = ((head >> 32) + 1) << 32 | (tail->index + 1);
    } while (!atomic_compare_exchange_weak(&pool->head, &head, mine));
}

// Usually only the start of a scratch buffer is used: so the pool's own bytes are before it, on the same page.
struct pool scratches = {.size = PATH_ROOM + 64, .own = -64, .lead = 64};
