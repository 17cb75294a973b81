// Reads the file that an exec will start, and decides whether the shim can record it. For a script, its interpreter is
// read. provio/system/executable.py does the same.
#include "event.h"

#include <link.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

enum { HEADER = 2048, SCRIPTS = 5 };

#if __SIZEOF_POINTER__ == 8
enum { NATIVE_CLASS = ELFCLASS64 };
#else
enum { NATIVE_CLASS = ELFCLASS32 };
#endif
#if defined(__x86_64__)
enum { NATIVE_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { NATIVE_MACHINE = EM_AARCH64 };
#elif defined(__riscv)
enum { NATIVE_MACHINE = EM_RISCV };
#elif defined(__powerpc64__)
enum { NATIVE_MACHINE = EM_PPC64 };
#elif defined(__s390x__)
enum { NATIVE_MACHINE = EM_S390 };
#else
enum { NATIVE_MACHINE = EM_386 };
#endif

const char other_library[] = "has another C library, whose loader cannot take the shim";
static const char foreign[] = "is built for another machine", fixed[] = "is statically linked",
                  privileged[] = "gains rights when it starts, so that its loader takes no preload",
                  own_calls[] = "is a Go program, which makes its system calls itself";

struct file {
    int fd;
    long size;   // number of bytes read
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

// A part of the file: in its first page if possible, otherwise read into `room`.
static const char *file_part(const struct file *file, uint64_t offset, size_t size, char *room) {
    if (offset + size <= (uint64_t)file->size && offset + size >= size) return file->bytes + offset;
    return RAW(pread64, file->fd, (long)room, (long)size, (long)offset) == (long)size ? room : NULL;
}

// The interpreter of `#! interpreter argument`, in place.
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

// Whether the kernel will set AT_SECURE: the loader then ignores preloads with a directory in their name.
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

static bool is_go_note(const struct file *file, const ElfW(Phdr) * part) {
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

static const char *loader_reason(const struct file *file, const ElfW(Phdr) * part, struct need *need) {
    char room[PATH_MAX / 8];
    size_t size = part->p_filesz < sizeof room ? part->p_filesz : sizeof room;
    const char *loader = size == 0 ? NULL : file_part(file, part->p_offset, size, room);
    if (loader == NULL || loader[size - 1] != '\0') return NULL;
    const char *name = base_name(loader);
    need->strip = begins(name, "linker") || begins(name, "ld-uClibc") || begins(name, "ld64-uC");
    need->other_library = begins(name, "ld-musl") != OWN_MUSL;
    return need->strip ? other_library : NULL;
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
        go |= part.p_type == PT_NOTE && is_go_note(file, &part);
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

const char *image_reason(char *room, int dirfd, const char *path, int flags, struct need *need) {
    struct file found, *file = &found;
    const char *reason = NULL;
    char interpreter[256];
    file->bytes = room;
    for (int i = 0; i < SCRIPTS; i++) {
        if (!file_look(file, dirfd, path, flags)) return NULL;
        if (file->fd < 0) return gains_rights(file) ? privileged : NULL; // it is executable but not readable
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
