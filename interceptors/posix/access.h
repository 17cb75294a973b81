// From a thread, an opening, a Task and a function to their counters.
#ifndef PROVIO_ACCESS_H
#define PROVIO_ACCESS_H

#include "object.h"

// ---- task.c: the Task of a thread
// A thread that enters or leaves a Task gets a new number, so that it no longer matches its previous counters: calls
// need no check beyond the one without Tasks.

uint64_t scope_of(struct thread *thread);
bool had_number(const struct thread *thread, uint32_t number);
void scopes_begin(struct thread *thread, bool made);
void tasks_after_fork(void);
bool task_is_own(uint64_t task);
void declarations_after_fork(void); // declarations.c
void text_task(struct text *text, uint64_t scope);
static inline size_t task_room(uint64_t scope) {
    return likely(scope == 0) ? 0 : sizeof " ; " TERM_task " <../t>" + digits_at_most(scope);
}

// ---- access.c: (thread, opening, Task, function) -> its counters

enum side { READING, WRITING };

// One direction of an access. One call touches its first cache line and reads the start of the second. After a system
// call, cold cache lines and cold code are the main cost of a wrapper.
struct counters {
    _Atomic uint32_t owner; // the thread's number; other threads read it, and nothing else unless it is theirs
    int16_t api;            // -1: none
    int16_t side;
    uint64_t serial;
    uint64_t values[4]; // count, bytes, elapsed, last
    char *digits;       // of the count in the live file; the others follow at steps of 32 bytes: see enum digits
    uint64_t next;      // the offset where a consecutive call would start

    uint64_t low, width; // the range of sizes that need no counter of their own; width 0: no call had a size yet
    uint64_t longest, empty;
    struct spread *spread; // the sizes of the other calls
    uint64_t usual;        // the value of `width` while width is 0 so that each call is examined: read_write_turns.c
    uint64_t turn, turn_last, turn_bytes;
    unsigned turns;
    uint64_t source;  // of a Copy: its source; of failures: their error
    uint64_t number;  // of the access in its name
    const char *term; // NULL: the default of the side
    bool own;         // of the access of an opening: its name has the opening's number
    char *attempted;  // of writes and copies into a pipe or connection: the digits of the last one that began
    char prefix[16];  // start of the lines of its calls at detail `call`, ending at the last byte
    unsigned prefix_length;
};
enum { COUNT, BYTES, ELAPSED, LAST };
enum digits { FIRST = 4, LONGEST, EMPTY };

struct access {
    struct counters side[2];
    char *slot; // of the access of an opening, until its close: the digits of the opening before its counters
    unsigned slot_kind;
    struct object *object;
    struct access *next; // in the same slot of the thread's table
    struct access *mine; // of the same thread
    struct chunk *chunk;
    uint64_t scope; // the Task
};

#define AN_ERROR ((uint64_t)1 << 63) // in `source`

// For failures that belong to no opening.
extern struct object unknown_object, within; // `within`: in `source`, for all objects of a file

struct counters *access_find(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api);
struct counters *access_counted(struct thread *thread, struct object *object, const char *term, int api,
                                struct object *source);
void access_forget(struct thread *thread);
void access_abandon(struct thread *thread);
void access_touched(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                    uint64_t time);
void access_failed_with(struct thread *thread, struct object *object, int api, int error, uint64_t started);
static inline void access_failed(struct thread *thread, struct object *object, int api, uint64_t started) {
    access_failed_with(thread, object, api, errno, started);
}
void access_attempted(struct thread *thread, struct object *object, uint64_t serial, int api);
void copy_attempted(struct thread *thread, struct object *object, int api, struct object *source, bool failed);
void account_stream(struct thread *thread, struct object *object, enum side side, int api, uint64_t bytes);
void account_carry(struct thread *thread, struct object *object, enum side side, int api);
struct access *access_new(struct thread *thread, struct object *object, uint64_t serial, uint64_t number,
                          struct chunk *chunk);
