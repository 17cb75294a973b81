// The live Turtle file of a thread: valid at every instant. docs/trace-format.md says how and why.
#include "shim.h"

#include <sys/mman.h>

enum {
    FIRST_CHUNK = 4096,
    LARGEST_CHUNK = 256 * 1024,
    LARGEST_OF_CALLS = 1024 * 1024, // a chunk costs some 80 us beside its bytes: of a file that grows fast, larger ones
    KEPT_BACK = 256,                // of each chunk, for a Gap
};

struct live {
    uint32_t ordinal; // k in its name
    uint32_t next;    // size of the next chunk
    uint64_t size;
    struct chunk *_Atomic chunk;
    int gaining; // a chunk is being gained: a handler must take another file
    bool silent;
    bool of_calls; // `….calls.ttl`
};

static const char *ending_of(const struct live *live) {
    return live->of_calls ? ".calls.ttl" : ".ttl";
}

static struct pool lives = POOL(struct live);
static struct pool chunks = POOL(struct chunk);

// Pages of `#` and a newline: an iovec that ends behind it ends with it. Four, so that the largest chunk is one write:
// ext4 lays it out in larger pieces then, and it is a fifth cheaper to gain and to touch.
#define SIXTEEN "################"
#define QUARTER SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN
#define KIBI QUARTER QUARTER QUARTER QUARTER QUARTER QUARTER QUARTER QUARTER
#define FOUR_KIBI KIBI KIBI KIBI KIBI
enum { FILLING = 4 * PAGE };
static const char filling[FILLING + 2] = FOUR_KIBI FOUR_KIBI FOUR_KIBI FOUR_KIBI "\n";

