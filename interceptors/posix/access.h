// From a thread, an opening, a Task and a function to their counters.
#ifndef PROVIO_ACCESS_H
#define PROVIO_ACCESS_H

#include "object.h"

// ---- task.c: the Task that a thread is in. One that enters or leaves it gets another number, so what it did before is
// no longer its own to count on: calls look at nothing more than they do without Tasks.

extern uint64_t tasks_of_parent; // what has one of these was begun before the last fork
uint64_t scope_of(struct thread *thread);
bool had_number(const struct thread *thread, uint32_t number);
void scopes_begin(struct thread *thread, bool made);
uint32_t number_next(void);
void tasks_after_fork(void);
bool task_is_own(uint64_t task);
void declarations_after_fork(void); // declarations.c
void text_task(struct text *text, uint64_t scope);
static inline size_t task_room(uint64_t scope) {
    return likely(scope == 0) ? 0 : sizeof " ; " TERM_task " <../t>" + digits_at_most(scope);
}

// ---- access.c: (thread, opening, Task, function) -> its counters

enum side { READING, WRITING };

// One direction of an access: its first cache line is what one call touches, of the second it reads the start. After a
// system call cold lines and cold code are what a wrapper costs.
struct counters {
    _Atomic uint32_t owner; // the thread's number; others look at it, and at nothing else unless it is theirs
    int16_t api;            // -1: none
    int16_t side;
    uint64_t serial;
    uint64_t values[4]; // count, bytes, elapsed, last
    char *digits;       // of the count in the live file; the others follow, each 32 bytes on: see enum digits
    uint64_t next;      // the offset at which a consecutive call begins

    uint64_t low, width; // the sizes that need no counter of their own; width 0: no call had a size yet
    uint64_t longest, empty;
    struct spread *spread; // the sizes of the other calls
    uint64_t usual;        // what `width` was, where it is 0 so that each call is looked at: see read_write_turns.c
    uint64_t turn, turn_last, turn_bytes;
    unsigned turns;
    uint64_t source;  // of a Copy; of failures, their error
    uint64_t number;  // of the access in its name
    const char *term; // NULL: as the side says
    char prefix[16];  // of its calls' lines at detail `call`, ending at the last byte
    unsigned prefix_length;
};
enum { COUNT, BYTES, ELAPSED, LAST };
enum digits { FIRST = 4, LONGEST, EMPTY };

struct access {
    struct counters side[2];
    char *closed;
    struct object *object;
    struct access *next; // in the same slot of the thread's table
    struct access *mine; // of the same thread
    struct chunk *chunk;
    uint64_t scope; // the Task
};

#define AN_ERROR ((uint64_t)1 << 63) // in the place of a copy's source

// Whose failures belong to no opening.
extern struct object unknown_object, within; // `within`: in the place of a copy's source, of all objects of a file

struct counters *access_find(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api);
struct counters *access_counted(struct thread *thread, struct object *object, const char *term, int api,
                                struct object *source);
void count_change(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                  uint64_t started);
void count_operation(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                     uint64_t started);
void access_opened(struct thread *thread, struct object *object, int api, uint64_t started, uint64_t elapsed);
void access_forget(struct thread *thread);
void access_touched(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                    uint64_t time);
void access_failed_with(struct thread *thread, struct object *object, int api, int error, uint64_t started);
static inline void access_failed(struct thread *thread, struct object *object, int api, uint64_t started) {
    access_failed_with(thread, object, api, errno, started);
}
void account_stream(struct thread *thread, struct object *object, enum side side, int api, uint64_t bytes);
void account_carry(struct thread *thread, struct object *object, enum side side, int api);
void account_other_detail(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                          uint64_t offset, uint64_t bytes, uint64_t started);
struct access *access_new(struct thread *thread, struct object *object, uint64_t serial, uint64_t number,
                          struct block *block);
void access_remember(struct thread *thread, struct access *access);
void counters_begin(struct counters *counters, uint64_t bytes, uint64_t first);
void sizes_free(struct counters *counters);
void counters_store_longest(struct counters *counters, uint64_t elapsed);
void counters_store_again(struct counters *counters);
void counters_note_size(struct thread *thread, struct counters *counters, uint64_t bytes, bool consecutive,
                        uint64_t first);
