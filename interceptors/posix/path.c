// Names -> absolute paths: working directory, chroot; and the test for paths inside the record itself.
#include "object.h"

static char root[PATH_MAX]; // the real path of the process's `/` after chroot
static EARLY size_t root_length;

void root_changed(const char *path, size_t length) {
    if (length >= sizeof root) return;
    memcpy(root, path, length);
    root_length = length == 1 ? 0 : length;
}

// The kernel reports paths relative to that root, too.
static size_t root_before(char *path, size_t length, size_t room) {
    if (root_length == 0 || length == 0 || path[0] != '/') return length;
    if (length == 1) length = 0; // the root itself
    if (root_length + length + 1 > room) return 0;
    for (size_t i = length; i-- > 0;) path[root_length + i] = path[i];
    memcpy(path, root, root_length);
    path[root_length + length] = '\0';
    return root_length + length;
}

static EARLY char cwd[PATH_MAX / 8];       // a longer one is read each time
static EARLY _Atomic uint32_t cwd_version; // 0: not read yet; odd: being written
static EARLY _Atomic bool cwd_stale;

static bool cwd_read(uint32_t version) {
    if (!atomic_compare_exchange_strong(&cwd_version, &version, version | 1)) return false;
    long size;
    do {
        atomic_store(&cwd_stale, false);
        size = RAW(getcwd, (long)cwd, sizeof cwd);
        if (size <= 0 || cwd[0] != '/' || root_before(cwd, (size_t)size - 1, sizeof cwd) == 0) cwd[0] = '\0';
    } while (atomic_load(&cwd_stale));
    atomic_store(&cwd_version, (version | 1) + 1);
    return true;
}

void cwd_changed(void) {
    if (lender != NULL) return; // the child's own, not the parent's
    uint32_t version = atomic_load(&cwd_version);
    if ((version & 1) || !cwd_read(version)) atomic_store(&cwd_stale, true);
}

static size_t cwd_copy(char *room) {
    for (int attempt = 0; attempt < 4 && lender == NULL; attempt++) {
        uint32_t version = atomic_load(&cwd_version);
        if (version == 0)
            cwd_read(0);
        else if (!(version & 1)) {
            size_t length = strlen(cwd);
            memcpy(room, cwd, length);
            atomic_thread_fence(memory_order_acquire);
            if (relaxed(cwd_version) == version && length > 0) return length;
        }
    }
    long size = RAW(getcwd, (long)room, PATH_MAX);
    return size > 1 && room[0] == '/' ? root_before(room, (size_t)size - 1, PATH_ROOM) : 0;
}

size_t path_of_fd(int fd, char *room, bool *unlinked) {
    static const char deleted[] = " (deleted)";
    char name[32];
    struct text text = {name, name + sizeof name - 1};
    TEXT(&text, "/proc/self/fd/");
    text_number(&text, (uint64_t)fd);
    *text.at = '\0';
    long size = RAW(readlinkat, AT_FDCWD, (long)name, (long)room, PATH_ROOM - 1);
    if (size <= 0 || room[0] != '/') return 0;
    size_t length = root_before(room, (size_t)size, PATH_ROOM), tail = sizeof deleted - 1;
    if (unlinked != NULL && *unlinked && length > tail && memcmp(room + length - tail, deleted, tail) == 0)
        length -= tail;
    room[length] = '\0';
    return length;
}

static size_t directory_path(int dirfd, char *room) {
    if (dirfd == AT_FDCWD) return cwd_copy(room);
    struct object *object = object_kept(dirfd);
    size_t length = object == NULL || object->path == NULL ? 0 : object->path_length;
    if (length > 0) memcpy(room, object->path, length);
    object_release(object, 1);
    return length > 0 ? length : path_of_fd(dirfd, room, NULL);
}

size_t path_join(char *room, int dirfd, const char *path) {
    size_t at = path[0] == '/' ? root_length : directory_path(dirfd, room);
    if (at == 0 && path[0] != '/') return 0;
    if (path[0] == '/') memcpy(room, root, at);
    return path_append(room, at == 1 ? 0 : at, path); // 1: the root
}

static bool below(const char *folder, size_t length, const char *path, size_t size) {
    return size >= length && memcmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool path_ignored(const char *path, size_t length) {
    return below(settings.home, settings.home_length, path, length) ||
           below(settings.folder, settings.folder_length, path, length) ||
           (settings.layer != NULL && below(settings.layer, settings.layer_length, path, length)) ||
           (unlikely(settings.limited) && path_filtered(path, length));
}
