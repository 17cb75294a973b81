// Maintains the run's list of unclosed openings for writing: an opening is added when it is recorded, and removed when
// its close is recorded.
//
// A killed process leaves its entries. All processes of the run on this host share the list: an entry is claimed by one
// atomic exchange of its state, so that no two processes take the same one. If there is no free entry, the opening is
// not listed, and merge examines it.
#include "object.h"

#include "unclosed.h"

enum { FIRST_SPACE = PAGE, MORE_SPACE = 16 * PAGE };

static EARLY struct unclosed_list *_Atomic list; // a forked child shares it
static EARLY _Atomic bool unavailable;
static EARLY _Atomic uint32_t space; // entries for which the file had space when this process read its size

static long list_open(int flags) {
    char *room = pool_take(&scratches);
    if (room == NULL) return -ENOMEM;
    struct text text = {room, room + PATH_ROOM - 1};
    text_string(&text, settings.folder);
    TEXT(&text, "/" UNCLOSED_FILE);
    *text.at = '\0';
    long fd = RAW(openat, AT_FDCWD, (long)room, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    pool_give(&scratches, room);
    return fd;
}

static void space_note(const struct facts *facts) {
    uint64_t size = facts->size < UNCLOSED_SIZE ? facts->size : UNCLOSED_SIZE;
    atomic_store(&space, (uint32_t)(size / sizeof(struct unclosed_entry)) - 1);
}

// The caller has checked that the file has its first page, which contains the identity.
static bool list_map(long fd) {
    struct unclosed_list *before = NULL;
    struct facts facts;
    if (!statx_facts((int)fd, "", AT_EMPTY_PATH, &facts)) return false;
    long start = memory_map(UNCLOSED_SIZE, MAP_SHARED, fd, 0);
    if (start < 0 && start > -PAGE) return false;
    struct unclosed_list *mapped = (struct unclosed_list *)start;
    atomic_store_explicit(&mapped->inode, facts.inode, memory_order_relaxed);
    atomic_store_explicit(&mapped->device_major, facts.device_major, memory_order_relaxed);
    atomic_store_explicit(&mapped->device_minor, facts.device_minor, memory_order_relaxed);
    if (!atomic_compare_exchange_strong(&list, &before, mapped))
        memory_unmap(mapped, UNCLOSED_SIZE);
    else
        space_note(&facts);
    return true;
}

// The run folder may have been moved or copied since, so that the name leads to another file.
static bool is_mapped(long fd) {
    const struct unclosed_list *mapped = atomic_load(&list);
    struct facts facts;
    return statx_facts((int)fd, "", AT_EMPTY_PATH, &facts) && facts.inode == relaxed(mapped->inode) &&
           facts.device_major == relaxed(mapped->device_major) && facts.device_minor == relaxed(mapped->device_minor);
}

// Make space for more entries. It is allocated before its use, because a store into a hole of the file or beyond its
// end would kill the program. Allocating it twice changes nothing.
static bool list_grow(uint32_t entries) {
    bool first = entries == 0;
    uint64_t offset = first ? 0 : (entries + 1) * sizeof(struct unclosed_entry);
    uint64_t size = first ? FIRST_SPACE : MORE_SPACE;
    if (size > UNCLOSED_SIZE - offset) size = UNCLOSED_SIZE - offset;
    long fd = size == 0 || !size_allowed(offset + size) ? -1 : list_open(first ? O_CREAT : 0);
    if (fd < 0) return false;
    bool grown = (first || is_mapped(fd)) && RAW(fallocate, fd, 0, (long)offset, (long)size) == 0;
    if (grown && first) grown = list_map(fd);
    RAW(close, fd);
    if (!grown) return false;
    struct unclosed_list *known = atomic_load(&list);
    uint32_t least = (uint32_t)((offset + size) / sizeof(struct unclosed_entry)) - 1;
    for (uint32_t now = atomic_load(&known->entries); now < least;)
        if (atomic_compare_exchange_weak(&known->entries, &now, least)) break;
    return true;
}

static __attribute__((noinline)) uint32_t space_read(void) {
    struct facts facts;
    long fd = list_open(0);
    if (fd < 0) return relaxed(space);
    if (is_mapped(fd) && statx_facts((int)fd, "", AT_EMPTY_PATH, &facts) && facts.size >= FIRST_SPACE)
        space_note(&facts);
    RAW(close, fd);
    return relaxed(space);
}

// Another process may have grown the file. Any can store a wrong number, and an access beyond the end of the file would
// kill this program.
static uint32_t entries_of(struct unclosed_list *known) {
    uint32_t entries = atomic_load(&known->entries), there = relaxed(space);
    if (unlikely(entries > there)) there = space_read();
    return entries < there ? entries : there;
}

static struct unclosed_list *list_get(void) {
    if (likely(atomic_load(&list) != NULL)) return atomic_load(&list);
    if (!atomic_load(&unavailable) && !list_grow(0)) atomic_store(&unavailable, true);
    return atomic_load(&list);
}

static struct unclosed_entry *entry_claim_from(struct unclosed_list *known, uint32_t at) {
    for (uint32_t entries = entries_of(known); at < entries; at++) {
        uint32_t state = UNCLOSED_FREE;
        if (relaxed(known->entry[at].state) != UNCLOSED_FREE) continue;
        if (!atomic_compare_exchange_strong(&known->entry[at].state, &state, UNCLOSED_CLAIMED)) continue;
        atomic_store_explicit(&known->first, at + 1, memory_order_relaxed);
        return &known->entry[at];
    }
    return NULL;
}

// Search from the first entry that may be free; before the list grows, from the start, because concurrent changes of
// `first` may have skipped some.
static struct unclosed_entry *entry_claim(struct unclosed_list *known) {
    struct unclosed_entry *entry = entry_claim_from(known, relaxed(known->first));
    while (entry == NULL) {
        uint32_t entries = entries_of(known);
        if (entries == UNCLOSED_ENTRIES || (entry = entry_claim_from(known, 0)) != NULL) break;
        if (!list_grow(entries)) break;
        entry = entry_claim_from(known, entries);
    }
    return entry;
}

static struct unclosed_entry *entry_add(struct unclosed_list *known, uint32_t state, const struct facts *facts,
                                        uint64_t serial, const struct live *live, uint64_t place) {
    struct unclosed_entry *entry = known == NULL ? NULL : entry_claim(known);
    if (entry == NULL) return NULL;
    entry->pid = process.pid;
    entry->tick = process.tick;
    entry->image = relaxed(process.number) - 1;
    entry->thread = live->ordinal;
    entry->place = place;
    entry->serial = serial;
    entry->inode = facts->inode;
    entry->birth = facts->birth;
    entry->device_major = facts->device_major;
    entry->device_minor = facts->device_minor;
    atomic_store_explicit(&entry->state, state, memory_order_release);
    return entry;
}

void unclosed_add(struct object *object, const struct live *live, uint64_t place) {
    struct unclosed_list *known = list_get();
    struct unclosed_entry *entry =
        entry_add(known, UNCLOSED_OPEN, &object->facts, relaxed(object->serial), live, place);
    uint32_t number = entry == NULL ? 0 : (uint32_t)(entry - known->entry) + 1;
    atomic_store_explicit(&object->unclosed, number, memory_order_relaxed);
}

// A Gap was stated (1) or withdrawn (-1): the end of the run prints their number.
void gaps_changed(int change) {
    struct unclosed_list *known = relaxed(under_seccomp) ? atomic_load(&list) : list_get();
    if (known != NULL) atomic_fetch_add(&known->gaps, (uint32_t)change);
}

// The list, if another process has created it.
static struct unclosed_list *list_there(void) {
    struct facts facts;
    if (atomic_load(&list) != NULL || atomic_load(&unavailable)) return atomic_load(&list);
    long fd = list_open(0);
    if (fd < 0) return NULL;
    if (statx_facts((int)fd, "", AT_EMPTY_PATH, &facts) && facts.size >= FIRST_SPACE) list_map(fd);
    RAW(close, fd);
    return atomic_load(&list);
}

static bool is_open(struct unclosed_list *known, const struct facts *facts) {
    for (uint32_t at = 0, entries = entries_of(known); at < entries; at++) {
        const struct unclosed_entry *entry = &known->entry[at];
        if (atomic_load_explicit(&entry->state, memory_order_acquire) == UNCLOSED_OPEN &&
            entry->inode == facts->inode && entry->device_major == facts->device_major &&
            entry->device_minor == facts->device_minor)
            return true;
    }
    return false;
}

// Record that an open file was renamed; the block at `place` has the new name.
void unclosed_moved(const struct facts *facts, const struct live *live, uint64_t place) {
    struct unclosed_list *known = list_there();
    if (known != NULL && is_open(known, facts)) entry_add(known, UNCLOSED_MOVED, facts, 0, live, place);
}

void unclosed_remove(struct object *object) {
    struct unclosed_list *known = atomic_load(&list);
    uint32_t at = atomic_exchange(&object->unclosed, 0) - 1;
    if (at == UINT32_MAX) return; // another thread removed it
    atomic_store_explicit(&known->entry[at].state, UNCLOSED_FREE, memory_order_release);
    if (at < relaxed(known->first)) atomic_store_explicit(&known->first, at, memory_order_relaxed);
}
