// Names -> absolute paths: working directory, chroot, names of descriptors; and the test for paths inside the record
// itself.
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

static bool leads_to(const char *path, int fd) {
    struct facts named, opened;
    return statx_facts(AT_FDCWD, path, 0, &named) && statx_facts(fd, "", AT_EMPTY_PATH, &opened) &&
           is_same_file(&named, &opened);
}

// The name by which a file was opened. The kernel marks an unlinked name, also of a file that has other names.
size_t path_of_fd(int fd, char *room, bool *unlinked) {
    static const char mark[] = " (deleted)";
    char name[32];
    struct text text = {name, name + sizeof name - 1};
    TEXT(&text, "/proc/self/fd/");
    text_number(&text, (uint64_t)fd);
    *text.at = '\0';
    long size = RAW(readlinkat, AT_FDCWD, (long)name, (long)room, PATH_ROOM - 1);
    if (size <= 0 || room[0] != '/') return 0;
    size_t length = (size_t)size, start = length < sizeof mark ? 0 : length - (sizeof mark - 1);
    room[length] = '\0';
    if (unlikely(memcmp(room + start, mark, sizeof mark) == 0) && !leads_to(room, fd)) {
        room[length = start] = '\0';
        if (unlinked != NULL) *unlinked = true;
    }
    return root_before(room, length, PATH_ROOM);
}

static size_t directory_path(int dirfd, char *room) {
    if (dirfd == AT_FDCWD) return cwd_copy(room);
    struct object *object = object_kept(dirfd);
    size_t length = object == NULL || object->path == NULL ? 0 : object->path_length;
    if (length > 0) memcpy(room, object->path, length);
    object_release(object, 1);
    return length > 0 ? length : path_of_fd(dirfd, room, NULL);
}

static ALWAYS_INLINE size_t path_append_to(char *room, int dirfd, const char *path) {
    size_t at = path[0] == '/' ? root_length : directory_path(dirfd, room);
    if (at == 0 && path[0] != '/') return 0;
    if (path[0] == '/') memcpy(room, root, at);
    return path_append(room, at == 1 ? 0 : at, path); // 1: the root
}

// ---- names of descriptors

// The rest of a path after the given start; NULL: it starts otherwise.
static const char *behind(const char *path, const char *start) {
    for (; *start != '\0'; path++, start++)
        if (*path != *start) return NULL;
    return path;
}

static const char *behind_number(const char *path) {
    const char *at = path;
    while (*at >= '0' && *at <= '9') at++;
    return at == path ? NULL : at;
}

static const char *behind_either(const char *path, const char *const starts[], int *which) {
    for (int i = 0; starts[i] != NULL; i++) {
        const char *at = behind(path, starts[i]);
        if (at != NULL && (*at == '\0' || *at == '/')) {
            *which = i;
            return at;
        }
    }
    return NULL;
}

static int small_number(const char *digits, const char *end) {
    unsigned number = 0;
    for (; digits < end; digits++) number = number < 10000000 ? number * 10 + (unsigned)(*digits - '0') : number;
    return (int)number;
}

// The end of a descriptor's name (`/dev/stdin`, `/dev/fd/5`), or of a link that the kernel follows without a name
// (`/proc/self/fd/5`, `/proc/self/cwd`) in a path; NULL: the path has none. `fd`: of this process, or -1.
static const char *kernel_link(const char *path, int *fd) {
    static const char *const streams[] = {"stdin", "stdout", "stderr", NULL};
    static const char *const links[] = {"cwd", "root", "exe", NULL};
    const char *at, *end = NULL;
    int unused;
    *fd = -1;
    if ((at = behind(path, "/dev/")) != NULL) {
        if ((end = behind_either(at, streams, fd)) != NULL) return end;
        at = behind(at, "fd/");
        end = at == NULL ? NULL : behind_number(at);
        if (end != NULL) *fd = small_number(at, end);
    } else if ((at = behind(path, "/proc/")) != NULL) {
        const char *own = behind(at, "self/");
        if (own == NULL) own = behind(at, "thread-self/");
        if (own == NULL && ((at = behind_number(at)) == NULL || *at++ != '/')) return NULL;
        if (own != NULL) at = own;
        const char *task = behind(at, "task/"), *after = task == NULL ? NULL : behind_number(task);
        if (after != NULL && *after == '/') at = after + 1;
        if ((end = behind_either(at, links, &unused)) != NULL) return end;
        at = behind(at, "fd/");
        end = at == NULL ? NULL : behind_number(at);
        if (end != NULL && own != NULL) *fd = small_number(at, end);
    }
    return end != NULL && (*end == '\0' || *end == '/') ? end : NULL;
}

