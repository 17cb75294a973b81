// Shared maps of files that are writable, or can become so: each holds a reference to its opening until its last part
// is unmapped.
#include "rows.h"

struct map {
    _Atomic uintptr_t address;
    _Atomic size_t size;
    struct object *object;
    _Atomic uint64_t event; // the event of the Map, 0: its parent's; read while another thread uses the entry
    _Atomic int ordinal;
    bool writable;
    uintptr_t was;
    struct map *next; // list of the maps that one call ends
};

enum { FIRST_MAPS = 256, MAP_SLABS = 10, FREE = 0, HELD = 1 }; // values of `address` that are no addresses

static EARLY struct map *_Atomic slabs[MAP_SLABS]; // slab i has 256 << i entries
static EARLY _Atomic int followed, protected;      // protected: not writable yet

static bool maps_any(void) {
    return relaxed(followed) > 0 && lender == NULL;
}

static struct map *slab(int i, bool make) {
    struct map *maps = atomic_load(&slabs[i]);
    if (maps != NULL || !make) return maps;
    struct map *made = arena_take(sizeof *made * ((size_t)FIRST_MAPS << i));
    if (made != NULL && atomic_compare_exchange_strong(&slabs[i], &maps, made)) maps = made;
    return maps;
}

#define EACH_MAP(each)                                                                                                 \
    for (int i = 0; i < MAP_SLABS; i++)                                                                                \
        for (struct map *each = slab(i, false), *slab_end = each == NULL ? NULL : each + (FIRST_MAPS << i);            \
             each != slab_end; each++)

// The writable maps that a child inherits are known from its parent's record.
void maps_after_fork(void) {
    int kept = 0;
    EACH_MAP(map) {
        if (relaxed(map->address) > HELD && !map->writable) {
            object_inherit(map->object);
            map->event = 0;
            kept++;
        } else {
            atomic_store(&map->address, FREE);
        }
    }
    atomic_store(&followed, kept);
    atomic_store(&protected, kept);
}

static size_t whole_pages(size_t size) {
    return (size + PAGE - 1) & -(size_t)PAGE;
}

static void map_follow(void *address, size_t size, const struct map *like) {
    for (int i = 0; i < MAP_SLABS; i++) {
        struct map *maps = slab(i, true);
        for (int j = 0; maps != NULL && j < FIRST_MAPS << i; j++) {
            uintptr_t free = FREE;
            if (relaxed(maps[j].address) != FREE || !atomic_compare_exchange_strong(&maps[j].address, &free, HELD))
                continue;
            atomic_fetch_add(&like->object->references, (uint64_t)MAP_REFERENCE << 32);
            maps[j].object = like->object;
            maps[j].event = like->event;
            maps[j].ordinal = like->ordinal;
            maps[j].writable = like->writable;
            maps[j].size = whole_pages(size);
            atomic_store(&maps[j].address, (uintptr_t)address);
            atomic_fetch_add(&followed, 1);
            if (!like->writable) atomic_fetch_add(&protected, 1);
            return;
        }
    }
}

static bool hold(struct map *map, uintptr_t start, uintptr_t end, uintptr_t *address) {
    *address = relaxed(map->address);
    if (*address <= HELD || *address >= end || *address + map->size <= start) return false;
    if (!atomic_compare_exchange_strong(&map->address, address, HELD)) return false;
    if (*address + map->size > start) return true; // the size may have been another entry's until now
    atomic_store(&map->address, *address);
    return false;
}

static bool map_at(const void *address, struct map *found) {
    uintptr_t start = (uintptr_t)address, at;
    EACH_MAP(map) {
        if (!hold(map, start, start + 1, &at)) continue;
        atomic_fetch_add(&map->object->references, (uint64_t)MAP_REFERENCE << 32);
        found->object = map->object;
        found->event = map->event;
        found->ordinal = map->ordinal;
        found->writable = map->writable;
        atomic_store(&map->address, at);
        return true;
    }
    return false;
}

// Remove a range from all maps before the call, because afterwards another map may have the addresses.
static struct map *maps_cut(const void *address, size_t size) {
    uintptr_t start = (uintptr_t)address, end = start + whole_pages(size), at;
    struct map *cut = NULL;
    EACH_MAP(map) {
        if (!hold(map, start, end, &at)) continue;
        size_t before = at < start ? start - at : 0, after = at + map->size > end ? at + map->size - end : 0;
        if (before > 0 && after > 0) map_follow((void *)end, after, map);
        if (before > 0 || after > 0) {
            map->size = before > 0 ? before : after;
            atomic_store(&map->address, before > 0 ? at : end);
        } else {
            map->was = at;
            map->next = cut;
            cut = map;
        }
    }
    return cut;
}