void access_remember(struct thread *thread, struct access *access);
void text_access(struct text *text, const struct counters *counters);

// intercept.c
void count_change(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                  uint64_t started);
void count_operation(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                     uint64_t started);

// call_lines.c
void account_other_detail(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                          uint64_t offset, uint64_t bytes, uint64_t started);
void call_line(struct thread *thread, struct counters *counters, uint64_t count, uint64_t offset, uint64_t bytes,
               uint64_t started, uint64_t elapsed, int error);

// sizes.c
void counters_begin(struct counters *counters, uint64_t bytes, uint64_t first);
void sizes_free(struct counters *counters);
void sizes_finish(struct thread *thread, struct text *text, struct counters *counters);
void counters_store_longest(struct counters *counters, uint64_t elapsed);
void counters_store_again(struct counters *counters);
void counters_note_size(struct thread *thread, struct counters *counters, uint64_t bytes, bool consecutive,
                        uint64_t first);

// read_write_turns.c: reads that resume after the process wrote, and writes that resume after it read
void turn_to(enum side side);
bool is_of_channel(const struct counters *counters);
void turn_follow(struct counters *counters);
void turn_look(struct thread *thread, struct counters *counters, uint64_t first);
void turn_end(struct thread *thread, struct counters *counters, uint64_t first);

// A counter in the text: a label of 16 bytes and 16 digits.
enum { COUNTER = 32 };
#define PADDING "                "
#define ZEROS "0000000000000000"

void text_counter(struct text *text, const char *label);
void text_align(struct text *text);
void text_counted_api(struct text *text, const char *property, int api);

// opening.c
void access_opened(struct thread *thread, struct object *object, int api, uint64_t started, uint64_t elapsed);

// slots.c
unsigned side_counters(enum side side, bool channel);
void text_side(struct text *text, struct access *access, enum side side, int api, bool channel);
struct access *access_own(struct thread *thread, struct object *object, uint64_t serial, const int apis[2]);
enum { SLOT_OF_SIZES = 8 }; // kinds of slots: a bit for each side and one for channels; then the sizes of each side

// ---- the cost of one call: its counters, in memory and in the live file
// Inline in every wrapper of a read or a write.

// The digits of a counter in the text; without durations there are fewer counters.
static inline char *counter_digits(const struct counters *counters, int which) {
    if (filtered(CLASS_DURATION)) which -= which == EMPTY ? 2 : which > ELAPSED;
    return counters->digits + 32 * which;
}

// Without durations, the last time takes the place of the duration.
static ALWAYS_INLINE void counters_store_untimed(struct counters *counters, uint64_t count) {
    store_grown(counters->digits, count, true);
    for (;;) {
        store_digits(counters->digits + 32 * BYTES, AS_IT_IS(counters->values[BYTES]));
        store_digits(counters->digits + 32 * ELAPSED, AS_IT_IS(counters->values[LAST]));
        if (likely(count == AS_IT_IS(counters->values[COUNT]))) return;
        count = AS_IT_IS(counters->values[COUNT]);
        store_digits(counters->digits, count);
    }
}

static ALWAYS_INLINE void counters_store(struct counters *counters, uint64_t count) {
    store_grown(counters->digits, count, true);
    for (;;) {
        // A loop, because its code is short: most of it is cold after a system call.
        for (int i = BYTES; i <= LAST; i++) store_digits(counters->digits + 32 * i, AS_IT_IS(counters->values[i]));
        // Repeat if a signal handler counted in between: its larger value may have been overwritten.
        if (likely(count == AS_IT_IS(counters->values[COUNT]))) return;
        count = AS_IT_IS(counters->values[COUNT]);
        store_digits(counters->digits, count);
    }
}

static inline void store_counter(struct counters *counters, enum digits which, uint64_t value) {
    store_digits(counter_digits(counters, (int)which), value);
}

