// Before and after an exec: prepares the environment of the program, and records programs that cannot be recorded. Such
// a program leaves a Gap in the trace of the process that starts it. A program whose loader would reject the shim is
// started without the preload, so that nothing is printed and nothing fails.
#include "event.h"

// ---- the environment

#if defined(__GLIBC__)
#define OTHER_LIBRARY "musl"
#else
#define OTHER_LIBRARY "glibc"
#endif
#if defined(__x86_64__)
#define OTHER_KIND "x86_64-" OTHER_LIBRARY
#elif defined(__aarch64__)
#define OTHER_KIND "aarch64-" OTHER_LIBRARY
#else
#define OTHER_KIND "none"
#endif

struct change {
    bool preload;     // the shim is removed,
    const char *shim; // or replaced by this one
    const char *site; // a folder to put first in Python's module path, or NULL
};

// The next library in LD_PRELOAD, split as the loader does; NULL: no more.
static const char *next_library(const char **at, size_t *length) {
    *at += strspn(*at, " :");
    const char *start = *at;
    *length = strcspn(start, " :");
    *at += *length;
    return *length == 0 ? NULL : start;
}

static bool is_shim(const char *library, size_t length) {
    const char *own = base_name(own_name());
    size_t size = strlen(own);
    return size > 0 && length >= size && memcmp(library + length - size, own, size) == 0 &&
           (length == size || library[length - size - 1] == '/');
}

#define PRELOAD "LD_PRELOAD="

static bool preloads(const char *variable) {
    size_t length;
    if (!begins(variable, PRELOAD)) return false;
    const char *at = variable + sizeof PRELOAD - 1;
    for (const char *library; (library = next_library(&at, &length)) != NULL;)
        if (is_shim(library, length)) return true;
    return false;
}

// The place of the variable that preloads the shim; NULL: the environment does not record.
static char *const *recording_preload(char *const envp[]) {
    char *const *preload = NULL;
    bool trace = false;
    for (; envp != NULL && *envp != NULL; envp++) {
        if (preload == NULL && preloads(*envp)) preload = envp;
        trace |= begins(*envp, "PROVIO_TRACE=");
    }
    return trace ? preload : NULL;
}

// Whether the loader of the next program can open the shim: it prints an error otherwise, for example where another
// mount namespace or root hides the path.
static bool opens_shim(const char *variable, char *room) {
    size_t length;
    const char *at = variable + sizeof PRELOAD - 1, *library;
    while ((library = next_library(&at, &length)) != NULL && !is_shim(library, length)) {
    }
    if (library == NULL || length >= PATH_ROOM / 2) return true;
    memcpy(room, library, length);
    room[length] = '\0';
    return strchr(room, '/') == NULL || RAW(faccessat, AT_FDCWD, (long)room, R_OK) == 0;
}

// Write the variable with the shim replaced by `shim`, or (NULL) removed. Return false if no library remains.
static bool with_shim(struct text *text, const char *variable, const char *shim) {
    const char *at = variable + sizeof PRELOAD - 1;
    bool any = false;
    size_t length;
    TEXT(text, PRELOAD);
    for (const char *library; (library = next_library(&at, &length)) != NULL;) {
        bool own = is_shim(library, length);
        if (own && shim == NULL) continue;
        if (any) TEXT(text, ":");
        if (own)
            text_string(text, shim);
        else
            text_bytes(text, library, length);
        any = true;
    }
    TEXT(text, "\0");
    return any;
}

static bool room_take(struct launch *launch, size_t size) {
    launch->room_size = size <= PATH_ROOM ? 0 : size;
    long room = size <= PATH_ROOM ? (long)pool_take(&scratches) : memory_map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    launch->room = room == 0 || (room < 0 && room > -PAGE) ? NULL : (char *)room;
    return launch->room != NULL;
}

#define PYTHON_PATH "PYTHONPATH="