void call_line(struct thread *thread, struct counters *counters, uint64_t count, uint64_t offset, uint64_t bytes,
               uint64_t started, uint64_t elapsed, int error);

// read_write_turns.c: where reading goes on after the process wrote, and writing after it read
void turn_to(enum side side);
bool is_of_channel(const struct counters *counters);
void turn_follow(struct counters *counters);
void turn_look(struct thread *thread, struct counters *counters, uint64_t first);
void turn_end(struct thread *thread, struct counters *counters, uint64_t first);

bool access_closed(struct thread *thread, struct object *object, uint64_t serial, uint64_t time);

// A counter in the text: a label of 16 bytes and 16 digits.
enum { COUNTER = 32 };
#define PADDING "                "
#define ZEROS "0000000000000000"

void text_counter(struct text *text, const char *label);
void text_align(struct text *text);
void text_counted_api(struct text *text, const char *property, int api);
unsigned side_counters(enum side side);
void text_side(struct text *text, struct access *access, enum side side, int api);

// ---- What one call costs: its counters, in memory and in the live file. Every wrapper of a read or a write has it
// inline.

// A counter that mostly grows by one: only a last digit changes then, and a byte cannot be torn either.
static inline void store_grown(volatile char *digits, uint64_t value, bool by_one) {
    if (likely(by_one && digits[15] != '9'))
        digits[15]++;
    else
        store_digits((char *)digits, value);
}

// Where the digits of a counter are: without durations there are fewer.
static inline char *counter_digits(const struct counters *counters, int which) {
    if (filtered(CLASS_DURATION)) which -= which == EMPTY ? 2 : which > ELAPSED;
    return counters->digits + 32 * which;
}

// Without durations the last moment stands where they would.
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
        // A loop, for its code is short: most of it is cold after a system call.
        for (int i = BYTES; i <= LAST; i++) store_digits(counters->digits + 32 * i, AS_IT_IS(counters->values[i]));
        // Again where a handler counted in between: it may have been overwritten with less.
        if (likely(count == AS_IT_IS(counters->values[COUNT]))) return;
        count = AS_IT_IS(counters->values[COUNT]);
        store_digits(counters->digits, count);
    }
}

static inline void store_counter(struct counters *counters, enum digits which, uint64_t value) {
    store_digits(counter_digits(counters, (int)which), value);
}

// What was read is known from the first return on, what was written from the first call on: `first` says which.
// Returns which call of these it was.
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

// What both compare before they count on a hint: is it this thread's, this opening's, this function's?
static inline bool counters_fit(const struct counters *counters, const struct thread *thread, uint64_t serial,
                                int api) {
    return likely(counters != NULL && relaxed(counters->owner) == relaxed(thread->number) &&
                  counters->serial == serial && counters->api == api);
}

static inline void operation_add(struct thread *thread, struct counters *counters, uint64_t bytes, uint64_t started) {
    uint64_t ended = now(thread), left = SIXTEEN_PLACES - 1 - counters->values[BYTES];
    // What a call may be asked for has no limit; a counter has: there it stays.
    uint64_t count = counters_add(thread, counters, counters->next, bytes < left ? bytes : left, started, ended,
                                  started, !filtered(CLASS_DURATION));
    if (detailed(DETAIL_CALL)) call_line(thread, counters, count, 0, bytes, started, ended - started, 0);
}

// Detail `file`: has this thread's doing on this side been said already?
static ALWAYS_INLINE bool touched(const struct object *object, uint64_t serial, enum side side) {
    const struct counters *counters = relaxed(object->hint[side]);
    return likely(counters != NULL && self != NULL && relaxed(counters->owner) == relaxed(self->number) &&
                  counters->serial == serial && counters->values[COUNT] != 0);
}