// After a failed call.
static void maps_restore(struct map *cut) {
    for (struct map *map = cut, *next; map != NULL; map = next) {
        next = map->next;
        atomic_store(&map->address, map->was);
    }
}

static bool has_parts(const struct map *cut) {
    EACH_MAP(map) {
        if (atomic_load(&map->address) <= HELD) continue;
        if (relaxed(map->event) == relaxed(cut->event) && relaxed(map->ordinal) == relaxed(cut->ordinal)) return true;
    }
    return false;
}

static void maps_end(int api, struct map *cut, uint64_t started) {
    for (struct map *map = cut, *next; map != NULL; map = next) {
        next = map->next;
        struct facts facts;
        struct object *object = map->object;
        if (map->event != 0 && !has_parts(map)) {
            bool known = object->path != NULL && statx_facts(AT_FDCWD, object->path, 0, &facts) &&
                         facts.inode == object->facts.inode;
            event_unmap(api, map->ordinal, map->event, known ? &facts : NULL, started);
        }
        if (!map->writable) atomic_fetch_sub(&protected, 1);
        atomic_store(&map->address, FREE);
        atomic_fetch_sub(&followed, 1);
        bool last = relaxed(object->references) == (uint64_t)MAP_REFERENCE << 32;
        if (last && relaxed(object->unclosed) != 0) unclosed_remove(object);
        object_release(object, (uint64_t)MAP_REFERENCE << 32);
    }
}

// ---- the calls

// A shared map of it is memory without a file.
static bool is_zero_device(const struct object *object) {
    return object->path != NULL && strcmp(object->path, "/dev/zero") == 0;
}

static void *watched_mmap(int api, void *(*real)(void *, size_t, int, int, int, off64_t), void *address, size_t size,
                          int protection, int flags, int fd, off64_t offset) {
    bool of_file = fd >= 0 && !(flags & MAP_ANONYMOUS), replaces = (flags & MAP_FIXED) && maps_any();
    struct thread *thread = !(of_file || replaces) || !watching() ? NULL : thread_self();
    struct object *object = thread != NULL && of_file ? object_of(fd) : &ignored;
    const bool for_children = (flags & (MAP_ANONYMOUS | MAP_TYPE)) == (MAP_ANONYMOUS | MAP_SHARED);
    if (thread == NULL || (object == &ignored && !replaces)) {
        if (likely(!for_children)) return real(address, size, protection, flags, fd, offset);
        return shared_map_made(real(address, size, protection, flags, fd, offset));
    }
    bool shared = (flags & MAP_TYPE) != MAP_PRIVATE, writable = protection & PROT_WRITE;
    bool lasting = shared && lender == NULL && (writable || open_mode(fd) == O_RDWR);
    struct object *held = object != &ignored && lasting ? object_kept(fd) : NULL;
    uint64_t started = now(thread);
    struct map *cut = replaces ? maps_cut(address, size) : NULL;
    void *result = real(address, size, protection, flags, fd, offset);
    if (result == MAP_FAILED) {
        maps_restore(cut);
        access_failed(thread, object, api, started);
    } else {
        maps_end(api, cut, started);
        if (for_children || (held != NULL && held != &ignored && is_zero_device(held))) shared_map_made(result);
        uint64_t event = object == &ignored ? 0 : event_map(api, object, size, protection, shared, started);
        const struct map map = {.object = object, .event = event, .ordinal = thread->ordinal, .writable = writable};
        if (event != 0 && held == object) map_follow(result, size, &map);
    }
    object_release(held, 1);
    return result;
}
#define MMAP_PARAMETERS (void *address, size_t size, int protection, int flags, int fd, off64_t offset)
FORWARD(mmap, void *, MMAP_PARAMETERS, watched_mmap, address, size, protection, flags, fd, offset)
FORWARD(mmap64, void *, MMAP_PARAMETERS, watched_mmap, address, size, protection, flags, fd, offset)
FORWARD(__mmap, void *, MMAP_PARAMETERS, watched_mmap, address, size, protection, flags, fd, offset)

