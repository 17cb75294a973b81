// Where the file system maps no file for writing (FUSE with direct I/O, 9p without a cache): the chunks are memory,
// written into the file before each next block, before an exec and at the end.
#include "live_file.h"

static EARLY struct live *_Atomic written; // of this process, and of those that it is a fork of

bool is_refused(long result) {
    return result == -ENODEV || result == -EINVAL || result == -EOPNOTSUPP || result == -EPERM || result == -EACCES;
}

long chunk_as_memory(struct live *live, int fd, uint32_t size) {
    long start = memory_map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start < 0 && start > -PAGE) return start;
    if (RAW(pread64, fd, start, size, (long)live->size) != (long)size) { // it was filled before
        memory_unmap((void *)start, size);
        return -EIO;
    }
    if (live->written) return start;
    live->written = true;
    live->pid = RAW(getpid, 0);
    live->next_written = atomic_load(&written);
    while (!atomic_compare_exchange_weak(&written, &live->next_written, live)) {
    }
    return start;
}

static uint32_t reserved_size(size_t room) {
    return ((uint32_t)room + 2 + 15) & ~15u;
}

// So much more of it may be used: then it is to be written first.
bool chunk_open_for(struct chunk *chunk, size_t room) {
    uint32_t size = relaxed(chunk->used) + reserved_size(room) + KEPT_BACK;
    if (size > chunk->whole) return false;
    chunk->size = size;
    return true;
}

// Of a copy, page by page from the last one: whatever is cut short, no block begins whose end is not there.
static void chunk_write(const struct chunk *chunk, int fd) {
    uint32_t used = (relaxed(chunk->used) + PAGE - 1) & ~(uint32_t)(PAGE - 1);
    bool gap = chunk->start[chunk->whole - KEPT_BACK] != '#';
    uint32_t size = gap || used > chunk->whole ? chunk->whole : used, at = size;
    long copy = size == 0 ? -ENOMEM : memory_map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy < 0 && copy > -PAGE) return;
    memcpy((char *)copy, chunk->start, size);
    while (at > 0) {
        uint32_t part = (at - 1) & ~(uint32_t)(PAGE - 1);
        if (RAW(pwrite64, fd, copy + part, at - part, (long)(chunk->offset + part)) < 0) break;
        at = part;
    }
    memory_unmap((void *)copy, size);
}

// Of what this thread holds.
void live_write(struct live *live) {
    char *room = pool_take(&scratches);
    if (room == NULL) return;
    file_name(room, relaxed(process.number) - 1, live->ordinal, ending_of(live));
    long fd = RAW(openat, AT_FDCWD, (long)room, O_WRONLY | O_CLOEXEC);
    for (struct chunk *chunk = atomic_load(&live->chunk); fd >= 0 && chunk != NULL; chunk = chunk->older)
        chunk_write(chunk, (int)fd);
    if (fd >= 0) RAW(close, fd);
    pool_give(&scratches, room);
}

bool live_is_written(const struct live *live) {
    return live->written;
}

// A close is to be seen by readers though nothing may follow it. Where a handler interrupted, that is written later.
void live_write_now(struct live *live) {
    if (!live_hold(live)) return;
    live_write(live);
    live_release(live);
}

// What another thread does with its own takes it a moment; what a handler interrupted is not waited for.
static bool live_hold_soon(struct live *live) {
    for (int attempt = 0; attempt < 100; attempt++) {
        if (live_hold(live)) return true;
        RAW(sched_yield, 0);
    }
    return false;
}

// A fork has its parent's, and leaves them alone.
void lives_write(void) {
    struct live *live = atomic_load(&written);
    long pid = live == NULL ? 0 : RAW(getpid, 0);
    for (; live != NULL; live = live->next_written)
        if (live->pid == pid && live_hold_soon(live)) {
            live_write(live);
            live_release(live);
        }
}
