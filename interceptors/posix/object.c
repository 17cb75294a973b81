// Descriptor -> opening: made when the file is opened, or at the first use of an inherited or unknown descriptor.
#include "access.h"

// ---- the facts of a file

bool statx_facts(int dirfd, const char *path, int flags, struct facts *facts) {
    struct statx found;
    *facts = (struct facts){0};
    if (RAW(statx, dirfd, (long)path, flags, STATX_BASIC_STATS | STATX_BTIME, (long)&found) != 0) return false;
    *facts = (struct facts){
        .device_major = found.stx_dev_major,
        .device_minor = found.stx_dev_minor,
        .links = found.stx_nlink,
        .mode = found.stx_mode,
        .inode = found.stx_ino,
        .birth = found.stx_mask & STATX_BTIME ? nanoseconds(found.stx_btime.tv_sec, found.stx_btime.tv_nsec) : 0,
        .modified = nanoseconds(found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
        .changed = nanoseconds(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        .size = found.stx_size,
    };
    unsigned major = found.stx_rdev_major;
    if (S_ISCHR(found.stx_mode) && (major == 4 || major == 5 || (major >= 136 && major <= 143))) {
        facts->mode = 0; // a terminal is not recorded, like files without a type, unless its master is of the run
        facts->terminal = major >= 136                              ? TERMINAL_SLAVE
                          : major == 5 && found.stx_rdev_minor == 2 ? TERMINAL_MASTER
                          : major == 5 && found.stx_rdev_minor == 0 ? TERMINAL_CONTROLLING
                                                                    : 0;
    }
    return true;
}

void text_facts(struct text *text, const struct facts *facts) {
    TEXT(text, " ; " TERM_device " \"");
    text_number(text, facts->device_major);
    TEXT(text, ":");
    text_number(text, facts->device_minor);
    TEXT(text, "\"");
    TEXT_NUMBER(text, TERM_inode, facts->inode);
    TEXT_NUMBER(text, TERM_birthNs, facts->birth);
    TEXT_NUMBER(text, TERM_mtimeNs, facts->modified);
    TEXT_NUMBER(text, TERM_ctimeNs, facts->changed);
    TEXT_NUMBER(text, TERM_size, facts->size);
}

void text_object(struct text *text, const char *property, uint64_t serial) {
    TEXT(text, " ; ");
    text_string(text, property);
    TEXT(text, " <../o");
    text_number(text, serial);
    TEXT(text, ">");
}

// ---- openings

struct object ignored = {.serial = UINT64_MAX, .kind = "", .facts.inode = UINT64_MAX};

static struct pool objects = POOL(struct object);
static struct pool middle_paths = POOL_OF(512 + 64);
static EARLY _Atomic uint64_t serials;
EARLY uint64_t serials_of_parent;

uint64_t serial_next(void) {
    return atomic_fetch_add(&serials, 1) + 1;
}

static struct object *object_new(void) {
    struct object *object = pool_take(&objects);
    if (object == NULL) return NULL;
    object->flags = 0;
    object->opening = NULL;
    object->path = NULL;
    object->path_length = 0;
    atomic_store_explicit(&object->put, NULL, memory_order_relaxed);
    atomic_store_explicit(&object->shared, false, memory_order_relaxed);
    object->inherited = object->unlinked = false;
    object->connection.family = 0;
    object->connection.peer_inode = object->connection.peer_pid = 0;
    // No other thread has this opening yet, and threads that still have its previous use check the references first:
    // only the last store is a barrier.
    atomic_store_explicit(&object->stream, false, memory_order_relaxed);
    atomic_store_explicit(&object->hint[0], NULL, memory_order_relaxed);
    atomic_store_explicit(&object->hint[1], NULL, memory_order_relaxed);
    atomic_store_explicit(&object->touched[0], 0, memory_order_relaxed);
    atomic_store_explicit(&object->touched[1], 0, memory_order_relaxed);
    atomic_store_explicit(&object->serial, 0, memory_order_relaxed);
    atomic_store_explicit(&object->unclosed, 0, memory_order_relaxed);
    object_moved(object, 0);
    atomic_store_explicit(&object->references, 1, memory_order_release);
    return object;
}

static void object_path(struct object *object, const char *path, size_t length) {
    object->path =
        length < sizeof object->short_path ? object->short_path : pool_take(length < 512 ? &middle_paths : &scratches);
    if (object->path == NULL) return;
    object->path_length = (uint32_t)length;
    object->plain = text_plain(path, length);
    memcpy(object->path, path, length);
    object->path[length] = '\0';
    if (unlikely(settings.values) && S_ISREG(object->facts.mode)) value_file_note(object->path, length);
}

static void object_free(struct object *object) {
    atomic_store_explicit(&object->serial, 0, memory_order_release);
    if (object->path != NULL && object->path_length >= sizeof object->short_path)
        pool_give(object->path_length < 512 ? &middle_paths : &scratches, object->path);
    pool_give(&objects, object);
}

void object_release(struct object *object, uint64_t reference) {
    if (object == NULL || object == &ignored) return;
    if (atomic_fetch_sub(&object->references, reference) == reference) object_free(object);
}

// ---- the table of descriptors

static struct object *_Atomic *_Atomic more_descriptors[1024];
static EARLY _Atomic unsigned descriptors; // the highest known descriptor + 1

enum { OVERLAY = 63 };

struct overlay {
    int count;
    struct overlay *full; // earlier ones without a free entry
    struct {
        int fd;
        struct object *object;
    } entries[OVERLAY];
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

static bool table_add(int fd, struct object *object);

// The parent's descriptors as a child of vfork sees them, with the child's own openings.
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
    for (struct overlay *own = unlikely(lender != NULL) ? overlay : NULL; own != NULL; own = own->full)
        for (int i = own->count; i-- > 0;)
            if (own->entries[i].fd == fd) return own->entries[i].object;
    struct object *object = entry == NULL ? NULL : atomic_load_explicit(entry, memory_order_acquire);
    if (unlikely(lender != NULL) && object != NULL && object != &ignored) return overlay_copy(fd, object);
    return object;
}

// A child that closes all possible descriptors has no entries for those that it and the parent never used.
static struct object *overlay_set(int fd, struct object *object) {
    struct object *_Atomic *parents = slot(fd, false);
    for (struct overlay *own = overlay; own != NULL; own = own->full)
        for (int i = 0; i < own->count; i++)
            if (own->entries[i].fd == fd) {
                struct object *before = own->entries[i].object;
                own->entries[i].object = object;
                return before;
            }
    if (object == NULL && (parents == NULL || relaxed(*parents) == NULL)) return NULL;
    if (overlay == NULL || overlay->count == OVERLAY) {
        struct overlay *next = pool_take(&overlays);
        if (next == NULL) return object;
        next->count = 0;
        next->full = overlay;
        overlay = next;
    }
    overlay->entries[overlay->count].fd = fd;
    overlay->entries[overlay->count++].object = object;
    return NULL;
}

struct object *table_set(int fd, struct object *object) {
    if (unlikely(lender != NULL)) return overlay_set(fd, object);
    if (unlikely(muted == OWN_STORAGE)) return object;
    if (unlikely(muted ==
                 SHARED_STORAGE)) { // parent and child cannot be distinguished: the one that can looks it up again
        object_release(object, 1);
        object = NULL;
    }
    if ((unsigned)fd < FIRST_INODES)
        atomic_store_explicit(&first_inodes[fd], object == NULL ? 0 : object->facts.inode, memory_order_relaxed);
    struct object *_Atomic *entry = slot(fd, object != NULL);
    return entry == NULL ? object : atomic_exchange(entry, object);
}

static bool table_add(int fd, struct object *object) {
    struct object *none = NULL;
    if (unlikely(lender != NULL)) return overlay_set(fd, object) == NULL;
    struct object *_Atomic *entry = slot(fd, true);
    return entry != NULL && atomic_compare_exchange_strong(entry, &none, object);
}

void overlay_drop(void) {
    for (struct overlay *next; overlay != NULL; overlay = next) {
        next = overlay->full;
        for (int i = 0; i < overlay->count; i++) object_release(overlay->entries[i].object, 1);
        pool_give(&overlays, overlay);
    }
}

void object_forget(int fd) {
    object_release(table_set(fd, NULL), 1);
}

// The caller's reference becomes the descriptor's.
void object_share(int fd, struct object *object) {
    object_release(table_set(fd, object), 1);
}

// Openings of a child of vfork are in its overlay only.
unsigned descriptors_end(void) {
    unsigned end = relaxed(descriptors);
    return lender != NULL && end < 1024 ? 1024 : end;
}

void object_inherit(struct object *object) {
    object->inherited = true;
    object->opening = NULL;
    atomic_store(&object->unclosed, 0); // the parent's entry
    atomic_store(&object->hint[0], NULL);
    atomic_store(&object->hint[1], NULL);
    atomic_store(&object->serial, 0);
}

// In a forked child: the descriptors keep their openings, but each is recorded again at its first use.
void objects_after_fork(void) {
    overlay = NULL;
    serials_of_parent = atomic_load(&serials);
    for (unsigned fd = 0, end = descriptors_end(); fd < end; fd++) {
        struct object *_Atomic *entry = slot((int)fd, false);
        struct object *object = entry == NULL ? NULL : relaxed(*entry);
        if (object != NULL && object != &ignored) object_inherit(object);
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

// ---- openings of unknown descriptors, and of calls that open a file

static const char *kind_of(uint32_t mode) {
    switch (mode & S_IFMT) {
    case S_IFREG:
        return TERM_FileVersion;
    case S_IFDIR:
        return TERM_Directory;
    case S_IFIFO:
        return TERM_Pipe;
    case S_IFSOCK:
        return TERM_Socket;
    case S_IFCHR:
    case S_IFBLK:
        return TERM_File;
    default:
        return NULL; // a terminal, an event counter, a timer
    }
}

static struct object *table_ignore(int fd) {
    object_release(table_set(fd, &ignored), 1);
    return &ignored;
}

static const char null_device[] = "/dev/null";

// Reading the name of a descriptor takes three times as long as checking for /dev/null, the most frequent device.
static size_t adopted_name(int fd, char *room, struct object *object) {
    struct facts facts;
    if (S_ISCHR(object->facts.mode) && statx_facts(AT_FDCWD, null_device, 0, &facts) &&
        is_same_file(&facts, &object->facts)) {
        memcpy(room, null_device, sizeof null_device);
        return sizeof null_device - 1;
    }
    return path_of_fd(fd, room, &object->unlinked);
}

// Make the opening of an inherited or unknown descriptor. Returns it with a reference, or NULL if another thread was
// faster.
static struct object *object_adopt(int fd) {
    long flags = RAW(fcntl, fd, F_GETFL);
    struct object *object = flags < 0 ? NULL : object_new();
    if (object == NULL) return &ignored;
    char *room = pool_take(&scratches);
    object->inherited = true;
    object->flags = (uint32_t)flags;
    object->kind = statx_facts(fd, "", AT_EMPTY_PATH, &object->facts) ? kind_of(object->facts.mode) : NULL;
    if (unlikely(object->facts.terminal != 0)) terminal_read(0, fd, object, 0);
    channel_note(object);
    object->unlinked = object->facts.links == 0;
    bool named = object->kind != NULL && !S_ISSOCK(object->facts.mode);
    size_t length = room == NULL || !named ? 0 : adopted_name(fd, room, object);
    bool dropped =
        object->kind == NULL || kind_filtered(object->facts.mode) || (length > 0 && path_ignored(room, length));
    if (length > 0 && !dropped) object_path(object, room, length);
    if (room != NULL) pool_give(&scratches, room);
    if (dropped) {
        object_free(object);
        return table_add(fd, &ignored) ? &ignored : NULL;
    }
    object_hold(object);
    if (table_add(fd, object)) return object;
    object_free(object);
    return NULL;
}

void object_announce(struct thread *thread, struct object *object, int fd) {
    uint64_t none = 0, started = now(thread);
    struct facts facts;
    bool found = fd >= 0 ? statx_facts(fd, "", AT_EMPTY_PATH, &facts)
                         : object->path != NULL && statx_facts(AT_FDCWD, object->path, 0, &facts);
    bool known = found && facts.inode == object->facts.inode;
    if (!atomic_compare_exchange_strong(&object->serial, &none, serial_next())) return;
    if (known) { // only the facts that change: other threads may read the rest
        object->facts.modified = facts.modified;
        object->facts.changed = facts.changed;
        object->facts.size = facts.size;
    }
    if (S_ISSOCK(object->facts.mode)) connection_read(fd, object);
    shim_enter(thread);
    access_opened(thread, object, -1, started, 0);
    shim_leave(thread);
}

// Known, or looked up now; not recorded yet.
struct object *object_held(int fd) {
    struct object *object = NULL;
    for (int attempt = 0; attempt < 4 && object == NULL && muted == NOT_MUTED; attempt++)
        if ((object = object_kept(fd)) == NULL) object = object_adopt(fd);
    return object == NULL ? &ignored : object;
}

struct object *object_slow(int fd) {
    struct thread *thread = thread_self();
    if (fd < 0 || thread == NULL) return &ignored;
    struct object *object = object_held(fd);
    if (object != &ignored && atomic_load(&object->serial) == 0) object_announce(thread, object, fd);
    object_release(object, 1);
    return object;
}

static struct object *object_opened(int api, int fd, int dirfd, const char *path, int flags, uint64_t started,
                                    bool stream, uint64_t peer) {
    struct thread *thread = thread_self();
    if (thread == NULL) return NULL;
    uint64_t elapsed = now(thread) - started;
    struct facts facts;
    if (unlikely(relaxed(python_pending))) python_request();
    if (unlikely(relaxed(libraries_pending))) libraries_look(API_dlopen);
    if (unlikely(relaxed(loaded_pending)) && (flags & O_ACCMODE) != O_RDONLY) loaded_note(thread);
    const char *kind = statx_facts(fd, "", AT_EMPTY_PATH, &facts) ? kind_of(facts.mode) : TERM_File;
    bool terminal = kind == NULL && facts.terminal != 0; // a connection: its name is not recorded
    if (unlikely(settings.limited) && !terminal && (path != NULL || dirfd != -1) &&
        descriptor_filtered(fd, dirfd, path))
        return table_ignore(fd);
    bool dropped = kind == NULL ? !terminal || kind_filtered(S_IFSOCK) : kind_filtered(facts.mode);
    struct object *object = dropped ? NULL : object_new();
    char *room = object == NULL || terminal || (path == NULL && dirfd == -1) ? NULL : pool_take(&scratches);
    if (object == NULL) return table_ignore(fd);
    object->kind = kind;
    object->facts = facts;
    if (unlikely(terminal)) dropped = !terminal_read(api, fd, object, started);
    channel_note(object);
    object->flags = (uint32_t)flags;
    atomic_store_explicit(&object->stream, stream, memory_order_relaxed);
    object->unlinked = facts.links == 0 && facts.mode != 0;
    size_t length = room == NULL ? 0 : name_opened(room, fd, dirfd, path, object);
    if (length > 0) dropped = path_ignored(room, length);
    if (facts.size == 0 && length > 0) memory_opened(api, room, length, flags);
    if (length > 0 && !dropped) object_path(object, room, length);
    if (room != NULL) pool_give(&scratches, room);
    if (dropped) {
        object_free(object);
        return table_ignore(fd);
    }
    if (peer != 0) object->connection = (struct connection){.family = AF_UNIX, .peer_inode = peer};
    atomic_store_explicit(&object->serial, serial_next(), memory_order_release);
    shim_enter(thread);
    access_opened(thread, object, api, started, elapsed);
    shim_leave(thread);
    object_release(table_set(fd, object), 1);
    return object;
}

struct object *object_open(int api, int fd, int dirfd, const char *path, int flags, uint64_t started, bool stream) {
    return object_opened(api, fd, dirfd, path, flags, started, stream, 0);
}

void object_pair(int api, const int fds[2], uint64_t started) {
    struct facts facts[2];
    for (int i = 0; i < 2; i++) statx_facts(fds[i], "", AT_EMPTY_PATH, &facts[i]);
    for (int i = 0; i < 2; i++) object_opened(api, fds[i], -1, NULL, O_RDWR, started, false, facts[1 - i].inode);
}
