// The file of calls beside a thread's live file, at detail `call`: a line for each.
#include "live_file.h"

// The base of the thread, or of a vfork's child in its parent's file.
static int64_t calls_base_due(const struct thread *thread) {
    return borrowed ? RAW(getpid, 0) : (int64_t)thread->ordinal << 32;
}

static void text_base_of_calls(struct text *text, const struct thread *thread, int64_t base) {
    if (borrowed)
        text_base(text, (uint32_t)base, start_tick(0, NULL), -1, 0);
    else
        text_base(text, process.pid, process.tick, relaxed(process.number) - 1, thread->ordinal);
}

// Beside the thread's file; where a handler interrupts the gaining of space for that one, under an ordinal of its own.
struct live *calls_begin(struct thread *thread) {
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

static bool line_begin_anew(struct thread *thread, struct block *block, size_t size) {
    if (thread->calls == NULL && calls_begin(thread) == NULL) return false;
    return calls_base(thread) && reserve_or_grow(thread, thread->calls, block, size);
}

bool line_begin(struct thread *thread, struct block *block, size_t size) {
    struct live *live = thread->calls;
    bool usual = live != NULL && !live->silent && thread->calls_base == (int64_t)thread->ordinal << 32 && !borrowed;
    return (likely(usual) && reserve(thread, live, block, size)) || line_begin_anew(thread, block, size);
}

void line_end(struct thread *thread, struct block *block) {
    block_store(block); // of another file than the one that tells its changes
    *(volatile int *)&thread->depth -= 1;
    if (unlikely(block->chunk->older != NULL) && thread->depth == 1) chunks_sweep(thread->calls);
}
