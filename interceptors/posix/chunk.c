// The space of a live file: chunks that are gained at its end and mapped, and given back when nothing counts in them.
#include "live.h"

enum {
    LARGEST_CHUNK = 256 * 1024,
    LARGEST_OF_CALLS = 1024 * 1024, // a chunk costs some 80 us beside its bytes: of a file that grows fast, larger ones
    LARGEST_WRITTEN = 16 * 1024,    // where all of it is written each time
};

static struct pool chunks = POOL(struct chunk);

// Pages of `#` and a newline: an iovec that ends behind it ends with it. Four, so that the largest chunk is one write:
// ext4 lays it out in larger pieces then, and it is a fifth cheaper to gain and to touch.
#define SIXTEEN "################"
#define QUARTER SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN
#define KIBI QUARTER QUARTER QUARTER QUARTER QUARTER QUARTER QUARTER QUARTER
#define FOUR_KIBI KIBI KIBI KIBI KIBI
enum { FILLING = 4 * PAGE };
static const char filling[FILLING + 2] = FOUR_KIBI FOUR_KIBI FOUR_KIBI FOUR_KIBI "\n";

// A file that is made larger than that ends the program, unless it handles the signal.
bool size_allowed(uint64_t size) {
    struct rlimit limit;
    return RAW(prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit) != 0 || size <= limit.rlim_cur;
}

static long space_gain(int fd, uint64_t offset, uint32_t size) {
    if (!size_allowed(offset + size)) return -EFBIG;
    while (size > 0) {
        struct iovec parts[16];
        unsigned count = 0;
        uint32_t planned = 0;
        for (; count < 16 && planned < size; count++) {
            uint32_t rest = size - planned, part = rest < FILLING ? rest : FILLING;
            const char *start = rest > FILLING ? filling : filling + FILLING + 1 - part;
            parts[count] = (struct iovec){(char *)start, part};
            planned += part;
        }
        long written = RAW(pwritev, fd, (long)parts, count, (long)offset, 0);
        if (written != (long)planned) return written < 0 ? written : -ENOSPC;
        offset += planned;
        size -= planned;
    }
    return 0;
}

static void changes_begin(struct live *live, struct chunk *chunk) {
    chunk->used = CHANGES;
    chunk->accesses = 1; // it stays mapped
    live->digits = chunk->start + 16;
    memset(live->digits, '0', 16);
}

long chunk_gain(struct live *live, int fd, size_t need) {
    bool first = live->size == 0 && !live->of_calls;
    uint32_t size = live->next;
    if (first) need += CHANGES;
    while (size < need + KEPT_BACK + 16) size += PAGE;
    struct chunk *chunk = pool_take(&chunks);
    if (chunk == NULL) return -ENOMEM;
    long result = space_gain(fd, live->size, size);
    if (result == 0) result = live->written ? -ENODEV : memory_map(size, MAP_SHARED, fd, (long)live->size);
    // A child has no use for it, and who has many chunks mostly has them of many children. Not where a child may take
    // itself for its parent.
    if (result > 0 && settings.wipes && atomic_load(&live->chunk) != NULL) RAW(madvise, result, size, MADV_DONTFORK);
    if (is_refused(result)) result = chunk_as_memory(live, fd, size);
    if (result < 0 && result > -PAGE) {
        RAW(ftruncate, fd, (long)live->size);
        pool_give(&chunks, chunk);
        return result;
    }
    *chunk = (struct chunk){.size = size, .whole = size, .start = (char *)result, .offset = live->size};
    if (first) changes_begin(live, chunk);
    if (live->written) chunk_open_for(chunk, need);
    chunk->older = atomic_load(&live->chunk);
    live->size += size;
    uint32_t largest = live->written ? LARGEST_WRITTEN : live->of_calls ? LARGEST_OF_CALLS : LARGEST_CHUNK;
    live->next = size < largest ? 2 * size : largest;
    atomic_store(&live->chunk, chunk);
    return 0;
}

// Gives back the chunks in which nothing counts any more. Only called where no handler interrupted the shim.
void chunks_sweep(struct live *live) {
    struct chunk *chunk = live == NULL ? NULL : atomic_load(&live->chunk), *older;
    if (chunk == NULL || chunk->older == NULL || !live_hold(live)) return;
    if (live->written) live_write(live);
    for (; (older = chunk->older) != NULL;) {
        if (older->accesses != 0) {
            chunk = older;
            continue;
        }
        chunk->older = older->older;
        memory_unmap(older->start, older->whole);
        pool_give(&chunks, older);
    }
    live_release(live);
}

// ---- where the file system maps no file

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

// So much more of it may be used: then it is to be written first.
bool chunk_open_for(struct chunk *chunk, size_t room) {
    uint32_t size = relaxed(chunk->used) + aligned_size(room) + KEPT_BACK;
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
