// The live Turtle file of a thread, valid at every instant; described in docs/trace-format.md.
#include "live.h"

static struct pool lives = POOL(struct live);

// ---- the file name

// `<folder>/<pid>.<tick>.<n>.<k><ending>`
char *file_name(char *room, uint32_t number, uint32_t ordinal, const char *ending) {
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
    text_string(&text, ending);
    *text.at = '\0';
    return room;
}

static long file_create(char *room, uint32_t number, uint32_t ordinal) {
    file_name(room, number, ordinal, ".ttl");
    return RAW(openat, AT_FDCWD, (long)room, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

// The first file of a process image also claims its number: by exclusive creation against other images of this pid, by
// compare-and-swap against other threads. A thread that loses the latter renames its file.
static long file_claim(struct live *live, char *room) {
    uint32_t known = atomic_load(&process.number);
    if (known != 0) {
        live->ordinal = atomic_fetch_add(&process.ordinals, 1) + 1;
        return file_create(room, known - 1, live->ordinal);
    }
    uint32_t number = 0;
    long fd = file_create(room, number, 0);
    while (fd == -EEXIST) fd = file_create(room, ++number, 0);
    if (fd < 0) return fd;
    if (atomic_compare_exchange_strong(&process.number, &known, number + 1)) return fd;
    live->ordinal = atomic_fetch_add(&process.ordinals, 1) + 1;
    char *right = pool_take(&scratches);
    if (right == NULL) return -ENOMEM;
    file_name(right, known - 1, live->ordinal, ".ttl");
    RAW(renameat2, AT_FDCWD, (long)room, AT_FDCWD, (long)right, 0);
    memcpy(room, right, strlen(right) + 1);
    pool_give(&scratches, right);
    return fd;
}

// ---- the number of changes

// Repeat if a signal handler changed something in between: its larger number may have been overwritten.
void live_changed(const struct thread *thread) {
    struct live *live = thread->live;
    if (live == NULL || live->digits == NULL) return;
    uint64_t count = next_number(&live->changes);
    store_grown(live->digits, count, true);
    while (unlikely(count != AS_IT_IS(live->changes))) store_digits(live->digits, count = AS_IT_IS(live->changes));
}

// ---- gaps

static const char *reason_for(long error) {
    switch (-error) {
    case ENOSPC:
    case EDQUOT:
        return "no space left on the trace's file system";
    case EFBIG:
        return "the file-size limit was reached";
    case EMFILE:
    case ENFILE:
        return "no descriptor was left to open the trace with";
    case ENOMEM:
        return "no memory was left for the trace";
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
        return "the trace could not be opened";
    default:
        return "the trace could not be written";
    }
}

static void gap_write(struct thread *thread, struct live *live, long error) {
    struct chunk *chunk = atomic_load(&live->chunk);
    if (chunk == NULL) return;
    char *start = chunk->start + chunk->whole - KEPT_BACK;
    if (*start != '#') return; // there is a Gap already
    *(volatile char *)(start - 1) = '\n';
    struct block block = {{start + 1, start + KEPT_BACK - 1}, start, chunk, thread};
    thread->depth++;
    TEXT(&block.text, " <g1> a " TERM_Gap " ; " TERM_reason " \"");
    text_string(&block.text, reason_for(error));
    TEXT(&block.text, "\" ; " TERM_about " <../> .");
    block_commit(&block);
    gaps_changed(1);
}

// If no file can be created, a symbolic link needs neither a descriptor nor space for data.
static void gap_link(char *room, uint32_t number, const char *reason) {
    for (; number < 1000; number++) {
        file_name(room, number, 0, ".gap");
        long result = RAW(symlinkat, (long)reason, AT_FDCWD, (long)room);
        if (result == 0) gaps_changed(1);
        if (result != -EEXIST) return;
    }
}

// Where no memory is left, in the thread that needs it. Its file has space for a Gap.
void memory_ended(void) {
    static char room[PATH_ROOM];
    struct thread *thread = lender != NULL ? lender : self;
    struct live *live = thread == NULL ? NULL : thread->live;
    if (!settings.watched || relaxed(process.alive) == 0 || atomic_exchange(&process.memory_gap, true)) return;
    if (live != NULL && atomic_load(&live->chunk) != NULL)
        gap_write(thread, live, -ENOMEM);
    else if (!relaxed(under_seccomp) && process_identify() == 0)
        gap_link(room, relaxed(process.number) == 0 ? 0 : relaxed(process.number) - 1, reason_for(-ENOMEM));
}

static bool live_create(struct live *live, struct thread *thread) {
    char *room = pool_take(&scratches);
    if (room == NULL) return false;
    long fd = process_identify();
    if (fd == 0) fd = file_claim(live, room);
    long gained = fd < 0 ? fd : header_gain(live, thread, (int)fd, room + strlen(room) + 1, room + PATH_ROOM);
    if (fd >= 0) RAW(close, fd);
    if (gained != 0) {
        if (fd >= 0) RAW(unlinkat, AT_FDCWD, (long)room, 0);
        gap_link(room, 0, reason_for(gained));
    }
    pool_give(&scratches, room);
    return gained == 0;
}

static struct live *live_begin(struct thread *thread) {
    struct live *live = pool_take(&lives), *before = thread->live;
    if (live == NULL) return NULL;
    *live = (struct live){.next = FIRST_CHUNK};
    live->silent = !live_create(live, thread);
    if (thread->live == before) { // otherwise a signal handler has given this thread a file, which is in use
        thread->live = live;
        thread->ordinal = (int)live->ordinal;
        if (unlikely(relaxed(shared_maps) > 0) && process.forked) shared_maps_inherited();
    }
    return thread->live;
}

// The caller holds `live`; it is released here.
static bool live_grow(struct thread *thread, struct live *live, size_t need) {
    if (live->written) {
        live_write(live);
        if (chunk_open_for(atomic_load(&live->chunk), need)) {
            live_release(live);
            return true;
        }
    }
    char *room = pool_take(&scratches);
    if (room == NULL) {
        live_release(live);
        return false;
    }
    file_name(room, relaxed(process.number) - 1, live->ordinal, ending_of(live));
    long fd = RAW(openat, AT_FDCWD, (long)room, O_RDWR | O_CLOEXEC);
    long gained = fd < 0 ? fd : chunk_gain(live, (int)fd, need);
    if (fd >= 0) RAW(close, fd);
    live_release(live);
    if (gained != 0) {
        live->silent = true;
        gap_write(thread, live, gained);
    }
    pool_give(&scratches, room);
    return gained == 0;
}

static void gain_ahead(struct live *live, uint32_t size) {
    struct chunk *chunk = live == NULL || live->silent ? NULL : atomic_load(&live->chunk);
    if (chunk == NULL || live->written || chunk->size - KEPT_BACK >= relaxed(chunk->used) + size) return;
    if (!live_hold(live)) return;
    char *room = pool_take(&scratches);
    if (room == NULL) {
        live_release(live);
        return;
    }
    file_name(room, relaxed(process.number) - 1, live->ordinal, ending_of(live));
    long fd = RAW(openat, AT_FDCWD, (long)room, O_RDWR | O_CLOEXEC), gained = fd;
    live->next = PAGE;
    for (; fd >= 0 && size >= PAGE; size /= 2)
        if ((gained = chunk_gain(live, (int)fd, size)) == 0) break;
    if (fd >= 0) RAW(close, fd);
    live_release(live);
    pool_give(&scratches, room);
}

// Add space in advance, for records written when no more can be added: `size` bytes, or less. A failure does not make
// the thread silent.
void live_gain_ahead(struct thread *thread, uint32_t size) {
    if (!live_ready(thread)) return;
    gain_ahead(thread->live, size);
    gain_ahead(thread->calls, size);
}

static struct live *calls_begin(struct thread *thread);

static bool reserve_or_grow(struct thread *thread, struct live *live, struct block *block, size_t room) {
    for (int attempt = 0; attempt < 3; attempt++) {
        if (live->silent) return false;
        if (reserve(thread, live, block, room)) return true;
        if (!live_hold(live))
            live = live->of_calls ? calls_begin(thread) : live_begin(thread);
        else if (!live_grow(thread, live, room))
            return false;
        if (live == NULL) return false;
    }
    return false;
}

// The file of an ended thread, from here on used by this one.
static void introduce(struct thread *thread) {
    struct block block;
    if (!reserve_or_grow(thread, thread->live, &block, base_room() + THREAD_ROOM)) return;
    thread->ordinal = (int)atomic_fetch_add(&process.ordinals, 1) + 1;
    text_base(&block.text, process.pid, process.tick, relaxed(process.number) - 1, thread->ordinal);
    text_thread(&block.text, thread->tid, thread->epoch);
    block_commit(&block);
}

// In a child of vfork: its own base, in the file of the suspended parent.
static THREAD_LOCAL bool borrowed;

static void borrow(struct thread *thread) {
    struct block block;
    uint32_t pid = (uint32_t)RAW(getpid, 0), parent = 0;
    borrowed = true;
    uint64_t tick = start_tick(0, &parent);
    if (!reserve_or_grow(thread, thread->live, &block, base_room() + THREAD_ROOM + process_room())) return;
    text_base(&block.text, pid, tick, -1, 0);
    text_thread(&block.text, (int)pid, thread->epoch);
    text_process(&block.text, "fork", pid, tick, parent, now(thread));
    text_place(&block.text, false, "", 0, NULL);
    block_commit(&block);
}

// In the parent after vfork.
void base_return(struct thread *thread) {
    struct block block;
    if (!borrowed || thread->live == NULL) return;
    borrowed = false;
    if (!reserve_or_grow(thread, thread->live, &block, base_room())) return;
    text_base(&block.text, process.pid, process.tick, relaxed(process.number) - 1, thread->ordinal);
    block_commit(&block);
}

bool live_ready(struct thread *thread) {
    return thread->live != NULL || live_begin(thread) != NULL;
}

bool block_begin(struct thread *thread, struct block *block, size_t room) {
    if (unlikely(thread->live == NULL) && !live_ready(thread)) return false;
    if (unlikely(thread->live->silent)) return false;
    if (unlikely(thread->ordinal < 0)) introduce(thread);
    if (unlikely(lender != NULL) && !borrowed) borrow(thread);
    return reserve_or_grow(thread, thread->live, block, room);
}

void live_sweep(struct thread *thread) {
    chunks_sweep(thread->live);
}

// ---- the file of calls

// The base of the thread, or of a child of vfork in its parent's file.
static int64_t calls_base_due(const struct thread *thread) {
    return borrowed ? RAW(getpid, 0) : (int64_t)thread->ordinal << 32;
}

static void text_base_of_calls(struct text *text, const struct thread *thread, int64_t base) {
    if (borrowed)
        text_base(text, (uint32_t)base, start_tick(0, NULL), -1, 0);
    else
        text_base(text, process.pid, process.tick, relaxed(process.number) - 1, thread->ordinal);
}

// Next to the thread's file. If a signal handler interrupts adding space to that one, under an ordinal of its own.
static struct live *calls_begin(struct thread *thread) {
    struct live *live = pool_take(&lives);
    char *room = live == NULL ? NULL : pool_take(&scratches);
    if (room == NULL) return NULL;
    *live = (struct live){.next = FIRST_CHUNK, .of_calls = true, .ordinal = thread->live->ordinal};
    if (thread->calls != NULL) live->ordinal = atomic_fetch_add(&process.ordinals, 1) + 1;
    file_name(room, relaxed(process.number) - 1, live->ordinal, ending_of(live));
    long fd = RAW(openat, AT_FDCWD, (long)room, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    long gained = fd < 0 ? fd : chunk_gain(live, (int)fd, PREFIX_ROOM + base_room());
    if (fd >= 0) RAW(close, fd);
    struct block block;
    if (gained == 0 && reserve(thread, live, &block, PREFIX_ROOM + base_room())) {
        TEXT(&block.text, PREFIXES);
        text_base_of_calls(&block.text, thread, calls_base_due(thread));
        block_commit(&block);
    } else {
        live->silent = true;
        gap_write(thread, thread->live, gained);
    }
    pool_give(&scratches, room);
    thread->calls_base = calls_base_due(thread);
    return thread->calls = live;
}

static bool calls_base(struct thread *thread) {
    int64_t base = calls_base_due(thread);
    struct block block;
    if (thread->calls_base == base) return true;
    if (!reserve_or_grow(thread, thread->calls, &block, base_room())) return false;
    text_base_of_calls(&block.text, thread, base);
    block_commit(&block);
    thread->calls_base = base;
    return true;
}

static bool line_begin_slow(struct thread *thread, struct block *block, size_t size) {
    if (thread->calls == NULL && calls_begin(thread) == NULL) return false;
    return calls_base(thread) && reserve_or_grow(thread, thread->calls, block, size);
}

bool line_begin(struct thread *thread, struct block *block, size_t size) {
    struct live *live = thread->calls;
    bool usual = live != NULL && !live->silent && thread->calls_base == (int64_t)thread->ordinal << 32 && !borrowed;
    return (likely(usual) && reserve(thread, live, block, size)) || line_begin_slow(thread, block, size);
}

void line_end(struct thread *thread, struct block *block) {
    block_store(block); // the number of changes is in another file
    *(volatile int *)&thread->depth -= 1;
    if (unlikely(block->chunk->older != NULL) && thread->depth == 1) chunks_sweep(thread->calls);
}

// ---- files next to the thread files, each written once in a run

// The name sorts before those of thread files, because it is needed to read them. Returns false if the file cannot be
// written, or another process has written it.
bool side_file_begin(struct side_file *file, const char *kind, const char *key, size_t room) {
    char *path = size_allowed(room) ? pool_take(&scratches) : NULL;
    if (path == NULL) return false;
    struct text name = {path, path + PATH_ROOM - 1};
    text_string(&name, settings.folder);
    text_string(&name, kind);
    text_string(&name, key);
    TEXT(&name, ".ttl");
    *name.at = '\0';
    file->fd = RAW(openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    pool_give(&scratches, path);
    if (file->fd < 0) return false;
    long start = memory_map(room, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start < 0 && start > -PAGE) {
        RAW(close, file->fd);
        return false;
    }
    file->room = room;
    file->start = (char *)start;
    file->text = (struct text){file->start, file->start + room};
    return true;
}

void side_file_end(struct side_file *file) {
    if (file->text.at < file->text.end) RAW(write, file->fd, (long)file->start, file->text.at - file->start);
    memory_unmap(file->start, file->room);
    RAW(close, file->fd);
}
