// What one call costs: its counters, in memory and in the live file. Every wrapper of a read or a write has it inline.
#ifndef PROVIO_COUNTING_H
#define PROVIO_COUNTING_H

#include "access.h"

// One instruction, so that a handler between two of them cannot lose a count.
static inline void add(uint64_t *counter, uint64_t amount) {
#if defined(__x86_64__)
    asm volatile("addq %1, %0" : "+m"(*counter) : "er"(amount) : "cc");
#else
    __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
#endif
}

static inline uint64_t next_number(uint64_t *counter) {
#if defined(__x86_64__)
    uint64_t amount = 1;
    asm volatile("xaddq %0, %1" : "+r"(amount), "+m"(*counter)::"cc");
    return amount + 1;
#else
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED) + 1;
#endif
}

#if defined(__aarch64__)
// Before ARMv8.4 a store of 16 bytes may be carried out as two, with a kill or a reader in between: what is whole on
// every such processor is the exclusive pair.
static inline void store_whole(char *at, sixteen digits) {
    uint64_t halves[2], before, behind;
    uint32_t failed;
    memcpy(halves, &digits, sizeof halves);
    asm volatile("1: ldxp %0, %1, %3\n"
                 "stxp %w2, %4, %5, %3\n"
                 "cbnz %w2, 1b"
                 : "=&r"(before), "=&r"(behind), "=&r"(failed), "+Q"(*(sixteen *)at)
                 : "r"(halves[0]), "r"(halves[1]));
}
#else
static inline void store_whole(char *at, sixteen digits) {
    *(volatile sixteen *)at = digits;
}
#endif

static inline void store_digits(char *digits, uint64_t value) {
    store_whole(digits, sixteen_digits(value));
}

#define AS_IT_IS(counter) (*(volatile uint64_t *)&(counter))

// A counter that mostly grows by one: only a last digit changes then, and a byte cannot be torn either.
static inline void store_grown(volatile char *digits, uint64_t value, bool by_one) {
    if (likely(by_one && digits[15] != '9'))
        digits[15]++;
    else
        store_digits((char *)digits, value);
}

// Where the digits of a counter are: without durations there are fewer.
static inline char *counter_digits(const struct counters *counters, int which) {
    if (left_out(CLASS_DURATION)) which -= which == EMPTY ? 2 : which > ELAPSED;
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
    if (timed && unlikely(elapsed > counters->longest)) counters_longer(counters, elapsed);
    if (unlikely(bytes - counters->low >= counters->width || !consecutive))
        counters_spread(thread, counters, bytes, consecutive, first);
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
                                  started, !left_out(CLASS_DURATION));
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
        account_otherwise(thread, object, serial, side, api, offset, bytes, started);
}

// The same without durations; `started` 0: not known.
void account_lasting(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                     uint64_t offset, uint64_t bytes, uint64_t started, bool kept);

// When a call begins: without durations only the first write's moment is asked for.
static ALWAYS_INLINE uint64_t begun(struct thread *thread, const struct object *object, uint64_t serial,
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
    if (unlikely(count != AS_IT_IS(counters->values[COUNT]))) counters_again(counters);
    if (unlikely(bytes - counters->low >= counters->width)) counters_spread(thread, counters, bytes, true, 0);
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
        account_tenth(thread, object, side, api);
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