// Put the folder with provio's sitecustomize (for h5py) first in PYTHONPATH; `variable`: the present value, or NULL.
static void with_site(struct text *text, const char *folder, const char *variable) {
    TEXT(text, PYTHON_PATH);
    text_bytes(text, folder, strlen(folder));
    const char *before = variable == NULL ? "" : variable + sizeof PYTHON_PATH - 1;
    if (*before != '\0') TEXT(text, ":");
    text_bytes(text, before, strlen(before));
    TEXT(text, "\0");
}

static size_t change_room(const struct change *change, const char *variable) {
    size_t room = strlen(variable) + 2, libraries = 1;
    for (const char *at = variable; change->shim != NULL && *at != '\0'; at++) libraries += *at == ' ' || *at == ':';
    return change->shim == NULL ? room : room + libraries * strlen(change->shim);
}

static bool is_changed(const char *variable, const struct change *change) {
    return (change->preload && preloads(variable)) || (change->site != NULL && begins(variable, PYTHON_PATH));
}

// A copy of the environment with a changed preload and PYTHONPATH; the caller's environment stays unchanged.
static void environment_change(struct launch *launch, char *const envp[], const struct change *change) {
    const char *site = change->site;
    size_t count = 2, size = site == NULL ? 0 : strlen(site) + sizeof PYTHON_PATH;
    for (char *const *at = envp; at != NULL && *at != NULL; at++, count++)
        if (is_changed(*at, change)) size += change_room(change, *at);
    if (size == 0 || envp == NULL || !room_take(launch, count * sizeof *envp + size)) return;
    char **copy = (char **)launch->room, **to = copy;
    struct text text = {launch->room + count * sizeof *envp, launch->room + count * sizeof *envp + size};
    const char *path = NULL;
    for (; *envp != NULL; envp++) {
        char *start = text.at;
        if (!is_changed(*envp, change))
            *to++ = *envp;
        else if (begins(*envp, PYTHON_PATH))
            path = *envp;
        else if (with_shim(&text, *envp, change->shim))
            *to++ = start;
    }
    if (site != NULL) {
        *to++ = text.at;
        with_site(&text, site, path);
    }
    *to = NULL;
    launch->environment = copy;
}

// The package's folder, which contains the shim, or `preload/<kind>` with the shim. Returns its length; 0: too long.
size_t package_folder(char *room) {
    const char *own = own_name();
    size_t length = (size_t)(base_name(own) - own);
    if (length == 0 || length > PATH_ROOM / 4) return 0;
    memcpy(room, own, length);
    room[length - 1] = '\0';
    char *kind = strrchr(room, '/');
    if (kind != NULL) *kind = '\0';
    bool among_others = kind != NULL && strcmp(base_name(room), "preload") == 0;
    if (kind != NULL) *kind = '/';
    room[length - 1] = '/';
    return among_others ? (size_t)(kind - room) - (sizeof "preload" - 1) : length;
}

static const char *other_shim(char *room) {
    static const char place[] = "preload/" OTHER_KIND "/libprovio.so";
    size_t length = package_folder(room);
    if (length == 0) return NULL;
    memcpy(room + length, place, sizeof place);
    if (RAW(faccessat, AT_FDCWD, (long)room, R_OK) == 0) return room;
    // a source build: the shim in the package is not this one
    memcpy(room + length, base_name(place), strlen(base_name(place)) + 1);
    bool own = strcmp(room, own_name()) == 0;
    return !own && RAW(faccessat, AT_FDCWD, (long)room, R_OK) == 0 ? room : NULL;
}

// The folder with the h5py layer for a Python without the shim; NULL: not a Python, or not needed.
static const char *python_site(char *room, const char *program, char *const envp[]) {
    static const char folder[] = "interceptors/site", wanted[] = "PROVIO_TRACE=";
    bool trace = false;
    size_t length = begins(base_name(program), "python") ? package_folder(room) : 0;
    if (length == 0) return NULL;
    memcpy(room + length, folder, sizeof folder);
    for (; envp != NULL && *envp != NULL; envp++) {
        trace |= begins(*envp, wanted);
        if (strcmp(*envp, "PROVIO_HDF5=off") == 0) return NULL;
        if (begins(*envp, PYTHON_PATH) && begins(*envp + sizeof PYTHON_PATH - 1, room)) return NULL;
    }
    bool there = strchr(room, ':') == NULL && RAW(faccessat, AT_FDCWD, (long)room, X_OK) == 0;
    return trace && there ? room : NULL;
}