// Data read is known from the first return on, data written from the first call on; `first` is the relevant time.
// Returns the number of this call.
static ALWAYS_INLINE uint64_t counters_add(struct thread *thread, struct counters *counters, uint64_t offset,
                                           uint64_t bytes, uint64_t started, uint64_t ended, uint64_t first,
                                           const bool timed) {
    uint64_t elapsed = ended - started;
    if (unlikely(counters->values[COUNT] == 0)) {
        counters_begin(counters, bytes, first - thread->epoch);
        counters->next = offset;
    }
    bool consecutive = offset == counters->next;
    counters->next = offset + bytes;
    uint64_t count = next_number(&counters->values[COUNT]);
    add(&counters->values[BYTES], bytes);
    if (timed) add(&counters->values[ELAPSED], elapsed);
    counters->values[LAST] = ended - thread->epoch;
    if (timed)
        counters_store(counters, count);
    else
        counters_store_untimed(counters, count);
    if (timed && unlikely(elapsed > counters->longest)) counters_store_longest(counters, elapsed);
    if (unlikely(bytes - counters->low >= counters->width || !consecutive))
        counters_note_size(thread, counters, bytes, consecutive, first);
    return count;
}

// Checked before a hint is used: same thread, same opening, same function.
static inline bool counters_fit(const struct counters *counters, const struct thread *thread, uint64_t serial,
                                int api) {
    return likely(counters != NULL && relaxed(counters->owner) == relaxed(thread->number) &&
                  counters->serial == serial && counters->api == api);
}

static inline void operation_add(struct thread *thread, struct counters *counters, uint64_t bytes, uint64_t started) {
    uint64_t ended = now(thread), left = SIXTEEN_PLACES - 1 - counters->values[BYTES];
    // The size that a call requests is unlimited, but a counter is limited: it stays at its maximum.
    uint64_t count = counters_add(thread, counters, counters->next, bytes < left ? bytes : left, started, ended,
                                  started, !filtered(CLASS_DURATION));
    if (detailed(DETAIL_CALL)) call_line(thread, counters, count, 0, bytes, started, ended - started, 0);
}

// Detail `file`: whether this side of this thread is already recorded.
static ALWAYS_INLINE bool touched(const struct object *object, uint64_t serial, enum side side) {
    const struct counters *counters = relaxed(object->hint[side]);
    return likely(counters != NULL && self != NULL && relaxed(counters->owner) == relaxed(self->number) &&
                  counters->serial == serial && counters->values[COUNT] != 0);
}

// Then only the call itself remains to be done. The number of a thread is never reused, not even in a child.
static ALWAYS_INLINE bool nothing_new(int fd, enum side side, int api) {
    const struct thread *thread = self;
    if (likely(!detailed(DETAIL_FILE)) || (unsigned)fd >= 1024 || thread == NULL) return false;
    const struct object *object = atomic_load_explicit(&first_descriptors[fd], memory_order_acquire);
    return object != NULL && relaxed(object->touched[side]) == relaxed(thread->number) &&
           relaxed(real_functions[api]) != NULL;
}

static ALWAYS_INLINE void account_timed(struct thread *thread, struct object *object, uint64_t serial, enum side side,
                                        int api, uint64_t offset, uint64_t bytes, uint64_t started, bool kept) {
    shim_enter(thread);
    struct counters *counters = relaxed(object->hint[side]);
    if (!counters_fit(counters, thread, serial, api)) counters = access_find(thread, object, serial, side, api);
    if (likely(counters != NULL)) {
        uint64_t ended = now(thread);
        uint64_t count =
            counters_add(thread, counters, offset, bytes, started, ended, side == READING ? ended : started, true);
        if (kept) call_line(thread, counters, count, offset, bytes, started, ended - started, 0);
    }
    shim_leave(thread);
}