static long space_gain(int fd, uint64_t offset, uint32_t size) {
    struct rlimit limit;
    if (RAW(prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit) == 0 && offset + size > limit.rlim_cur) return -EFBIG;
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

// 0, or why not.
static long chunk_gain(struct live *live, int fd, size_t need) {
    uint32_t size = live->next;
    while (size < need + KEPT_BACK + 16) size += PAGE;
    struct chunk *chunk = pool_take(&chunks);
    if (chunk == NULL) return -ENOMEM;
    long result = space_gain(fd, live->size, size);
    if (result == 0) result = memory_map(size, MAP_SHARED, fd, (long)live->size);
    if (result < 0 && result > -PAGE) {
        RAW(ftruncate, fd, (long)live->size);
        pool_give(&chunks, chunk);
        return result;
    }
    *chunk = (struct chunk){.size = size, .start = (char *)result, .older = atomic_load(&live->chunk)};
    live->size += size;
    uint32_t largest = live->of_calls ? LARGEST_OF_CALLS : LARGEST_CHUNK;
    live->next = size < largest ? 2 * size : largest;
    atomic_store(&live->chunk, chunk);
    return 0;
}

// ---- the file's name

// `<folder>/<pid>.<tick>.<n>.<k><ending>`
static char *file_name(char *room, uint32_t number, uint32_t ordinal, const char *ending) {
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

// The first file of an image also claims its number: by exclusive creation against other images of this pid,
// by compare-and-swap against other threads; who loses the second gives the file its own name.
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

// ---- blocks

// One instruction, without a lock: only this thread and its handlers reserve here.
static inline uint32_t advance(_Atomic uint32_t *counter, uint32_t amount) {
#if defined(__x86_64__)
    asm volatile("xaddl %0, %1" : "+r"(amount), "+m"(*counter)::"cc");
    return amount;
#else
    return atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
#endif
}

// Blocks with counters are aligned to them.
static bool reserve(struct thread *thread, struct live *live, struct block *block, size_t room) {
    uint32_t size = live->of_calls ? (uint32_t)room + 2 : ((uint32_t)room + 2 + 15) & ~15u;
    struct chunk *chunk = atomic_load(&live->chunk);
    if (chunk == NULL || relaxed(chunk->used) + size > chunk->size - KEPT_BACK) return false;
    *(volatile int *)&thread->depth += 1; // until the commit
    uint32_t at = advance(&chunk->used, size);
    if (at + size > chunk->size - KEPT_BACK) {
        *(volatile int *)&thread->depth -= 1;
        return false;
    }
    char *start = chunk->start + at;
    *(volatile char *)(start + size - 1) = '\n';
    if (at > 0) *(volatile char *)(start - 1) = '\n'; // an interrupted reservation before may not have come to it
    atomic_signal_fence(memory_order_seq_cst);
    *block = (struct block){{start + 1, start + size - 1}, start, chunk, thread};
    return true;
}

static void text_base(struct text *text, uint32_t pid, uint64_t tick, int64_t number, int ordinal) {
    TEXT(text, " @base <https://w3id.org/provio/run/");
    text_string(text, settings.run);
    TEXT(text, "/");
    text_string(text, settings.host);
    TEXT(text, "/");
    text_number(text, pid);
    TEXT(text, ".");
    text_number(text, tick);
    TEXT(text, ".");
    if (number < 0)
        TEXT(text, "v");
    else
        text_number(text, (uint64_t)number);
    TEXT(text, "/");
    text_number(text, (uint64_t)ordinal);
    TEXT(text, "/> .");
}

static void text_thread(struct text *text, int tid, uint64_t epoch) {
    if (left_out(CLASS_THREAD)) {
        TEXT(text, " <> " TERM_epochNs " ");
        text_number(text, epoch);
    } else {
        TEXT(text, " <> a " TERM_Thread);
        TEXT_NUMBER(text, TERM_tid, (uint64_t)tid);
        TEXT_NUMBER(text, TERM_epochNs, epoch);
        if (!left_out(CLASS_PROGRAM)) TEXT(text, " ; prov:actedOnBehalfOf <../program>");
    }
    TEXT(text, " .");
}

static size_t arguments_room(void) {
    size_t room = 0;
    for (const char *at = settings.arguments; at < settings.arguments_end; at += strlen(at) + 1)
        room += argument_room(at) + 1;
    return room;
}

static void text_process(struct text *text, const char *image, uint32_t pid, uint64_t tick, uint32_t parent,
                         uint64_t started) {
    bool told = !left_out(CLASS_PROCESS); // else only what ties it to others
    TEXT(text, " <../> ");
    if (told) {
        TEXT(text, "a " TERM_Process);
        TEXT_NUMBER(text, TERM_pid, pid);
        TEXT_NUMBER(text, TERM_startTick, tick);
        TEXT(text, " ; ");
    }
    TEXT(text, TERM_parentPid " ");
    text_number(text, parent);
    if (told) text_name(text, TERM_host, TERM_host, settings.host, strlen(settings.host));
    TEXT(text, " ; " TERM_image " \"");
    text_string(text, image);
    TEXT(text, "\"");
    TEXT_NUMBER(text, TERM_startedNs, started);
    if (settings.ranked && !left_out(CLASS_RANK)) TEXT_NUMBER(text, TERM_rank, settings.rank);
    if (!told) return;
    TEXT(text, " ; " TERM_argv " \"");
    for (const char *at = settings.arguments; at < settings.arguments_end; at += strlen(at) + 1) {
        if (at != settings.arguments) TEXT(text, " ");
        text_argument(text, at);
    }
    TEXT(text, "\"");
}

static void text_place(struct text *text, const char *executable, size_t executable_size, const char *cwd,
                       size_t cwd_size, const struct mounts *mounts) {
    static const char gone[] = " (deleted)"; // as /proc says it
    size_t tail = sizeof gone - 1;
    struct facts facts; // of the file that runs, whatever its name leads to by now
    bool known = executable_size > 0 && statx_facts(AT_FDCWD, "/proc/self/exe", 0, &facts);
    if (known && facts.links == 0 && executable_size > tail &&
        memcmp(executable + executable_size - tail, gone, tail) == 0)
        executable_size -= tail;
    if (executable_size > 0 && !left_out(CLASS_PROGRAM)) {
        TEXT_NAME(text, executable, executable, executable_size);
        if (known && !left_out(CLASS_FILE)) text_facts(text, &facts);
    }
    if (cwd_size > 0 && !left_out(CLASS_PROCESS)) TEXT_NAME(text, cwd, cwd, cwd_size);
    text_mounts(text, mounts);
    TEXT(text, " .");
}

#define PREFIXES                                                                                                       \
    "@prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "                 \
    "@prefix : <https://w3id.org/provio/ns#> ."

static size_t base_room(void) {
    return strlen(settings.run) + strlen(settings.host) + 128;
}

enum { THREAD_ROOM = 128, PREFIX_ROOM = 256 };

static size_t process_room(void) {
    return 416 + FACTS_ROOM + MOUNTS_ROOM + name_room(settings.host, strlen(settings.host)) + arguments_room();
}

static void header_write(struct live *live, struct thread *thread, const char *executable, size_t executable_size,
                         const char *cwd, size_t cwd_size, const struct mounts *mounts, size_t room) {
    struct block block;
    if (!reserve(thread, live, &block, room)) return;
    TEXT(&block.text, PREFIXES);
    text_base(&block.text, process.pid, process.tick, relaxed(process.number) - 1, (int)live->ordinal);
    text_thread(&block.text, thread->tid, thread->epoch);
    if (live->ordinal == 0) {
        text_process(&block.text, process.forked ? "fork" : "exec", process.pid, process.tick, process.parent,
                     process.started);
        text_place(&block.text, executable, executable_size, cwd, cwd_size, mounts);
    }
    block_commit(&block);
}

static long header_gain(struct live *live, struct thread *thread, int fd) {
    if (live->ordinal > 0) {
        size_t room = PREFIX_ROOM + base_room() + THREAD_ROOM;
        long gained = chunk_gain(live, fd, room);
        if (gained == 0) header_write(live, thread, "", 0, "", 0, NULL, room);
        return gained;
    }
    char *executable = pool_take(&scratches), *cwd = executable;
    if (executable == NULL) return -ENOMEM;
    long executable_size = RAW(readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)executable, PATH_MAX);
    if (executable_size < 0) executable_size = 0;
    cwd += executable_size;
    long cwd_size = RAW(getcwd, (long)cwd, PATH_MAX); // with its NUL
    cwd_size = cwd_size > 0 && cwd[0] == '/' ? cwd_size - 1 : 0;
    size_t room = PREFIX_ROOM + base_room() + THREAD_ROOM + process_room() +
                  name_room(executable, (size_t)executable_size) + name_room(cwd, (size_t)cwd_size);
    struct mounts mounts;
    mounts_look(&mounts);
    long gained = chunk_gain(live, fd, room);
    if (gained == 0)
        header_write(live, thread, executable, (size_t)executable_size, cwd, (size_t)cwd_size, &mounts, room);
    pool_give(&scratches, executable);
    return gained;
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
        return "no memory was left to map the trace";
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
    char *start = chunk->start + chunk->size - KEPT_BACK;
    if (*start != '#') return; // there is one already
    *(volatile char *)(start - 1) = '\n';
    struct block block = {{start + 1, start + KEPT_BACK - 1}, start, chunk, thread};
    thread->depth++;
    TEXT(&block.text, " <g1> a " TERM_Gap " ; " TERM_reason " \"");
    text_string(&block.text, reason_for(error));
    TEXT(&block.text, "\" ; " TERM_about " <../> .");
    block_commit(&block);
}

// No file at all: a symbolic link needs neither a descriptor nor space for data.
static void gap_link(char *room, const char *reason) {
    for (uint32_t number = 0; number < 1000; number++) {
        file_name(room, number, 0, ".gap");
        if (RAW(symlinkat, (long)reason, AT_FDCWD, (long)room) != -EEXIST) return;
    }
}

static bool live_create(struct live *live, struct thread *thread) {
    char *room = pool_take(&scratches);
    if (room == NULL) return false;
    long fd = process_identify();
    if (fd == 0) fd = file_claim(live, room);
    long gained = fd < 0 ? fd : header_gain(live, thread, (int)fd);
    if (fd >= 0) RAW(close, fd);
    if (gained != 0) {
        if (fd >= 0) RAW(unlinkat, AT_FDCWD, (long)room, 0);
        gap_link(room, reason_for(gained));
    }
    pool_give(&scratches, room);
    return gained == 0;
}

static struct live *live_begin(struct thread *thread) {
    struct live *live = pool_take(&lives), *before = thread->live;
    if (live == NULL) return NULL;
    *live = (struct live){.next = FIRST_CHUNK};
    live->silent = !live_create(live, thread);
    if (thread->live == before) { // else a handler gave this thread a file meanwhile: that one is in use
        thread->live = live;
        thread->ordinal = (int)live->ordinal;
    }
    return thread->live;
}

static bool live_grow(struct thread *thread, struct live *live, size_t need) {
    char *room = pool_take(&scratches);
    if (room == NULL) return false;
    live->gaining = 1;
    file_name(room, relaxed(process.number) - 1, live->ordinal, ending_of(live));
    long fd = RAW(openat, AT_FDCWD, (long)room, O_RDWR | O_CLOEXEC);
    long gained = fd < 0 ? fd : chunk_gain(live, (int)fd, need);
    if (fd >= 0) RAW(close, fd);
    live->gaining = 0;
    if (gained != 0) {
        live->silent = true;
        gap_write(thread, live, gained);
    }
    pool_give(&scratches, room);
    return gained == 0;
}

static struct live *calls_begin(struct thread *thread);

static void gain_ahead(struct live *live, uint32_t size) {
    struct chunk *chunk = live == NULL || live->silent || live->gaining ? NULL : atomic_load(&live->chunk);
    if (chunk == NULL || chunk->size - KEPT_BACK >= relaxed(chunk->used) + size) return;
    char *room = pool_take(&scratches);
    if (room == NULL) return;
    live->gaining = 1;
    file_name(room, relaxed(process.number) - 1, live->ordinal, ending_of(live));
    long fd = RAW(openat, AT_FDCWD, (long)room, O_RDWR | O_CLOEXEC), gained = fd;
    live->next = PAGE;
    for (; fd >= 0 && size >= PAGE; size /= 2)
        if ((gained = chunk_gain(live, (int)fd, size)) == 0) break;
    if (fd >= 0) RAW(close, fd);
    live->gaining = 0;
    pool_give(&scratches, room);
}

// Space for what is written when none can be gained any more: so much, or what there is. Nothing goes silent by it.
void live_gain_ahead(struct thread *thread, uint32_t size) {
    if (!live_ready(thread)) return;
    gain_ahead(thread->live, size);
    gain_ahead(thread->calls, size);
}

static bool reserve_or_grow(struct thread *thread, struct live *live, struct block *block, size_t room) {
    for (int attempt = 0; attempt < 3; attempt++) {
        if (live->silent) return false;
        if (reserve(thread, live, block, room)) return true;
        if (live->gaining)
            live = live->of_calls ? calls_begin(thread) : live_begin(thread);
        else if (!live_grow(thread, live, room))
            return false;
        if (live == NULL) return false;
    }
    return false;
}

// A file that another thread handed on: from here on it is this one's.
static void introduce(struct thread *thread) {
    struct block block;
    if (!reserve_or_grow(thread, thread->live, &block, base_room() + THREAD_ROOM)) return;
    thread->ordinal = (int)atomic_fetch_add(&process.ordinals, 1) + 1;
    text_base(&block.text, process.pid, process.tick, relaxed(process.number) - 1, thread->ordinal);
    text_thread(&block.text, thread->tid, thread->epoch);
    block_commit(&block);
}

// In a vfork's child: its own base, in the suspended parent's file.
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
    text_place(&block.text, "", 0, "", 0, NULL);
    block_commit(&block);
}

// Back in the parent of a vfork.
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

// Gives back the chunks in which nothing counts any more. Only called where no handler interrupted the shim.
static void chunks_sweep(struct live *live) {
    if (live == NULL || live->gaining) return;
    struct chunk *chunk = atomic_load(&live->chunk), *older;
    for (; chunk != NULL && (older = chunk->older) != NULL;) {
        if (older->accesses != 0) {
            chunk = older;
            continue;
        }
        chunk->older = older->older;
        memory_unmap(older->start, older->size);
        pool_give(&chunks, older);
    }
}

void live_sweep(struct thread *thread) {
    chunks_sweep(thread->live);
}

// ---- the file of calls

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
    block_commit(block);
    if (unlikely(block->chunk->older != NULL) && thread->depth == 1) chunks_sweep(thread->calls);
}
