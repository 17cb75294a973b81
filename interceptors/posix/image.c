// What an exec is about to start: whether the shim can watch it, and which environment it is given. A program that
// cannot be watched leaves a Gap in the trace of the process that starts it; one whose loader would not take the shim
// is started without the preload, so that nothing is printed and nothing fails.
#include "shim.h"

#include <link.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

extern char **environ;

enum { HEADER = 4096, SCRIPTS = 5 };

#if defined(__GLIBC__)
enum { OWN_MUSL = false };
#define OTHER_LIBRARY "musl"
#else
enum { OWN_MUSL = true };
#define OTHER_LIBRARY "glibc"
#endif

#if __SIZEOF_POINTER__ == 8
enum { NATIVE_CLASS = ELFCLASS64 };
#else
enum { NATIVE_CLASS = ELFCLASS32 };
#endif
#if defined(__x86_64__)
enum { NATIVE_MACHINE = EM_X86_64 };
#define OTHER_KIND "x86_64-" OTHER_LIBRARY
#elif defined(__aarch64__)
enum { NATIVE_MACHINE = EM_AARCH64 };
#define OTHER_KIND "aarch64-" OTHER_LIBRARY
#elif defined(__riscv)
enum { NATIVE_MACHINE = EM_RISCV };
#elif defined(__powerpc64__)
enum { NATIVE_MACHINE = EM_PPC64 };
#elif defined(__s390x__)
enum { NATIVE_MACHINE = EM_S390 };
#else
enum { NATIVE_MACHINE = EM_386 };
#endif
#if !defined(OTHER_KIND)
#define OTHER_KIND "none"
#endif

static const char foreign[] = "is built for another machine", fixed[] = "is statically linked",
                  other[] = "has another C library, whose loader cannot take the shim",
                  privileged[] = "gains rights when it starts, so that its loader takes no preload",
                  own_calls[] = "is a Go program, which makes its system calls itself",
                  bare[] = "was started without the preload, which the program before it took out",
                  sealed_off[] = "was started under seccomp, where the shim may make no system call",
                  out_of_reach[] = "was started where the shim or the folder of the trace cannot be reached";

// ---- bad pointers: exec itself makes EFAULT of them

struct pages {
    uintptr_t known[8]; // that can be read
    unsigned count;
    long pid;
};

// Whether a page can be read, without the fault that reading it might be.
static bool readable(const void *address, struct pages *pages) {
    uintptr_t page_at = (uintptr_t)address & -(uintptr_t)PAGE;
    for (unsigned i = 0; i < pages->count && i < 8; i++)
        if (pages->known[i] == page_at) return true;
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)address, 1};
    if (RAW(process_vm_readv, pages->pid, (long)&here, 1, (long)&there, 1, 0) == -EFAULT) return false;
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
    struct pages pages = {.pid = RAW(getpid, 0)};
    return readable(path, &pages) && readable_list(argv, &pages) && readable_list(envp, &pages);
}

// ---- the file

struct file {
    int fd;
    long size;   // of what was read
    char *bytes; // the first page
    struct statx found;
};

static bool file_look(struct file *file, int dirfd, const char *path, int flags) {
    file->fd = -1;
    file->size = 0;
    if (RAW(statx, dirfd, (long)path, flags, STATX_BASIC_STATS, (long)&file->found) != 0) return false;
    if (!S_ISREG(file->found.stx_mode)) return false;
    char name[32];
    struct text text = {name, name + sizeof name - 1};
    if (*path == '\0') { // the descriptor itself
        TEXT(&text, "/proc/self/fd/");
        text_number(&text, (uint64_t)dirfd);
        *text.at = '\0';
        path = name;
    }
    file->fd = (int)RAW(openat, dirfd, (long)path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file->fd >= 0) file->size = RAW(pread64, file->fd, (long)file->bytes, HEADER, 0);
    return true;
}

// A part of the file, from its first page where it lies there; else read into `room`.
static const char *file_part(const struct file *file, uint64_t offset, size_t size, char *room) {
    if (offset + size <= (uint64_t)file->size && offset + size >= size) return file->bytes + offset;
    return RAW(pread64, file->fd, (long)room, (long)size, (long)offset) == (long)size ? room : NULL;
}

// `#! interpreter argument`: the interpreter, in place.
static char *script_interpreter(struct file *file) {
    if (file->size < 4 || memcmp(file->bytes, "#!", 2) != 0) return NULL;
    char *at = file->bytes + 2, *end = file->bytes + file->size;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    char *start = at;
    while (at < end && strchr(" \t\n", *at) == NULL) at++;
    if (at == start || at == end) return NULL;
    *at = '\0';
    return start;
}