static inline void account(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                           uint64_t offset, uint64_t bytes, uint64_t started) {
    if (likely(detailed(DETAIL_OP)))
        account_timed(thread, object, serial, side, api, offset, bytes, started, false);
    else
        account_other_detail(thread, object, serial, side, api, offset, bytes, started);
}

// The same without durations; `started` 0: unknown.
void account_lasting(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                     uint64_t offset, uint64_t bytes, uint64_t started, bool kept);

// The start of a call. Without durations, only the time of the first write is needed.
static ALWAYS_INLINE uint64_t start_time(struct thread *thread, const struct object *object, uint64_t serial,
                                         enum side side) {
    if (unlikely(detailed(DETAIL_UNTIMED)) && (side == READING || touched(object, serial, side))) return 0;
    return now(thread);
}

// For calls that a stream serves from its buffer: the time is read only now and then.
static inline void account_untimed(struct thread *thread, struct object *object, enum side side, int api,
                                   uint64_t bytes) {
    uint64_t serial = relaxed(object->serial);
    struct counters *counters = relaxed(object->hint[side]);
    if (unlikely(!counters_fit(counters, thread, serial, api) || counters->values[COUNT] < 16 ||
                 (counters->values[COUNT] & 63) == 0)) {
        account_stream(thread, object, side, api, bytes);
        return;
    }
    shim_enter(thread);
    uint64_t count = next_number(&counters->values[COUNT]);
    add(&counters->values[BYTES], bytes);
    store_grown(counters->digits, count, true);
    store_digits(counters->digits + 32, AS_IT_IS(counters->values[BYTES]));
    if (unlikely(count != AS_IT_IS(counters->values[COUNT]))) counters_store_again(counters);
    if (unlikely(bytes - counters->low >= counters->width)) counters_note_size(thread, counters, bytes, true, 0);
    shim_leave(thread);
}

// For a single character: in nine of ten calls only two last digits change. The depth is stored instead of incremented
// and decremented, because each call would wait for the store of the previous one.
static ALWAYS_INLINE void account_character(struct object *object, enum side side, int api) {
    struct thread *thread = self;
    struct counters *counters = relaxed(object->hint[side]);
    if (unlikely(thread == NULL || thread->depth != 0 ||
                 !counters_fit(counters, thread, relaxed(object->serial), api))) {
        account_stream(thread_self(), object, side, api, 1);
        return;
    }
    volatile char *digits = counters->digits;
    if (unlikely(digits[15] == '9' || digits[47] == '9' || (counters->values[COUNT] & 63) < 2)) {
        account_carry(thread, object, side, api);
        return;
    }
    STACK_POINTER(thread->outer);
    *(volatile int *)&thread->depth = 1;
    add(&counters->values[COUNT], 1);
    add(&counters->values[BYTES], 1);
    digits[15]++;
    digits[47]++;
    *(volatile int *)&thread->depth = 0;
}

// ---- bytes that the compiler's inline code stores into a stream's buffer
// There is no call. The bytes are counted at the next call on the stream, at its flush and at its close. Not for
// streams that several threads share.

static inline uint64_t put_inline(const struct object *object, const FILE *stream) {
    const char *base = write_base(stream), *end = write_at(stream), *from = relaxed(object->put);
    if (relaxed(object->shared)) return 0;
    if (from == NULL) from = base;
    // elsewhere: the buffer was flushed, how often is unknown
    return from >= base && from <= end ? (uint64_t)(end - from) : 0;
}

static inline void put_seen(struct object *object, const FILE *stream) {
    atomic_store_explicit(&object->put, write_at(stream), memory_order_relaxed);
}

static inline void put_one(struct object *object, const FILE *stream) {
    const char *put = relaxed(object->put);
    atomic_store_explicit(&object->put, put == NULL ? write_at(stream) : put + 1, memory_order_relaxed);
}

struct object *put_count(FILE *stream);

#endif
