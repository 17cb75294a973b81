// The live Turtle file of a thread, valid at every instant; described in docs/trace-format.md.
#include "live.h"

static struct pool lives = POOL(struct live);
static THREAD_LOCAL bool borrowed; // in a child of vfork: its own base is in force, in the file of the suspended parent

// ---- the number of changes

// Repeat if a signal handler changed something in between: its larger number may have been overwritten.
void chunk_changed(const struct chunk *chunk) {
    struct trace_file *file = chunk->file;
    if (file->digits == NULL) return;
    uint64_t count = next_number(&file->changes);
    store_grown(file->digits, count, true);
    while (unlikely(count != AS_IT_IS(file->changes))) store_digits(file->digits, count = AS_IT_IS(file->changes));
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
    shim_enter(thread);
    TEXT(&block.text, " <g1> a " TERM_Gap " ; " TERM_reason " \"");
    text_string(&block.text, reason_for(error));
    TEXT(&block.text, "\" ; " TERM_about " <../> .");
    block_commit(&block);
    gaps_changed(1);
}

// If no file can be created, a symbolic link needs neither a descriptor nor space for data.
static void gap_link(char *room, uint32_t number, const char *reason) {
    for (; number < 1000; number++) {
        file_name(room, number, 0, 0, ".gap");
        long result = RAW(symlinkat, (long)reason, AT_FDCWD, (long)room);
        if (result == 0) gaps_changed(1);
        if (result != -EEXIST) return;
    }
}

// A write into a file that cannot be mapped failed: a Gap in it could not be written either.
void live_lost(void) {
    char *room = pool_take(&scratches);
    if (room == NULL) return;
    gap_link(room, relaxed(process.number) - 1, reason_for(-EIO));
    pool_give(&scratches, room);
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
    struct unmade interrupted = thread->making; // by this signal handler
    char *room = pool_take(&scratches);
    if (room == NULL) return false;
    long fd = process_identify();
    if (fd == 0) fd = file_claim(live, thread, room);
    long gained = fd < 0 ? fd : header_gain(live, thread, (int)fd, room + strlen(room) + 1, room + PATH_ROOM);
    if (fd >= 0) RAW(close, fd);
    if (gained != 0) {
        if (fd >= 0) RAW(unlinkat, AT_FDCWD, (long)room, 0);
        gap_link(room, 0, reason_for(gained));
    }
    if (gained == 0) file_list(room);
    thread->making = interrupted;
    pool_give(&scratches, room);
    return gained == 0;
}

static struct live *live_begin(struct thread *thread) {
    struct live *live = pool_take(&lives), *before = thread->live;
    if (live == NULL) return NULL;
    *live = (struct live){.next = FIRST_CHUNK, .file = trace_file_new(0)};
    if (live->file == NULL) return NULL;
    shim_enter(thread);
    live->silent = !live_create(live, thread);
    if (thread->live == before) { // otherwise a signal handler has given this thread a file, which is in use
        thread->live = live;
        thread->ordinal = (int)live->ordinal;
        if (unlikely(relaxed(shared_maps) > 0) && process.forked) shared_maps_inherited();
    }
    shim_leave(thread);
    return thread->live;
}

static long live_extend(struct live *live, size_t need, char *room) {
    file_name(room, relaxed(process.number) - 1, live->ordinal, live->file->number, ending_of(live));
    long fd = RAW(openat, AT_FDCWD, (long)room, O_RDWR | O_CLOEXEC);
    long gained = fd < 0 ? fd : chunk_gain(live, (int)fd, need);
    if (fd >= 0) RAW(close, fd);
    return gained;
}

static void text_base_in_force(struct text *text, const struct thread *thread) {
    if (borrowed)
        text_base(text, (uint32_t)RAW(getpid, 0), start_tick(0, NULL), -1, 0);
    else
        text_base(text, process.pid, process.tick, relaxed(process.number) - 1, thread->ordinal);
}

// The prefixes and the base are in the chunk before another block can be.
static void continue_write(struct thread *thread, struct chunk *chunk, size_t room) {
    char *start = chunk->start + chunk->used;
    struct block block = {{start + 1, start + room - 1}, start, chunk, thread};
    start[room - 1] = '\n';
    if (chunk->used > 0) start[-1] = '\n';
    chunk->used += (uint32_t)room;
    TEXT(&block.text, PREFIXES);
    text_base_in_force(&block.text, thread);
    if (block_store(&block)) chunk_changed(chunk);
}