// Then there is nothing to do but the call itself. A thread's number is never used again, nor is it in a child.
static ALWAYS_INLINE bool nothing_new(int fd, enum side side, int api) {
    const struct thread *thread = self;
    if (likely(!detailed(DETAIL_FILE)) || (unsigned)fd >= 1024 || thread == NULL) return false;
    const struct object *object = atomic_load_explicit(&first_descriptors[fd], memory_order_acquire);
    return object != NULL && relaxed(object->touched[side]) == relaxed(thread->number) &&
           relaxed(real_functions[api]) != NULL;
}

static ALWAYS_INLINE void account_timed(struct thread *thread, struct object *object, uint64_t serial, enum side side,
                                        int api, uint64_t offset, uint64_t bytes, uint64_t started, bool kept) {
    *(volatile int *)&thread->depth += 1;
    struct counters *counters = relaxed(object->hint[side]);
    if (!counters_fit(counters, thread, serial, api)) counters = access_find(thread, object, serial, side, api);
    if (likely(counters != NULL)) {
        uint64_t ended = now(thread);
        uint64_t count =
            counters_add(thread, counters, offset, bytes, started, ended, side == READING ? ended : started, true);
        if (kept) call_line(thread, counters, count, offset, bytes, started, ended - started, 0);
    }
    *(volatile int *)&thread->depth -= 1;
}

static inline void account(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                           uint64_t offset, uint64_t bytes, uint64_t started) {
    if (likely(detailed(DETAIL_OP)))
        account_timed(thread, object, serial, side, api, offset, bytes, started, false);
    else
        account_other_detail(thread, object, serial, side, api, offset, bytes, started);
}

// The same without durations; `started` 0: not known.
void account_lasting(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                     uint64_t offset, uint64_t bytes, uint64_t started, bool kept);

// When a call begins: without durations only the first write's moment is asked for.
static ALWAYS_INLINE uint64_t start_time(struct thread *thread, const struct object *object, uint64_t serial,
                                         enum side side) {
    if (unlikely(detailed(DETAIL_UNTIMED)) && (side == READING || touched(object, serial, side))) return 0;
    return now(thread);
}

// What a stream serves from its buffer: its time is read only now and then.
static inline void account_untimed(struct thread *thread, struct object *object, enum side side, int api,
                                   uint64_t bytes) {
    uint64_t serial = relaxed(object->serial);
    struct counters *counters = relaxed(object->hint[side]);
    if (unlikely(!counters_fit(counters, thread, serial, api) || counters->values[COUNT] < 16 ||
                 (counters->values[COUNT] & 63) == 0)) {
        account_stream(thread, object, side, api, bytes);
        return;
    }
    *(volatile int *)&thread->depth += 1;
    uint64_t count = next_number(&counters->values[COUNT]);
    add(&counters->values[BYTES], bytes);
    store_grown(counters->digits, count, true);
    store_digits(counters->digits + 32, AS_IT_IS(counters->values[BYTES]));
    if (unlikely(count != AS_IT_IS(counters->values[COUNT]))) counters_store_again(counters);
    if (unlikely(bytes - counters->low >= counters->width)) counters_note_size(thread, counters, bytes, true, 0);
    *(volatile int *)&thread->depth -= 1;
}

// A single character: nine times in ten two last digits change and nothing else. The depth is stored and not counted
// up and down, for each call would wait for what the one before stored.
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
    *(volatile int *)&thread->depth = 1;
    add(&counters->values[COUNT], 1);
    add(&counters->values[BYTES], 1);
    digits[15]++;
    digits[47]++;
    *(volatile int *)&thread->depth = 0;
}

// ---- what the compiler put inline: bytes that a program stores into a stream's buffer itself, without a call. They
// are counted with the next call on the stream, at its flush and at its close. Threads that share a stream do not do
// it.

static inline uint64_t put_inline(const struct object *object, const FILE *stream) {
    const char *base = write_base(stream), *end = write_at(stream), *from = relaxed(object->put);
    if (relaxed(object->shared)) return 0;
    if (from == NULL) from = base;
    return from >= base && from <= end ? (uint64_t)(end - from) : 0; // elsewhere: flushed since, by nobody knows what
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