// Whether the kernel will say AT_SECURE, under which a loader takes no preload that names a folder.
static bool gains_rights(const struct file *file) {
    unsigned users[3] = {0}, groups[3] = {0}, mode = file->found.stx_mode;
    if (RAW(getresuid, (long)&users[0], (long)&users[1], (long)&users[2]) != 0) return false;
    RAW(getresgid, (long)&groups[0], (long)&groups[1], (long)&groups[2]);
    bool user = mode & S_ISUID, group = (mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    struct statfs system = {0};
    char capability[32];
    bool capable = !user && !group && users[0] != 0 && file->fd >= 0 &&
                   RAW(fgetxattr, file->fd, (long)"security.capability", (long)capability, sizeof capability) > 0;
    if (user || group || capable) {
        bool honoured = RAW(prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
                        !(file->fd >= 0 && RAW(fstatfs, file->fd, (long)&system) == 0 && (system.f_flags & ST_NOSUID));
        if (honoured && user) users[1] = file->found.stx_uid;
        if (honoured && group) groups[1] = file->found.stx_gid;
        if (honoured && capable) return true;
    }
    return users[0] != users[1] || groups[0] != groups[1];
}

static bool begins(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool go_note(const struct file *file, const ElfW(Phdr) * part) {
    char room[256];
    size_t size = part->p_filesz < sizeof room ? part->p_filesz : sizeof room;
    const char *note = file_part(file, part->p_offset, size, room);
    while (note != NULL && size >= 16) {
        ElfW(Nhdr) head;
        memcpy(&head, note, sizeof head);
        if (head.n_namesz == 4 && memcmp(note + sizeof head, "Go\0", 4) == 0) return true;
        uint64_t step = sizeof head + (((uint64_t)head.n_namesz + 3) & ~3u) + (((uint64_t)head.n_descsz + 3) & ~3u);
        if (step > size) break;
        note += step;
        size -= step;
    }
    return false;
}

// What the exec needs beside a reason: the shim taken out of the environment, or the other C library's in its place.
struct need {
    bool strip, other_library;
};

static const char *loader_reason(const struct file *file, const ElfW(Phdr) * part, struct need *need) {
    char room[PATH_MAX / 8];
    size_t size = part->p_filesz < sizeof room ? part->p_filesz : sizeof room;
    const char *loader = size == 0 ? NULL : file_part(file, part->p_offset, size, room);
    if (loader == NULL || loader[size - 1] != '\0') return NULL;
    const char *name = base_name(loader);
    need->strip = begins(name, "linker") || begins(name, "ld-uClibc") || begins(name, "ld64-uC");
    need->other_library = begins(name, "ld-musl") != OWN_MUSL;
    return need->strip ? other : NULL;
}

static const char *native_reason(const struct file *file, const ElfW(Ehdr) * head, const char *path,
                                 struct need *need) {
    bool loaded = false, go = false;
    for (unsigned i = 0; i < head->e_phnum && i < 64; i++) {
        char room[sizeof(ElfW(Phdr))];
        ElfW(Phdr) part;
        const char *bytes = file_part(file, head->e_phoff + (uint64_t)i * head->e_phentsize, sizeof part, room);
        if (bytes == NULL) return NULL;
        memcpy(&part, bytes, sizeof part);
        const char *reason = part.p_type == PT_INTERP ? loader_reason(file, &part, need) : NULL;
        if (reason != NULL) return reason;
        loaded |= part.p_type == PT_INTERP;
        go |= part.p_type == PT_NOTE && go_note(file, &part);
    }
    const char *name = base_name(path);
    bool loader = head->e_type == ET_DYN && begins(name, "ld") && strstr(name, ".so") != NULL;
    if (!loaded && !loader) return fixed;
    if (!loaded) need->other_library = begins(name, "ld-musl") != OWN_MUSL;
    return go ? own_calls : NULL;
}

static const char *elf_reason(const struct file *file, const char *path, struct need *need) {
    ElfW(Ehdr) head;
    if (file->size < (long)sizeof head || memcmp(file->bytes, ELFMAG, SELFMAG) != 0) return NULL;
    memcpy(&head, file->bytes, sizeof head);
    bool native = head.e_ident[EI_CLASS] == NATIVE_CLASS && head.e_machine == NATIVE_MACHINE;
    need->strip = !native;
    if (!native) return foreign;
    if (head.e_type != ET_EXEC && head.e_type != ET_DYN) return NULL;
    const char *reason = native_reason(file, &head, path, need);
    return reason == NULL && gains_rights(file) ? privileged : reason;
}

// Why the program cannot be watched; NULL: it can, or it will not start. Of a script its interpreter is looked at.
static const char *file_reason(struct file *file, int dirfd, const char *path, int flags, struct need *need) {
    const char *reason = NULL;
    char interpreter[256];
    for (int i = 0; i < SCRIPTS; i++) {
        if (!file_look(file, dirfd, path, flags)) return NULL;
        if (file->fd < 0) return gains_rights(file) ? privileged : NULL; // it can be run and not be read
        const char *next = script_interpreter(file);
        if (next == NULL) reason = elf_reason(file, path, need);
        bool fits = next != NULL && strlen(next) < sizeof interpreter;
        if (fits) memcpy(interpreter, next, strlen(next) + 1);
        RAW(close, file->fd);
        if (!fits) return reason;
        dirfd = AT_FDCWD;
        path = interpreter;
        flags = 0;
    }
    return NULL;
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

// ---- the environment

// The next library that LD_PRELOAD names, of whatever the loader splits at; NULL: no more.
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

static bool is_watched(char *const envp[]) {
    bool preload = false, trace = false;
    for (; envp != NULL && *envp != NULL; envp++) {
        preload |= preloads(*envp);
        trace |= begins(*envp, "PROVIO_TRACE=");
    }
    return preload && trace;
}

// The variable with another shim in place of this one, or (NULL) without it; false: nothing is left of it.
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

// With the folder first whose sitecustomize waits for h5py; `variable`: as it is, or NULL.
static void with_site(struct text *text, const char *folder, const char *variable) {
    TEXT(text, PYTHON_PATH);
    text_bytes(text, folder, strlen(folder));
    const char *before = variable == NULL ? "" : variable + sizeof PYTHON_PATH - 1;
    if (*before != '\0') TEXT(text, ":");
    text_bytes(text, before, strlen(before));
    TEXT(text, "\0");
}

struct change {
    bool preload;     // the shim is taken out,
    const char *shim; // or this one takes its place
    const char *site; // a folder that comes first where Python looks for modules, or NULL
};

static size_t change_room(const struct change *change, const char *variable) {
    size_t room = strlen(variable) + 2, libraries = 1;
    for (const char *at = variable; change->shim != NULL && *at != '\0'; at++) libraries += *at == ' ' || *at == ':';
    return change->shim == NULL ? room : room + libraries * strlen(change->shim);
}

static bool to_change(const char *variable, const struct change *change) {
    return (change->preload && preloads(variable)) || (change->site != NULL && begins(variable, PYTHON_PATH));
}

// A copy of the environment with other preloads, and with that folder: the caller's own stays as it is.
static void environment_change(struct launch *launch, char *const envp[], const struct change *change) {
    const char *site = change->site;
    size_t count = 2, size = site == NULL ? 0 : strlen(site) + sizeof PYTHON_PATH;
    for (char *const *at = envp; at != NULL && *at != NULL; at++, count++)
        if (to_change(*at, change)) size += change_room(change, *at);
    if (size == 0 || envp == NULL || !room_take(launch, count * sizeof *envp + size)) return;
    char **copy = (char **)launch->room, **to = copy;
    struct text text = {launch->room + count * sizeof *envp, launch->room + count * sizeof *envp + size};
    const char *path = NULL;
    for (; *envp != NULL; envp++) {
        char *start = text.at;
        if (!to_change(*envp, change))
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

// The package's folder, in which the shim lies: or `preload/<kind>`, and that in the folder. Its length; 0: too long.
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

// The shim for the other C library on this machine, beside this one; NULL: there is none.
static const char *other_shim(char *room) {
    static const char place[] = "preload/" OTHER_KIND "/libprovio.so";
    size_t length = package_folder(room);
    if (length == 0) return NULL;
    memcpy(room + length, place, sizeof place);
    if (RAW(faccessat, AT_FDCWD, (long)room, R_OK) == 0) return room;
    memcpy(room + length, base_name(place), strlen(base_name(place)) + 1); // of a source build, whose own it is not
    bool own = strcmp(room, own_name()) == 0;
    return !own && RAW(faccessat, AT_FDCWD, (long)room, R_OK) == 0 ? room : NULL;
}

// Where a Python that the shim will not be in finds the layer for h5py; NULL: it is none, or needs none.
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
    struct file file;
    struct need need = {false, false};
    struct change change = {false, NULL, NULL};
    char *room = pool_take(&scratches);
    if (room == NULL) return;
    file.bytes = room + PATH_ROOM / 2;
    bool found = !searched || strchr(path, '/') != NULL;
    if (!found && (found = search(room, path))) path = room;
    if (found) launch->reason = file_reason(&file, dirfd, path, flags, &need);
    if (need.other_library && !need.strip && (change.shim = other_shim(file.bytes)) == NULL) launch->reason = other;
    need.strip |= launch->reason == other;
    if (found && launch->reason == NULL) launch->reason = is_watched(envp) ? place_reason() : bare;
    if (launch->reason != NULL && (launch->path = pool_take(&scratches)) != NULL)
        launch->path_length = (uint32_t)path_join(launch->path, dirfd, path);
    bool alone = launch->path != NULL && (need.strip || launch->reason == bare);
    change.site = alone ? python_site(room, launch->path, envp) : NULL;
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
        struct file file = {.bytes = pool_take(&scratches)};
        if (file.bytes != NULL) file_reason(&file, AT_FDCWD, "/bin/sh", 0, &need);
        if (file.bytes != NULL) pool_give(&scratches, file.bytes);
        atomic_store(&known, need.other_library ? -1 : 1);
    }
    return relaxed(known) < 0 ? other : place_reason();
}