// Continue in another file. Accesses in the present one count there until they end. The caller blocks all signals: no
// handler may jump out of it.
static long live_continue(struct thread *thread, struct live *live, size_t need, char *room) {
    struct live before = {.file = live->file, .size = live->size, .next = live->next};
    struct chunk *chunk;
    size_t header = aligned_size(PREFIX_ROOM + base_room());
    struct trace_file *file = trace_file_new(live->file->number + 1);
    if (file == NULL) return -ENOMEM;
    long fd = file_create(room, relaxed(process.number) - 1, live->ordinal, file->number, ending_of(live));
    live->file = file;
    live->size = 0;
    live->next = FIRST_CHUNK;
    long gained = fd < 0 ? fd : chunk_new(live, (int)fd, header + need, &chunk);
    if (fd >= 0) RAW(close, fd);
    if (gained == 0) {
        continue_write(thread, chunk, header);
        if (!live->of_calls) file_list(room);
        if (live->written) chunk_open_for(chunk, need);
        chunk_publish(live, chunk);
        return 0;
    }
    if (fd >= 0) RAW(unlinkat, AT_FDCWD, (long)room, 0);
    live->file = before.file;
    live->size = before.size;
    live->next = before.next;
    return gained;
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
    long gained;
    if (live->size + live->next + need > LARGEST_FILE) {
        uint64_t all = UINT64_MAX, before = 0;
        RAW(rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof before);
        gained = live_continue(thread, live, need, room);
        RAW(rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before);
    } else {
        gained = live_extend(live, need, room);
    }
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
    live->next = PAGE;
    for (; size >= PAGE; size /= 2)
        if (live_extend(live, size, room) == 0) break;
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

static bool grow_and_reserve(struct thread *thread, struct live *live, struct block *block, size_t room) {
    for (int attempt = 0; attempt < 3; attempt++) {
        if (!live_hold(live))
            live = live->of_calls ? calls_begin(thread) : live_begin(thread);
        else if (!live_grow(thread, live, room))
            return false;
        if (live == NULL || live->silent) return false;
        if (reserve(thread, live, block, room)) return true;
    }
    return false;
}

static bool reserve_or_grow(struct thread *thread, struct live *live, struct block *block, size_t room) {
    if (live->silent) return false;
    if (likely(reserve(thread, live, block, room))) return true;
    shim_enter(thread);
    bool reserved = grow_and_reserve(thread, live, block, room);
    shim_leave(thread);
    return reserved;
}

// The file of an ended thread, from here on used by this one.
static void introduce(struct thread *thread) {
    struct block block;
    thread->ordinal = (int)atomic_fetch_add(&process.ordinals, 1) + 1;
    if (!reserve_or_grow(thread, thread->live, &block, base_room() + THREAD_ROOM)) return;
    text_base(&block.text, process.pid, process.tick, relaxed(process.number) - 1, thread->ordinal);
    text_thread(&block.text, thread->tid, thread->epoch);
    block_commit(&block);
}

static void borrow(struct thread *thread) {
    struct block block;
    uint32_t pid = (uint32_t)RAW(getpid, 0), parent = 0;
    borrowed = true;
    uint64_t tick = start_tick(0, &parent);
    if (!reserve_or_grow(thread, thread->live, &block, base_room() + THREAD_ROOM + process_room())) return;
    text_base(&block.text, pid, tick, -1, 0);
    text_thread(&block.text, (int)pid, thread->epoch);
    text_process(&block.text, "fork", pid, tick, parent, now(thread));
    text_place(&block.text, false, "", 0);
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

// K of the base in force.
int base_ordinal(const struct thread *thread) {
    return borrowed ? 0 : thread->ordinal;
}

bool live_ready(struct thread *thread) {
    return thread->live != NULL || live_begin(thread) != NULL;
}

bool block_begin(struct thread *thread, struct block *block, size_t room) {
    if (unlikely(thread->jumped)) {
        uintptr_t pointer;
        STACK_POINTER(pointer);
        shim_mend(thread, pointer);
    }
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

// Next to the thread's file. If a signal handler interrupts adding space to that one, under an ordinal of its own.
static struct live *calls_begin(struct thread *thread) {
    struct live *live = pool_take(&lives);
    char *room = live == NULL ? NULL : pool_take(&scratches);
    if (room == NULL) return NULL;
    *live = (struct live){
        .next = FIRST_CHUNK, .of_calls = true, .ordinal = thread->live->ordinal, .file = trace_file_new(0)};
    if (live->file == NULL) return NULL;
    if (thread->calls != NULL) live->ordinal = atomic_fetch_add(&process.ordinals, 1) + 1;
    long fd = file_create(room, relaxed(process.number) - 1, live->ordinal, 0, ending_of(live));
    long gained = fd < 0 ? fd : chunk_gain(live, (int)fd, PREFIX_ROOM + base_room());
    if (fd >= 0) RAW(close, fd);
    struct block block;
    if (gained == 0 && reserve(thread, live, &block, PREFIX_ROOM + base_room())) {
        TEXT(&block.text, PREFIXES);
        text_base_in_force(&block.text, thread);
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
    text_base_in_force(&block.text, thread);
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
    block_store(block); // its file has no number of changes
    shim_leave(thread);
    if (unlikely(block->chunk->older != NULL) && thread->depth == 1) chunks_sweep(thread->calls);
}

// ---- files next to the thread files, each written once in a run

// The name sorts before those of thread files, because it is needed to read them. The file is made when its text is
// complete. Returns false if the file cannot be written, or another process has written it.
bool side_file_begin(struct side_file *file, const char *kind, const char *key, size_t room) {
    char *path = size_allowed(room) ? pool_take(&scratches) : NULL;
    if (path == NULL) return false;
    struct text name = {path, path + PATH_ROOM - 1};
    text_string(&name, settings.folder);
    text_string(&name, kind);
    text_string(&name, key);
    TEXT(&name, ".ttl");
    *name.at = '\0';
    bool there = RAW(faccessat, AT_FDCWD, (long)path, F_OK) == 0;
    long start = there ? -1 : memory_map(room, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start < 0 && start > -PAGE) {
        pool_give(&scratches, path);
        return false;
    }
    file->path = path;
    file->room = room;
    file->start = (char *)start;
    file->text = (struct text){file->start, file->start + room};
    return true;
}

void side_file_end(struct side_file *file) {
    long size = file->text.at - file->start, fd = -1;
    if (file->text.at < file->text.end)
        fd = RAW(openat, AT_FDCWD, (long)file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        bool written = RAW(write, fd, (long)file->start, size) == size;
        if (!written) RAW(unlinkat, AT_FDCWD, (long)file->path, 0); // a full disk: another process may try again
        RAW(close, fd);
    }
    memory_unmap(file->start, file->room);
    pool_give(&scratches, file->path);
}
