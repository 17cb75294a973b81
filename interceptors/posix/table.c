// The table of descriptors: which opening each names. A vfork's child, which shares this memory, sees its own changes
// in an overlay.
#include "table.h"

static struct object *_Atomic *_Atomic more_descriptors[1024];
static EARLY _Atomic unsigned descriptors; // the highest that was ever known, and one

struct overlay {
    int count;
    struct {
        int fd;
        struct object *object;
    } entries[64];
};

static struct pool overlays = POOL(struct overlay);
static THREAD_LOCAL struct overlay *overlay;

static struct object *_Atomic *slot(int fd, bool make) {
    if (fd < 0 || fd >= 1024 * 1024) return NULL;
    for (unsigned end = relaxed(descriptors); make && end <= (unsigned)fd;)
        if (atomic_compare_exchange_weak(&descriptors, &end, (unsigned)fd + 1)) break;
    if (fd < 1024) return &first_descriptors[fd];
    struct object *_Atomic *row = atomic_load(&more_descriptors[fd / 1024]);
    if (row == NULL && make) {
        struct object *_Atomic *made = arena_take(1024 * sizeof *made);
        if (made == NULL) return NULL;
        if (atomic_compare_exchange_strong(&more_descriptors[fd / 1024], &row, made)) row = made;
    }
    return row == NULL ? NULL : row + fd % 1024;
}

// What the parent has open, as the child of its vfork sees it: an opening of the child's own.
static struct object *overlay_copy(int fd, struct object *parents) {
    struct object *copy = object_hold(parents) ? object_new() : NULL;
    if (copy == NULL) return &ignored;
    copy->kind = parents->kind;
    copy->flags = parents->flags;
    copy->facts = parents->facts;
    channel_note(copy);
    copy->unlinked = parents->unlinked;
    copy->inherited = true;
    if (S_ISSOCK(parents->facts.mode)) {
        copy->connection = parents->connection;
        copy->path = parents->path == NULL ? NULL : copy->connection.path;
        copy->path_length = parents->path_length;
        copy->plain = parents->plain;
    } else if (parents->path != NULL) {
        object_path(copy, parents->path, parents->path_length);
    }
    object_release(parents, 1);
    if (table_add(fd, copy)) return copy;
    object_free(copy);
    return &ignored;
}

struct object *object_known(int fd) {
    struct object *_Atomic *entry = slot(fd, false);
    if (unlikely(lender != NULL) && overlay != NULL)
        for (int i = overlay->count; i-- > 0;)
            if (overlay->entries[i].fd == fd) return overlay->entries[i].object;
    struct object *object = entry == NULL ? NULL : atomic_load_explicit(entry, memory_order_acquire);
    if (unlikely(lender != NULL) && object != NULL && object != &ignored) return overlay_copy(fd, object);
    return object;
}

static struct object *overlay_set(int fd, struct object *object) {
    if (overlay == NULL && (overlay = pool_take(&overlays)) != NULL) overlay->count = 0;
    if (overlay == NULL) return object;
    for (int i = 0; i < overlay->count; i++)
        if (overlay->entries[i].fd == fd) {
            struct object *before = overlay->entries[i].object;
            overlay->entries[i].object = object;
            return before;
        }
    if (overlay->count == 64) return object; // unknown to the child: found anew if it is used
    overlay->entries[overlay->count].fd = fd;
    overlay->entries[overlay->count++].object = object;
    return NULL;
}

struct object *table_set(int fd, struct object *object) {
    if (unlikely(lender != NULL)) return overlay_set(fd, object);
    if (unlikely(muted == LEAVES)) return object;
    if (unlikely(muted == FORGETS)) { // whichever of the two did it: whoever can be told apart looks anew
        object_release(object, 1);
        object = NULL;
    }
    struct object *_Atomic *entry = slot(fd, object != NULL);
    return entry == NULL ? object : atomic_exchange(entry, object);
}

bool table_add(int fd, struct object *object) {
    struct object *none = NULL;
    if (unlikely(lender != NULL)) return overlay_set(fd, object) == NULL;
    struct object *_Atomic *entry = slot(fd, true);
    return entry != NULL && atomic_compare_exchange_strong(entry, &none, object);
}

void overlay_drop(void) {
    if (overlay == NULL) return;
    for (int i = 0; i < overlay->count; i++) object_release(overlay->entries[i].object, 1);
    pool_give(&overlays, overlay);
    overlay = NULL;
}

void object_forget(int fd) {
    object_release(table_set(fd, NULL), 1);
}

// What was held becomes the descriptor's.
void object_share(int fd, struct object *object) {
    object_release(table_set(fd, object), 1);
}

// What a vfork's child opened is in its overlay alone.
unsigned descriptors_end(void) {
    unsigned end = relaxed(descriptors);
    return lender != NULL && end < 1024 ? 1024 : end;
}

// In a forked child: the descriptors keep their names, but each is announced anew at its first use.
void objects_after_fork(void) {
    overlay = NULL;
    serials_of_parent = atomic_load(&serials);
    for (unsigned fd = 0, end = descriptors_end(); fd < end; fd++) {
        struct object *_Atomic *entry = slot((int)fd, false);
        struct object *object = entry == NULL ? NULL : relaxed(*entry);
        if (object == NULL || object == &ignored) continue;
        object->inherited = true;
        object->opening = NULL;
        object->unclosed = 0; // its parent's
        atomic_store(&object->hint[0], NULL);
        atomic_store(&object->hint[1], NULL);
        atomic_store(&object->serial, 0);
    }
}

struct object *object_kept(int fd) {
    for (int attempt = 0; attempt < 64; attempt++) {
        struct object *object = object_known(fd);
        if (object == NULL || object == &ignored) return object;
        if (!object_hold(object)) continue;
        if (object_known(fd) == object) return object;
        object_release(object, 1);
    }
    return &ignored;
}
