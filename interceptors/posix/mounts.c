// The mounts that a process sees, where they are others than those of `provio run`: in a container. Its names mean
// something outside only by them. Each table that is met is a file beside the thread files, once; one that could not
// be read or kept is named all the same, which tells merge that it is missing.
#include "shim.h"

#include <sys/mman.h>

enum { LARGEST_TABLE = 1 << 20 };

// FNV-1a.
static uint64_t hash_of(const char *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash;
}

static size_t table_read(char *room) {
    long fd = RAW(openat, AT_FDCWD, (long)"/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    size_t size = 0;
    long part;
    while (size < LARGEST_TABLE && (part = RAW(read, fd, (long)(room + size), (long)(LARGEST_TABLE - size))) > 0)
        size += (size_t)part;
    RAW(close, fd);
    return size < LARGEST_TABLE ? size : 0;
}

static void text_table_name(struct text *text, const struct mounts *mounts) {
    text_number(text, mounts->space);
    TEXT(text, ".");
    text_number(text, mounts->hash);
}

void text_mounts(struct text *text, const struct mounts *mounts) {
    if (mounts == NULL || !mounts->other) return;
    TEXT(text, " ; " TERM_mounts " \"");
    text_table_name(text, mounts);
    TEXT(text, "\"");
}

static void text_table(struct text *text, const struct mounts *mounts, const char *table, size_t size) {
    TEXT(text, "@prefix : <https://w3id.org/provio/ns#> .\n<https://w3id.org/provio/run/");
    text_string(text, settings.run);
    TEXT(text, "/");
    text_string(text, settings.host);
    TEXT(text, "/mounts/");
    text_table_name(text, mounts);
    TEXT(text, "> a " TERM_MountTable);
    TEXT_NAME(text, table, table, size);
    TEXT(text, " .\n");
}

// A name that sorts before those of thread files: what they say is read by it.
static long table_create(const struct mounts *mounts) {
    char *room = pool_take(&scratches);
    if (room == NULL) return -ENOMEM;
    struct text name = {room, room + PATH_ROOM - 1};
    text_string(&name, settings.folder);
    TEXT(&name, "/0.mounts.");
    text_table_name(&name, mounts);
    TEXT(&name, ".ttl");
    *name.at = '\0';
    long fd = RAW(openat, AT_FDCWD, (long)room, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    pool_give(&scratches, room);
    return fd;
}

static void table_keep(const struct mounts *mounts, const char *table, size_t size) {
    size_t room = 512 + strlen(settings.run) + strlen(settings.host) + name_room(table, size);
    struct rlimit limit;
    if (RAW(prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit) == 0 && room > limit.rlim_cur) return; // else SIGXFSZ
    long fd = table_create(mounts);
    if (fd < 0) return; // another process has kept it
    long start = memory_map(room, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start > 0 || start < -PAGE) {
        struct text text = {(char *)start, (char *)start + room};
        text_table(&text, mounts, table, size);
        RAW(write, fd, start, text.at - (char *)start);
        memory_unmap((void *)start, room);
    }
    RAW(close, fd);
}

void mounts_look(struct mounts *mounts) {
    struct facts facts;
    *mounts = (struct mounts){0};
    if (settings.mounts == 0) return;
    if (!statx_facts(AT_FDCWD, "/proc/self/ns/mnt", 0, &facts)) facts.inode = 0; // no /proc: who knows
    if (likely(facts.inode == settings.mounts)) return;
    *mounts = (struct mounts){facts.inode, 0, true};
    long start = memory_map(LARGEST_TABLE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start < 0 && start > -PAGE) return;
    size_t size = table_read((char *)start);
    if (size > 0) {
        mounts->hash = hash_of((char *)start, size);
        table_keep(mounts, (char *)start, size);
    }
    memory_unmap((void *)start, LARGEST_TABLE);
}
