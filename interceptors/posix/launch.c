// Before an exec and after it: what cannot be watched is told, and the program gets the environment that suits it. A
// program that cannot be watched leaves a Gap in the trace of the process that starts it; one whose loader would not
// take the shim is started without the preload, so that nothing is printed and nothing fails.
#include "image.h"

extern char **environ;

static const char bare[] = "was started without the preload, which the program before it took out",
                  sealed_off[] = "was started under seccomp, where the shim may make no system call",
                  out_of_reach[] = "was started where the shim or the folder of the trace cannot be reached";

// ---- bad pointers: exec itself makes EFAULT of them

struct pages {
    uintptr_t known[8]; // that can be read
    unsigned count;
};

// Whether a page can be read, without the fault that reading it might be: this call looks at what it is given before it
// finds that there is no such way to change the mask.
static bool readable(const void *address, struct pages *pages) {
    uintptr_t page_at = (uintptr_t)address & -(uintptr_t)PAGE;
    for (unsigned i = 0; i < pages->count && i < 8; i++)
        if (pages->known[i] == page_at) return true;
    if (RAW(rt_sigprocmask, -1, (long)page_at + 8, 0, 8) == -EFAULT) return false; // 0 would be no set at all
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

// As execvp finds it: the first file of that name along PATH that may be executed.
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

static const char *place_reason(void) {
    enum { WRITE_AND_SEARCH = W_OK | X_OK };
    if (!relaxed(confined)) return NULL;
    bool loadable = RAW(faccessat2, AT_FDCWD, (long)own_name(), R_OK, AT_EACCESS) == 0;
    return loadable && RAW(faccessat2, AT_FDCWD, (long)settings.folder, WRITE_AND_SEARCH, AT_EACCESS) == 0
               ? NULL
               : out_of_reach;
}

static void launch_look(struct launch *launch, int dirfd, const char *path, int flags, bool searched,
                        char *const envp[]) {
    struct need need = {false, false};
    struct change change = {false, NULL, NULL};
    char *room = pool_take(&scratches);
    if (room == NULL) return;
    char *second = room + PATH_ROOM / 2; // of the two halves
    bool found = !searched || strchr(path, '/') != NULL;
    if (!found && (found = search(second, path))) path = second;
    if (found) launch->reason = image_reason(room, dirfd, path, flags, &need);
    if (need.other_library && !need.strip && (change.shim = other_shim(room)) == NULL) launch->reason = other_library;
    need.strip |= launch->reason == other_library;
    if (found && launch->reason == NULL) launch->reason = is_watched(envp) ? place_reason() : bare;
    if (launch->reason != NULL && (launch->path = pool_take(&scratches)) != NULL)
        launch->path_length = (uint32_t)path_join(launch->path, dirfd, path);
    bool alone = launch->path != NULL && (need.strip || launch->reason == bare);
    change.site = alone ? python_site(second, launch->path, envp) : NULL;
    if (need.strip || launch->reason == out_of_reach) change.shim = NULL;
    change.preload = need.strip || need.other_library || launch->reason == out_of_reach;
    if (change.preload || change.site != NULL) environment_change(launch, envp, &change);
    pool_give(&scratches, room);
}

static THREAD_LOCAL struct launch lent; // a vfork's child's, which is gone after its exec

void launch_begin(struct launch *launch, int dirfd, const char *path, int flags, bool searched, char *const argv[],
                  char *const envp[]) {
    *launch = (struct launch){.environment = envp, .argv = argv};
    launch->legible = readable_command(path, argv, envp);
    if (!launch->legible) return;
    if (relaxed(sealed)) {
        launch->reason = sealed_off;
        environment_change(launch, envp, &(const struct change){true, NULL, NULL});
    } else {
        launch_look(launch, dirfd, path, flags, searched, envp);
    }
    if (lender != NULL) lent = *launch;
}

// Gives back what the launch took, where this process goes on.
void launch_end(struct launch *launch) {
    if (launch->room != NULL && launch->room_size > 0) memory_unmap(launch->room, launch->room_size);
    if (launch->room != NULL && launch->room_size == 0) pool_give(&scratches, launch->room);
    if (launch->path != NULL) pool_give(&scratches, launch->path);
    launch->room = launch->path = lent.room = lent.path = NULL;
}

void launch_returned(void) {
    launch_end(&lent);
}

// What system and popen start is a shell like any other: only its environment says whether it will be watched.
// A program that has another C library than the shell cannot hand it a shim by this way.
const char *shell_reason(void) {
    static _Atomic signed char known; // 1: the shell has this C library, -1: another
    if (relaxed(sealed)) return sealed_off;
    if (!is_watched(environ)) return bare;
    if (OWN_MUSL && relaxed(known) == 0) {
        struct need need = {false, false};
        char *room = pool_take(&scratches);
        if (room != NULL) image_reason(room, AT_FDCWD, "/bin/sh", 0, &need);
        if (room != NULL) pool_give(&scratches, room);
        atomic_store(&known, need.other_library ? -1 : 1);
    }
    return relaxed(known) < 0 ? other_library : place_reason();
}