static bool may_be_link(const char *path) {
    return path[0] == '/' && ((path[1] == 'd' && path[2] == 'e') || (path[1] == 'p' && path[2] == 'r'));
}

// The path to which the link in the first `size` bytes of a path leads; 0: to a pipe or socket, or unknown.
static size_t link_target(char *path, size_t size, int fd, char *target) {
    if (fd >= 0) return directory_path(fd, target);
    char kept = path[size];
    path[size] = '\0';
    long found = RAW(readlinkat, AT_FDCWD, (long)path, (long)target, PATH_ROOM - 1);
    path[size] = kept;
    return found > 0 && target[0] == '/' ? root_before(target, (size_t)found, PATH_ROOM) : 0;
}

// Replace the link at the start of the path by the path to which it leads. Returns 0 if that is not known.
static size_t link_followed(char *room, size_t length) {
    int fd;
    char *visible = room + root_length;
    const char *end = kernel_link(visible, &fd);
    if (end == NULL) return length;
    char *target = pool_take(&scratches);
    if (target == NULL) return 0;
    size_t size = link_target(visible, (size_t)(end - visible), fd, target);
    length = size == 0 ? 0 : path_append(target, size == 1 ? 0 : size, end); // 1: the root
    memcpy(room, target, length + 1);
    pool_give(&scratches, target);
    return length;
}

size_t path_join(char *room, int dirfd, const char *path) {
    size_t length = path_append_to(room, dirfd, path);
    return length > root_length && unlikely(may_be_link(room + root_length)) ? link_followed(room, length) : length;
}

// A new descriptor itself shows the file to which a link led.
size_t path_opened(char *room, int fd, int dirfd, const char *path, bool *unlinked) {
    int unused;
    size_t length = path_append_to(room, dirfd, path);
    if (length <= root_length || likely(!may_be_link(room + root_length))) return length;
    return kernel_link(room + root_length, &unused) == NULL ? length : path_of_fd(fd, room, unlinked);
}

// A file with one of these inodes may have been opened by a user's link to the name of the descriptor, such as
// /dev/stdin.
EARLY _Atomic uint64_t first_inodes[FIRST_INODES];

static __attribute__((noinline)) uint64_t inode_read(int fd) {
    struct facts facts;
    uint64_t inode = statx_facts(fd, "", AT_EMPTY_PATH, &facts) ? facts.inode : UINT64_MAX;
    if (lender == NULL) atomic_store(&first_inodes[fd], inode); // not the descriptors of a child of vfork
    return inode;
}

// Whether a descriptor below the new one has the same file. Those above are few: the lowest free number is used.
static ALWAYS_INLINE bool is_open_below(int fd, uint64_t inode) {
    for (int at = 0; at < fd && at < FIRST_INODES; at++) {
        uint64_t known = relaxed(first_inodes[at]);
        if (unlikely((unlikely(known == 0) ? inode_read(at) : known) == inode)) return true;
    }
    return false;
}

size_t name_opened(char *room, int fd, int dirfd, const char *path, struct object *object) {
    if (path == NULL) return path_of_fd(fd, room, &object->unlinked);
    if (unlikely((object->flags & O_TMPFILE) == O_TMPFILE)) {
        size_t length = path_join(room, dirfd, path);
        // the path is that of the directory, without a name in it
        if (length > 0 && length + 1 < PATH_ROOM) {
            room[length++] = '/';
            room[length] = '\0';
        }
        return length;
    }
    if (is_open_below(fd, object->facts.inode)) {
        size_t length = path_of_fd(fd, room, &object->unlinked);
        if (length > 0 || S_ISFIFO(object->facts.mode)) return length; // 0: a pipe without a name
    }
    return path_opened(room, fd, dirfd, path, &object->unlinked);
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
