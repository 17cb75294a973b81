// The files of a thread: their names, their creation, and the list of all files of the run on this host.
#include "live.h"

// `<folder>/<pid>.<tick>.<n>.<k>[.<m>]<ending>`
char *file_name(char *room, uint32_t number, uint32_t ordinal, uint32_t part, const char *ending) {
    struct text text = {room, room + PATH_ROOM - 1};
    text_string(&text, settings.folder);
    TEXT(&text, "/");
    text_number(&text, process.pid);
    TEXT(&text, ".");
    text_number(&text, process.tick);
    TEXT(&text, ".");
    text_number(&text, number);
    TEXT(&text, ".");
    text_number(&text, ordinal);
    if (part > 0) {
        TEXT(&text, ".");
        text_number(&text, part);
    }
    text_string(&text, ending);
    *text.at = '\0';
    return room;
}

// Add the name of a thread file to the list of all: readers see that one is missing. A file that cannot be listed is
// used all the same.
void file_list(const char *path) {
    static const char list[] = "/threads";
    char room[96];
    struct text line = {room, room + sizeof room};
    const char *name = path + settings.folder_length + 1;
    text_bytes(&line, name, strlen(name) - sizeof ".ttl" + 1);
    TEXT(&line, "\n");
    size_t size = (size_t)(line.at - room);
    char *place = pool_take(&scratches);
    if (place == NULL) return;
    memcpy(place, settings.folder, settings.folder_length);
    memcpy(place + settings.folder_length, list, sizeof list);
    long fd = RAW(openat, AT_FDCWD, (long)place, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    pool_give(&scratches, place);
    if (fd < 0) return;
    // The size of the list matters only if sizes are limited.
    if (size_allowed(INT64_MAX) || size_allowed((uint64_t)RAW(lseek, fd, 0, SEEK_END) + size))
        RAW(write, fd, (long)room, size);
    RAW(close, fd);
}

long file_create(char *room, uint32_t number, uint32_t ordinal, uint32_t part, const char *ending) {
    file_name(room, number, ordinal, part, ending);
    return RAW(openat, AT_FDCWD, (long)room, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static long file_make(struct thread *thread, char *room, uint32_t number, uint32_t ordinal) {
    thread->making.ordinal = ordinal;
    thread->making.number = number + 1;
    return file_create(room, number, ordinal, 0, ".ttl");
}

// A signal handler jumped out of the making of a file: without a header, it has no record.
void file_unmake(struct thread *thread) {
    char first = '#', *room = thread->making.number == 0 ? NULL : pool_take(&scratches);
    if (room == NULL) return;
    file_name(room, thread->making.number - 1, thread->making.ordinal, 0, ".ttl");
    long fd = RAW(openat, AT_FDCWD, (long)room, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        RAW(pread64, fd, (long)&first, 1, CHANGES);
        RAW(close, fd);
        if (first != ' ' && RAW(unlinkat, AT_FDCWD, (long)room, 0) == 0 && thread->making.ordinal == 0 &&
            relaxed(process.number) == thread->making.number)
            atomic_store(&process.headless, true);
    }
    thread->making.number = 0;
    pool_give(&scratches, room);
}

// The first file of a process image also claims its number: by exclusive creation against other images of this pid, by
// compare-and-swap against other threads. A thread that loses the latter renames its file.
long file_claim(struct live *live, struct thread *thread, char *room) {
    uint32_t known = atomic_load(&process.number);
    if (known != 0) {
        bool first = unlikely(relaxed(process.headless)) && atomic_exchange(&process.headless, false);
        live->ordinal = first ? 0 : atomic_fetch_add(&process.ordinals, 1) + 1;
        return file_make(thread, room, known - 1, live->ordinal);
    }
    uint32_t number = 0;
    long fd = file_make(thread, room, number, 0);
    while (fd == -EEXIST) fd = file_make(thread, room, ++number, 0);
    if (fd < 0) return fd;
    if (atomic_compare_exchange_strong(&process.number, &known, number + 1)) return fd;
    live->ordinal = atomic_fetch_add(&process.ordinals, 1) + 1;
    char *right = pool_take(&scratches);
    if (right == NULL) return -ENOMEM;
    file_name(right, known - 1, live->ordinal, 0, ".ttl");
    RAW(renameat2, AT_FDCWD, (long)room, AT_FDCWD, (long)right, 0);
    memcpy(room, right, strlen(right) + 1);
    pool_give(&scratches, right);
    return fd;
}