// ---- the launch

extern char **environ;

static const char bare[] = "was started without the preload, which the program before it took out",
                  sealed_off[] = "was started under seccomp, where the shim may make no system call",
                  out_of_reach[] = "was started where the shim or the folder of the trace cannot be reached";

// ---- invalid pointers: exec itself turns them into EFAULT

struct pages {
    uintptr_t known[8]; // readable pages
    unsigned count;
};

// Whether a page can be read, tested without a page fault: rt_sigprocmask reads its argument before it rejects the
// invalid operation.
static bool readable(const void *address, struct pages *pages) {
    uintptr_t page_at = (uintptr_t)address & -(uintptr_t)PAGE;
    for (unsigned i = 0; i < pages->count && i < 8; i++)
        if (pages->known[i] == page_at) return true;
    if (RAW(rt_sigprocmask, -1, (long)page_at + 8, 0, 8) == -EFAULT) return false; // 0 would mean no set
    pages->known[pages->count++ % 8] = page_at;
    return true;
}

static bool readable_list(char *const list[], struct pages *pages) {
    for (int i = 0; list != NULL; i++) {
        if (!readable(&list[i], pages)) return false;
        if (list[i] == NULL) break;
        if (!readable(list[i], pages)) return false;
    }
    return true;
}

static bool readable_command(const char *path, char *const argv[], char *const envp[]) {
    struct pages pages = {.count = 0};
    return readable(path, &pages) && readable_list(argv, &pages) && readable_list(envp, &pages);
}

// ---- the name

// Search as execvp does: the first executable file of that name along PATH.
static bool search(char *room, const char *name) {
    const char *at = getenv("PATH");
    size_t length = strlen(name);
    if (at == NULL) at = "/bin:/usr/bin";
    for (const char *end; *name != '\0'; at = end + 1) {
        end = strchrnul(at, ':');
        size_t folder = (size_t)(end - at);
        struct facts facts;
        if (folder + length + 2 <= PATH_ROOM / 2) {
            memcpy(room, at, folder);
            if (folder > 0) room[folder++] = '/';
            memcpy(room + folder, name, length + 1);
            if (statx_facts(AT_FDCWD, room, 0, &facts) && S_ISREG(facts.mode) && (facts.mode & 0111)) return true;
        }
        if (*end == '\0') break;
    }
    return false;
}

// ---- the launch

// `preload` is NULL if it is known that its shim can be opened.
static const char *place_reason(const char *preload, char *room) {
    enum { WRITE_AND_SEARCH = W_OK | X_OK };
    if (preload != NULL && !opens_shim(preload, room)) return out_of_reach;
    if (!relaxed(sandboxed)) return NULL;
    // The test for the real user leaves out capabilities, which an exec of another user than root takes away.
    bool same = RAW(getuid, 0) == RAW(geteuid, 0) && RAW(getgid, 0) == RAW(getegid, 0);
    int as = same ? 0 : AT_EACCESS;
    bool loadable = RAW(faccessat2, AT_FDCWD, (long)own_name(), R_OK, as) == 0;
    bool reachable = loadable && RAW(faccessat2, AT_FDCWD, (long)settings.folder, WRITE_AND_SEARCH, as) == 0;
    return reachable ? NULL : out_of_reach;
}

