// The shared libraries that the loader mapped into this process, for the packages that a run used. In: the loader's
// list. Out: a set of files, described once in a run next to the thread files, and its hash in a thread file.
//
// They are noted when the process first opens a file for writing, changes its folder, or forks, after it loaded a
// library; and at its end.
#include "event.h"

#include <link.h>

enum { NAMES_ROOM = 256 << 10, SETS = 16 };

EARLY _Atomic bool loaded_pending;          // noted sets lack a library, or this process did not write them
static _Atomic bool list_changed = true;    // the loader's list has changed since it was read
static _Atomic unsigned set_count, written; // of these sets, and how many this process wrote to its thread files
static uint64_t sets[SETS];
static _Atomic unsigned long long noted_adds; // the loader's count of added libraries when its list was read

struct names {
    char *start, *at, *end; // each with its NUL; an empty one ends the list
    const char *own;        // the folder of the shim
    size_t own_length;
};

static int name_add(struct dl_phdr_info *info, size_t size, void *data) {
    struct names *names = data;
    size_t length = info->dlpi_name == NULL ? 0 : strlen(info->dlpi_name) + 1;
    (void)size;
    atomic_store(&noted_adds, info->dlpi_adds);
    bool file = length > 1 && strchr(info->dlpi_name, '/') != NULL; // not the program, nor the kernel's own library
    bool own = file && names->own_length > 0 && strncmp(info->dlpi_name, names->own, names->own_length) == 0;
    if (file && !own && length < PATH_ROOM / 2 && names->at + length < names->end) {
        memcpy(names->at, info->dlpi_name, length);
        names->at += length;
    }
    return 0;
}

static uint64_t set_hash(const struct names *names) {
    uint64_t hash = HASH_START;
    struct facts facts;
    for (const char *at = names->start; *at != '\0'; at += strlen(at) + 1) {
        hash = hash_add(hash, at, strlen(at) + 1);
        if (!statx_facts(AT_FDCWD, at, 0, &facts)) continue;
        uint64_t version[] = {(uint64_t)facts.device_major << 32 | facts.device_minor, facts.inode, facts.modified};
        hash = hash_add(hash, version, sizeof version);
    }
    return hash == 0 ? 1 : hash;
}

// A library under its real name: the loader's name may be a symbolic link, or relative.
static void text_library(struct text *text, const char *name, const char *set, unsigned number, char *room) {
    struct facts facts;
    long fd = RAW(openat, AT_FDCWD, (long)name, O_PATH | O_CLOEXEC);
    if (fd < 0) return;
    size_t length = path_of_fd((int)fd, room, NULL);
    bool wanted = length > 0 && !(settings.limited && path_filtered(room, length));
    if (wanted && statx_facts((int)fd, "", AT_EMPTY_PATH, &facts)) {
        text_host(text);
        TEXT(text, "libraries/");
        text_string(text, set);
        TEXT(text, "/");
        text_number(text, number);
        TEXT(text, "> a " TERM_FileVersion);
        TEXT_NAME(text, path, room, length);
        text_facts(text, &facts);
        text_mounts(text);
        TEXT(text, " .\n");
    }
    RAW(close, fd);
}

static void set_describe(const struct names *names, uint64_t hash) {
    char set[24];
    struct text key = {set, set + sizeof set - 1};
    text_number(&key, hash);
    *key.at = '\0';
    unsigned count = 0, number = 0;
    for (const char *at = names->start; *at != '\0'; at += strlen(at) + 1) count++;
    size_t each = 1024 + strlen(settings.run) + strlen(settings.host) + FACTS_ROOM;
    struct side_file file;
    char *room = pool_take(&scratches);
    if (room != NULL && side_file_begin(&file, "/0.shared-libraries.", set, 128 + count * each)) {
        TEXT(&file.text, "@prefix : <https://w3id.org/provio/ns#> .\n");
        for (const char *at = names->start; *at != '\0'; at += strlen(at) + 1)
            text_library(&file.text, at, set, number++, room);
        side_file_end(&file);
    }
    if (room != NULL) pool_give(&scratches, room);
}

static void list_note(char *room, char *own) {
    struct names names = {room, room, room + NAMES_ROOM - 1, own, package_folder(own)};
    loader.dl_iterate_phdr(name_add, &names); // files are opened only after it released its lock
    uint64_t hash = set_hash(&names);
    unsigned count = relaxed(set_count), known = 0;
    while (known < count && sets[known] != hash) known++;
    if (known < count || count == SETS || names.at == names.start) return;
    set_describe(&names, hash);
    sets[count] = hash;
    atomic_store(&set_count, count + 1);
}

static void list_read(void) {
    atomic_store(&list_changed, false);
    char *own = pool_take(&scratches);
    long start = loader_ready() ? memory_map(NAMES_ROOM, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : -1;
    bool mapped = own != NULL && (start > 0 || start < -PAGE);
    if (mapped) list_note((char *)start, own);
    if (mapped) memory_unmap((void *)start, NAMES_ROOM);
    if (own != NULL) pool_give(&scratches, own);
}

// ` <../libraries/4711> a :Libraries .`
static bool set_write(struct thread *thread, uint64_t hash) {
    struct block block;
    if (!block_begin(thread, &block, 64)) return false;
    TEXT(&block.text, " <../libraries/");
    text_number(&block.text, hash);
    TEXT(&block.text, "> a " TERM_Libraries);
    event_end(&block);
    return true;
}

__attribute__((cold, noinline)) void loaded_note(struct thread *thread) {
    if (thread == NULL || lender != NULL || !live_ready(thread) || !atomic_exchange(&loaded_pending, false)) return;
    int error = errno;
    if (relaxed(list_changed)) list_read();
    for (unsigned at = relaxed(written); at < relaxed(set_count) && set_write(thread, sets[at]); at++)
        atomic_store(&written, at + 1);
    errno = error;
}

// Before the working directory changes: the loader's list has relative names as they were given.
__attribute__((cold, noinline)) void loaded_leave(struct thread *thread) {
    if (relaxed(list_changed)) loaded_note(thread);
}

static int adds_compare(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    (void)data;
    return info->dlpi_adds == relaxed(noted_adds) ? 1 : 2;
}

// The C library may load libraries itself, and another thread's dlopen(3) may have lasted longer than the last note.
void loaded_end(struct thread *thread) {
    bool asks = settings.libraries && !process.forked && loader_ready();
    if (asks && loader.dl_iterate_phdr(adds_compare, NULL) == 2) loaded_changed();
    if (relaxed(loaded_pending)) loaded_note(thread);
}

void loaded_changed(void) {
    atomic_store(&list_changed, true);
    atomic_store(&loaded_pending, settings.libraries);
}

// The child has the sets of its parent, and its own thread files.
void loaded_after_fork(void) {
    atomic_store(&written, 0);
    atomic_store(&loaded_pending, settings.libraries);
}
