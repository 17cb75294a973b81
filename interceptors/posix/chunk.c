// The space of a live file: chunks are added at its end and mapped; they are unmapped when nothing counts in them.
#include "live.h"

enum {
    LARGEST_CHUNK = 256 * 1024,
    LARGEST_OF_CALLS = 1024 * 1024, // a chunk costs about 80 us plus its bytes: fast-growing files get larger ones
    LARGEST_WRITTEN = 16 * 1024,    // where the whole chunk is written each time
};

static struct pool chunks = POOL(struct chunk), files = POOL(struct trace_file);

// Four pages of `#` and a newline; an iovec for the end of a chunk ends with the newline. Four, so that the largest
// chunk is a single write: ext4 then allocates larger extents, which makes the chunk a fifth cheaper to add and to
// touch.
#define SIXTEEN "################"
#define QUARTER SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN
#define KIBI QUARTER QUARTER QUARTER QUARTER QUARTER QUARTER QUARTER QUARTER
#define FOUR_KIBI KIBI KIBI KIBI KIBI
enum { FILLING = 4 * PAGE };
static const char filling[FILLING + 2] = FOUR_KIBI FOUR_KIBI FOUR_KIBI FOUR_KIBI "\n";

// Extending a file beyond its size limit kills the program, unless it handles the signal.
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

// ---- file systems that cannot map a file for writing

static EARLY struct live *_Atomic written; // Of this process and of the processes from which it was forked.

static bool is_refused(long result) {
    return result == -ENODEV || result == -EINVAL || result == -EOPNOTSUPP || result == -EPERM || result == -EACCES;
}

static long chunk_as_memory(struct live *live, int fd, uint32_t size) {
    long start = memory_map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start < 0 && start > -PAGE) return start;
    if (RAW(pread64, fd, start, size, (long)live->size) != (long)size) { // the file was filled before
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

// Allow the use of more of the chunk; the part before must have been written to the file.
bool chunk_open_for(struct chunk *chunk, size_t room) {
    uint32_t size = relaxed(chunk->used) + aligned_size(room) + KEPT_BACK;
    if (size > chunk->whole) return false;
    chunk->size = size;
    return true;
}

// Write a copy of the chunk, page by page from the last one: if it is interrupted, no block starts without its end.
static bool chunk_write(const struct chunk *chunk, int fd) {
    uint32_t used = (relaxed(chunk->used) + PAGE - 1) & ~(uint32_t)(PAGE - 1);
    bool gap = chunk->start[chunk->whole - KEPT_BACK] != '#';
    uint32_t size = gap || used > chunk->whole ? chunk->whole : used, at = size;
    long copy = size == 0 ? -ENOMEM : memory_map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy < 0 && copy > -PAGE) return size == 0;
    memcpy((char *)copy, chunk->start, size);
    while (at > 0) {
        uint32_t part = (at - 1) & ~(uint32_t)(PAGE - 1);
        if (RAW(pwrite64, fd, copy + part, at - part, (long)(chunk->offset + part)) < 0) break;
        at = part;
    }
    memory_unmap((void *)copy, size);
    return at == 0;
}

// The caller holds `live`.
void live_write(struct live *live) {
    char *room = pool_take(&scratches);
    if (room == NULL) return;
    const struct trace_file *file = NULL;
    long fd = -1;
    for (struct chunk *chunk = atomic_load(&live->chunk); chunk != NULL; chunk = chunk->older) {
        if (chunk->file != file) {
            file = chunk->file;
            if (fd >= 0) RAW(close, fd);
            file_name(room, relaxed(process.number) - 1, live->ordinal, file->number, ending_of(live));
            fd = RAW(openat, AT_FDCWD, (long)room, O_WRONLY | O_CLOEXEC);
        }
        bool whole = fd >= 0 && chunk_write(chunk, (int)fd);
        if (!whole && !live->lost) live_lost();
        if (!whole) live->lost = true;
    }
    if (fd >= 0) RAW(close, fd);
    pool_give(&scratches, room);
}

bool live_is_written(const struct live *live) {
    return live->written;
}

// The next chunk, published.
long chunk_gain(struct live *live, int fd, size_t need) {
    struct chunk *chunk;
    long gained = chunk_new(live, fd, need, &chunk);
    if (gained == 0) chunk_publish(live, chunk);
    return gained;
}

bool live_hold(struct live *live) {
    static const struct thread other; // a thread without a state
    const struct thread *none = NULL;
    return atomic_compare_exchange_strong(&live->holder, &none, self == NULL ? &other : self);
}

// Readers must see a close even if nothing follows. If a signal handler interrupted the holder, the close is written
// later.
void live_write_now(struct live *live) {
    if (!live_hold(live)) return;
    live_write(live);
    live_release(live);
}

// Another thread releases its file soon. A holder that was interrupted by this signal handler is not waited for.
static bool live_hold_soon(struct live *live) {
    for (int attempt = 0; attempt < 100; attempt++) {
        if (live_hold(live)) return true;
        RAW(sched_yield, 0);
    }
    return false;
}

// A forked child has the parent's list, and skips its files.
void lives_write(void) {
    struct live *live = atomic_load(&written);
    long pid = live == NULL ? 0 : RAW(getpid, 0);
    for (; live != NULL; live = live->next_written)
        if (live->pid == pid && live_hold_soon(live)) {
            live_write(live);
            live_release(live);
        }
}

// ---- chunks

struct trace_file *trace_file_new(uint32_t number) {
    struct trace_file *file = pool_take(&files);
    if (file != NULL) *file = (struct trace_file){.number = number};
    return file;
}

static void changes_begin(struct chunk *chunk) {
    chunk->used = CHANGES;
    chunk->accesses = 1; // the first chunk stays mapped
    chunk->file->digits = chunk->start + 16;
    memset(chunk->file->digits, '0', 16);
}

long chunk_new(struct live *live, int fd, size_t need, struct chunk **made) {
    bool first = live->size == 0 && !live->of_calls;
    uint32_t size = live->next;
    if (first) need += CHANGES;
    while (size < need + KEPT_BACK + 16) size += PAGE;
    struct chunk *chunk = pool_take(&chunks);
    if (chunk == NULL) return -ENOMEM;
    long result = space_gain(fd, live->size, size);
    if (result == 0) result = live->written ? -ENODEV : memory_map(size, MAP_SHARED, fd, (long)live->size);
    // A child does not need the chunk, and processes with many chunks often have many children. Not without
    // MADV_WIPEONFORK, because then a child may not notice the fork.
    if (result > 0 && settings.wipes && atomic_load(&live->chunk) != NULL) RAW(madvise, result, size, MADV_DONTFORK);
    if (is_refused(result)) result = chunk_as_memory(live, fd, size);
    if (result < 0 && result > -PAGE) {
        RAW(ftruncate, fd, (long)live->size);
        pool_give(&chunks, chunk);
        return result;
    }
    *chunk =
        (struct chunk){.size = size, .whole = size, .start = (char *)result, .file = live->file, .offset = live->size};
    if (first) changes_begin(chunk);
    if (live->written) chunk_open_for(chunk, need);
    live->size += size;
    uint32_t largest = live->written ? LARGEST_WRITTEN : live->of_calls ? LARGEST_OF_CALLS : LARGEST_CHUNK;
    live->next = size < largest ? 2 * size : largest;
    *made = chunk;
    return 0;
}

void chunk_publish(struct live *live, struct chunk *chunk) {
    chunk->older = atomic_load(&live->chunk);
    atomic_store(&live->chunk, chunk);
}

// Unmap chunks in which nothing counts. Only called when no signal handler interrupted the shim.
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