static void launch_look(struct launch *launch, int dirfd, const char *path, int flags, bool searched,
                        char *const envp[]) {
    struct need need = {false, false};
    struct change change = {false, NULL, NULL};
    char *room = pool_take(&scratches);
    if (room == NULL) return;
    char *second = room + PATH_ROOM / 2; // the second half
    bool found = !searched || strchr(path, '/') != NULL;
    if (!found && (found = search(second, path))) path = second;
    if (found) launch->reason = image_reason(room, dirfd, path, flags, &need);
    if (need.other_library && !need.strip && (change.shim = other_shim(room)) == NULL) launch->reason = other_library;
    need.strip |= launch->reason == other_library;
    char *const *preload = found ? recording_preload(envp) : NULL;
    const char *place = preload == NULL ? bare : place_reason(change.shim == NULL ? *preload : NULL, room);
    if (found && launch->reason == NULL) launch->reason = place;
    launch->hidden = place == out_of_reach;
    if (launch->reason != NULL && (launch->path = pool_take(&scratches)) != NULL)
        launch->path_length = (uint32_t)path_join(launch->path, dirfd, path);
    bool alone = launch->path != NULL && (need.strip || launch->reason == bare);
    change.site = alone ? python_site(second, launch->path, envp) : NULL;
    if (need.strip || launch->hidden) change.shim = NULL;
    change.preload = need.strip || need.other_library || launch->hidden;
    if (change.preload || change.site != NULL) environment_change(launch, envp, &change);
    pool_give(&scratches, room);
}

static THREAD_LOCAL struct launch lent; // for a child of vfork, which releases nothing after its exec

void launch_begin(struct launch *launch, int dirfd, const char *path, int flags, bool searched, char *const argv[],
                  char *const envp[]) {
    *launch = (struct launch){.environment = envp, .argv = argv};
    launch->legible = readable_command(path, argv, envp);
    if (!launch->legible) return;
    if (relaxed(under_seccomp)) {
        launch->reason = sealed_off;
        environment_change(launch, envp, &(const struct change){true, NULL, NULL});
    } else {
        launch_look(launch, dirfd, path, flags, searched, envp);
    }
    if (lender != NULL) lent = *launch;
}

// Release the memory of the launch, if this process continues.
void launch_end(struct launch *launch) {
    if (launch->room != NULL && launch->room_size > 0) memory_unmap(launch->room, launch->room_size);
    if (launch->room != NULL && launch->room_size == 0) pool_give(&scratches, launch->room);
    if (launch->path != NULL) pool_give(&scratches, launch->path);
    launch->room = launch->path = lent.room = lent.path = NULL;
}

void launch_returned(void) {
    launch_end(&lent);
}

// system and popen start an ordinary shell; whether it will be recorded depends only on its environment. A program
// whose C library differs from the shell's cannot pass a suitable shim on.
static const char *shell_reason(const char *preload, char *room) {
    static _Atomic signed char known; // 1: the shell has this C library, -1: another
    if (relaxed(under_seccomp)) return sealed_off;
    if (preload == NULL) return bare;
    if (OWN_MUSL && relaxed(known) == 0) {
        struct need need = {false, false};
        image_reason(room, AT_FDCWD, "/bin/sh", 0, &need);
        atomic_store(&known, need.other_library ? -1 : 1);
    }
    return relaxed(known) < 0 ? other_library : place_reason(preload, room);
}

// The C library gives the shell the environment of this process: until the call returns, it names no shim that the
// shell's loader cannot open. Only a pointer changes, because other threads may read the environment.
void shell_begin(struct shell *shell) {
    char **place = (char **)recording_preload(environ);
    char *room = pool_take(&scratches);
    struct change change = {true, NULL, NULL};
    *shell = (struct shell){NULL, NULL, NULL};
    if (room == NULL) return;
    shell->reason = shell_reason(place == NULL ? NULL : *place, room);
    if (shell->reason != out_of_reach || change_room(&change, *place) > PATH_ROOM) {
        pool_give(&scratches, room);
        return;
    }
    struct text text = {room, room + PATH_ROOM};
    with_shim(&text, *place, NULL);
    shell->before = *place;
    shell->changed = room;
    __atomic_store_n(place, room, __ATOMIC_RELEASE);
}

void shell_end(struct shell *shell) {
    if (shell->changed == NULL) return;
    for (char **place = environ; place != NULL && *place != NULL; place++)
        if (*place == shell->changed) __atomic_store_n(place, shell->before, __ATOMIC_RELEASE);
    pool_give(&scratches, shell->changed);
}