static int watched_munmap(int api, int (*real)(void *, size_t), void *address, size_t size) {
    struct thread *thread = watching() && maps_any() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    struct map *cut = thread == NULL ? NULL : maps_cut(address, size);
    int result = real(address, size);
    if (unlikely(relaxed(shared_maps) > 0) && result == 0) shared_map_ended(address);
    if (thread == NULL) return result;
    if (result != 0)
        maps_restore(cut);
    else
        maps_end(api, cut, started);
    return result;
}
FORWARD(munmap, int, (void *address, size_t size), watched_munmap, address, size)
FORWARD(__munmap, int, (void *address, size_t size), watched_munmap, address, size)

// A moved map is followed at its new address; the previous maps there are unmapped.
void *provio_mremap(void *address, size_t size, size_t new_size, int flags, void *new_address) {
    struct thread *thread = watching() && maps_any() ? thread_self() : NULL;
    if (thread == NULL) return REAL(mremap)(address, size, new_size, flags, new_address);
    struct map moved;
    uint64_t started = now(thread);
    bool known = map_at(address, &moved), stays = size == 0 || (flags & MREMAP_DONTUNMAP);
    struct map *over = flags & MREMAP_FIXED ? maps_cut(new_address, new_size) : NULL;
    struct map *from = known && !stays ? maps_cut(address, size) : NULL;
    void *result = REAL(mremap)(address, size, new_size, flags, new_address);
    if (result == MAP_FAILED) {
        maps_restore(over);
        maps_restore(from);
    } else {
        if (known) map_follow(result, new_size, &moved);
        maps_end(API_mremap, from, started);
        maps_end(API_mremap, over, started);
    }
    if (known) object_release(moved.object, (uint64_t)MAP_REFERENCE << 32);
    return result;
}

// Maps of the range that become writable are recorded again.
void map_protected(int api, const void *address, size_t size, int protection, uint64_t started) {
    struct thread *thread = (protection & PROT_WRITE) && relaxed(protected) > 0 && maps_any() ? thread_self() : NULL;
    uintptr_t start = (uintptr_t)address, end = start + whole_pages(size), at;
    if (thread == NULL) return;
    EACH_MAP(map) {
        if (!hold(map, start, end, &at)) continue;
        if (!map->writable) {
            const struct map before = {.event = map->event, .ordinal = map->ordinal};
            if (relaxed(map->object->serial) == 0) object_announce(thread, map->object, -1);
            map->event = event_map(api, map->object, map->size, protection, true, started);
            map->ordinal = thread->ordinal;
            map->writable = true;
            atomic_fetch_sub(&protected, 1);
            if (before.event != 0 && !has_parts(&before)) event_unmap(api, before.ordinal, before.event, NULL, started);
        }
        atomic_store(&map->address, at);
    }
}

// When a call that may make maps writable starts; 0: it makes none writable.
static uint64_t protect_started(int protection) {
    if (likely(relaxed(protected) == 0) || !(protection & PROT_WRITE) || !watching()) return 0;
    struct thread *thread = thread_self();
    return thread == NULL ? 0 : now(thread);
}

static int watched_mprotect(int api, int (*real)(void *, size_t, int), void *address, size_t size, int protection) {
    uint64_t started = protect_started(protection);
    if (likely(started == 0)) return real(address, size, protection);
    int result = real(address, size, protection);
    if (result == 0) map_protected(api, address, size, protection, started);
    return result;
}
FORWARD(mprotect, int, (void *address, size_t size, int protection), watched_mprotect, address, size, protection)
FORWARD(__mprotect, int, (void *address, size_t size, int protection), watched_mprotect, address, size, protection)

int provio_pkey_mprotect(void *address, size_t size, int protection, int key) {
    uint64_t started = protect_started(protection);
    int result = REAL(pkey_mprotect)(address, size, protection, key);
    if (started != 0 && result == 0) map_protected(API_pkey_mprotect, address, size, protection, started);
    return result;
}

int provio_msync(void *address, size_t size, int flags) {
    struct thread *thread = watching() && maps_any() ? thread_self() : NULL;
    struct map map;
    if (thread == NULL || !map_at(address, &map)) return REAL(msync)(address, size, flags);
    uint64_t started = now(thread);
    int result = REAL(msync)(address, size, flags);
    if (result == 0 && relaxed(map.object->serial) != 0)
        count_operation(thread, map.object, TERM_Fsync, API_msync, 0, started);
    else if (result != 0)
        access_failed(thread, map.object, API_msync, started);
    object_release(map.object, (uint64_t)MAP_REFERENCE << 32);
    return result;
}
