// Descriptor -> opening: made when it is opened, or met when a descriptor from outside is first used.
#include "table.h"

struct object ignored = {.serial = UINT64_MAX, .kind = ""};

static struct pool objects = POOL(struct object);
static struct pool middle_paths = POOL_OF(512 + 64);
EARLY _Atomic uint64_t serials;
EARLY uint64_t serials_of_parent;

uint64_t serial_next(void) {
    return atomic_fetch_add(&serials, 1) + 1;
}

struct object *object_new(void) {
    struct object *object = pool_take(&objects);
    if (object == NULL) return NULL;
    object->flags = object->unclosed = 0;
    object->opening = NULL;
    object->path = NULL;
    object->path_length = 0;
    atomic_store_explicit(&object->put, NULL, memory_order_relaxed);
    atomic_store_explicit(&object->shared, false, memory_order_relaxed);
    object->inherited = object->unlinked = false;
    object->connection.family = 0;
    object->connection.peer_inode = object->connection.peer_pid = 0;
    // Nobody has it yet, and who still has what it was looks at the references first: no barriers but the last one.
    atomic_store_explicit(&object->stream, false, memory_order_relaxed);
    atomic_store_explicit(&object->hint[0], NULL, memory_order_relaxed);
    atomic_store_explicit(&object->hint[1], NULL, memory_order_relaxed);
    atomic_store_explicit(&object->touched[0], 0, memory_order_relaxed);
    atomic_store_explicit(&object->touched[1], 0, memory_order_relaxed);
    atomic_store_explicit(&object->serial, 0, memory_order_relaxed);
    object_moved(object, 0);
    atomic_store_explicit(&object->references, 1, memory_order_release);
    return object;
}

void object_path(struct object *object, const char *path, size_t length) {
    object->path =
        length < sizeof object->short_path ? object->short_path : pool_take(length < 512 ? &middle_paths : &scratches);
    if (object->path == NULL) return;
    object->path_length = (uint32_t)length;
    object->plain = text_plain(path, length);
    memcpy(object->path, path, length);
    object->path[length] = '\0';
}

void object_free(struct object *object) {
    atomic_store_explicit(&object->serial, 0, memory_order_release);
    if (object->path != NULL && object->path_length >= sizeof object->short_path)
        pool_give(object->path_length < 512 ? &middle_paths : &scratches, object->path);
    pool_give(&objects, object);
}

void object_release(struct object *object, uint64_t reference) {
    if (object == NULL || object == &ignored) return;
    if (atomic_fetch_sub(&object->references, reference) == reference) object_free(object);
}

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

// Asking for the name of a descriptor takes three times as long as a look at the device that it most often is.
static size_t name_met(int fd, char *room, struct object *object) {
    struct facts facts;
    if (S_ISCHR(object->facts.mode) && statx_facts(AT_FDCWD, null_device, 0, &facts) &&
        facts.inode == object->facts.inode && facts.device_major == object->facts.device_major &&
        facts.device_minor == object->facts.device_minor) {
        memcpy(room, null_device, sizeof null_device);
        return sizeof null_device - 1;
    }
    return path_of_fd(fd, room, &object->unlinked);
}

// A descriptor that came from outside: one look at its name. Held, or NULL where another thread was quicker.
static struct object *object_meet(int fd) {
    long flags = RAW(fcntl, fd, F_GETFL);
    struct object *object = flags < 0 ? NULL : object_new();
    if (object == NULL) return &ignored;
    char *room = pool_take(&scratches);
    object->inherited = true;
    object->flags = (uint32_t)flags;
    object->kind = statx_facts(fd, "", AT_EMPTY_PATH, &object->facts) ? kind_of(object->facts.mode) : NULL;
    channel_note(object);
    object->unlinked = object->facts.links == 0;
    bool named = object->kind != NULL && !S_ISSOCK(object->facts.mode);
    size_t length = room == NULL || !named ? 0 : name_met(fd, room, object);
    bool dropped =
        object->kind == NULL || kind_left_out(object->facts.mode) || (length > 0 && path_ignored(room, length));
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

static void object_announce(struct thread *thread, struct object *object, int fd) {
    uint64_t none = 0, started = now(thread);
    struct facts facts;
    bool known = statx_facts(fd, "", AT_EMPTY_PATH, &facts) && facts.inode == object->facts.inode;
    if (!atomic_compare_exchange_strong(&object->serial, &none, serial_next())) return;
    if (known) { // only what changes: the others' threads read the rest
        object->facts.modified = facts.modified;
        object->facts.changed = facts.changed;
        object->facts.size = facts.size;
    }
    if (S_ISSOCK(object->facts.mode)) connection_read(fd, object);
    thread->depth++;
    access_opened(thread, object, -1, started, 0);
    thread->depth--;
}

// Known, or looked up now; not announced.
struct object *object_held(int fd) {
    struct object *object = NULL;
    for (int attempt = 0; attempt < 4 && object == NULL && muted == HEARD; attempt++)
        if ((object = object_kept(fd)) == NULL) object = object_meet(fd);
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

static size_t name_opened(char *room, int fd, int dirfd, const char *path, bool *unlinked) {
    if (path == NULL) return path_of_fd(fd, room, unlinked);
    size_t length = path_join(room, dirfd, path);
    if (length > 0 && *unlinked && length + 1 < PATH_ROOM) { // O_TMPFILE: the folder, and no name in it
        room[length++] = '/';
        room[length] = '\0';
    }
    return length;
}

static struct object *object_opened(int api, int fd, int dirfd, const char *path, int flags, uint64_t started,
                                    bool stream, uint64_t peer) {
    struct thread *thread = thread_self();
    if (thread == NULL) return NULL;
    uint64_t elapsed = now(thread) - started;
    struct facts facts;
    if (unlikely(relaxed(python_waits))) python_ask();
    if (unlikely(settings.limited) && (path != NULL || dirfd != -1) && descriptor_left_out(fd, dirfd, path))
        return table_ignore(fd);
    const char *kind = statx_facts(fd, "", AT_EMPTY_PATH, &facts) ? kind_of(facts.mode) : TERM_File;
    struct object *object = kind == NULL || kind_left_out(facts.mode) ? NULL : object_new();
    char *room = object == NULL || (path == NULL && dirfd == -1) ? NULL : pool_take(&scratches);
    if (object == NULL) return table_ignore(fd);
    object->kind = kind;
    object->facts = facts;
    channel_note(object);
    object->flags = (uint32_t)flags;
    atomic_store_explicit(&object->stream, stream, memory_order_relaxed);
    object->unlinked = facts.links == 0 && facts.mode != 0;
    size_t length = room == NULL ? 0 : name_opened(room, fd, dirfd, path, &object->unlinked);
    bool dropped = length > 0 && path_ignored(room, length);
    if (length > 0 && !dropped) object_path(object, room, length);
    if (room != NULL) pool_give(&scratches, room);
    if (dropped) {
        object_free(object);
        return table_ignore(fd);
    }
    if (peer != 0) object->connection = (struct connection){.family = AF_UNIX, .peer_inode = peer};
    atomic_store_explicit(&object->serial, serial_next(), memory_order_release);
    thread->depth++;
    access_opened(thread, object, api, started, elapsed);
    thread->depth--;
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
