// Between the files that keep the table of descriptors and what its entries name.
#ifndef PROVIO_TABLE_H
#define PROVIO_TABLE_H

#include "shim.h"

// ---- table.c

struct object *table_set(int fd, struct object *object); // returns what it named before
bool table_add(int fd, struct object *object);           // false: no room, or another thread looked it up meanwhile

// ---- object.c

extern _Atomic uint64_t serials; // how many openings have a number
struct object *object_new(void);
void object_path(struct object *object, const char *path, size_t length);
void object_free(struct object *object);

// Another thread may close the descriptor at any moment, and what was freed may be another opening by now: until it is
// held, nothing but an opening's atomics may be looked at.
static inline bool object_hold(struct object *object) {
    uint64_t count = atomic_load(&object->references);
    while (count != 0)
        if (atomic_compare_exchange_weak(&object->references, &count, count + 1)) return true;
    return false;
}

// Whether turns are followed there: asked where the opening may be another one by now, so kept as an atomic of its own.
static inline void channel_note(struct object *object) {
    bool channel = S_ISFIFO(object->facts.mode) || S_ISSOCK(object->facts.mode);
    atomic_store_explicit(&object->channel, channel, memory_order_relaxed);
}

#endif
