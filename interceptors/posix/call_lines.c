// Detail `call`: a line for each call, in separate files.
#include "access.h"

// The first write of a function starts no earlier than the end of the last write of the previous function.
static uint64_t write_since(const struct thread *thread, const struct counters *before, uint64_t serial,
                            uint64_t ended) {
    bool known = before != NULL && relaxed(before->owner) == relaxed(thread->number) && before->serial == serial;
    return known && before->values[COUNT] != 0 ? thread->epoch + before->values[LAST] : ended;
}

static ALWAYS_INLINE void account_moment(struct thread *thread, struct object *object, uint64_t serial, enum side side,
                                         int api, uint64_t offset, uint64_t bytes, uint64_t started, bool kept) {
    shim_enter(thread);
    struct counters *before = relaxed(object->hint[side]), *counters = before;
    if (!counters_fit(counters, thread, serial, api)) counters = access_find(thread, object, serial, side, api);
    if (likely(counters != NULL)) {
        uint64_t ended = now(thread), first = ended;
        if (side == WRITING && unlikely(counters->values[COUNT] == 0))
            first = started != 0 ? started : write_since(thread, before, serial, ended);
        uint64_t count = counters_add(thread, counters, offset, bytes, ended, ended, first, false);
        if (kept) call_line(thread, counters, count, offset, bytes, started, 0, 0);
    }
    shim_leave(thread);
}

void account_lasting(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                     uint64_t offset, uint64_t bytes, uint64_t started, bool kept) {
    account_moment(thread, object, serial, side, api, offset, bytes, started, kept);
}

void account_other_detail(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                          uint64_t offset, uint64_t bytes, uint64_t started) {
    if (detailed(DETAIL_UNTIMED))
        account_moment(thread, object, serial, side, api, offset, bytes, started, false);
    else if (detailed(DETAIL_FILE))
        access_touched(thread, object, serial, side, api, side == READING ? now(thread) : started);
    else if (filtered(CLASS_DURATION))
        account_lasting(thread, object, serial, side, api, offset, bytes, started, true);
    else
        account_timed(thread, object, serial, side, api, offset, bytes, started, true);
}

// Make ` <a7/r`, the start of the lines of an access. The number of the call follows.
static void prefix_make(struct counters *counters) {
    static const char sides[] = "rw";
    bool failed = counters->source & AN_ERROR;
    char letter = failed ? 'f' : counters->own ? 'o' : 'a', kind = counters->term != NULL ? 'c' : sides[counters->side];
    char made[32] = {' ', '<', letter};
    struct text text = {made + 3, made + 16};
    text_number(&text, counters->number % 10000000000u);
    *text.at++ = '/';
    *text.at++ = kind;
    counters->prefix_length = (unsigned)(text.at - made);
    memcpy(counters->prefix + sizeof counters->prefix - counters->prefix_length, made, counters->prefix_length);
}

static inline char *label_before(char *end, const char *label, unsigned length) {
    memcpy(end - 16, label, 16);
    return end - length;
}
// A label of 16 bytes, of which the last `length` ones count.
#define BEFORE(end, label) label_before(end, &(PADDING label)[sizeof(PADDING label) - 17], sizeof(label) - 1)

// Exactly these digits: the bytes before them belong to another line.
static inline char *few_digits_before(char *end, uint64_t value) {
    char digits[16], *first = digits_before(digits + 16, value);
    unsigned count = (unsigned)(digits + 16 - first);
    memcpy(end - count, first, count);
    return end - count;
}

enum { LABELS = sizeof "> " TERM_offset " ;" TERM_bytes " ;" TERM_at " ;" TERM_elapsed "  ." - 1 };

// The line is written directly into its place, from the end to the beginning. Unused space becomes spaces.
void call_line(struct thread *thread, struct counters *counters, uint64_t count, uint64_t offset, uint64_t bytes,
               uint64_t started, uint64_t elapsed, int error) {
    struct block block;
    uint64_t since = started - thread->epoch;
    if (unlikely(counters->prefix_length == 0)) prefix_make(counters);
    unsigned size = counters->prefix_length + digits_at_most(count) + digits_at_most(offset) + digits_at_most(bytes) +
                    digits_at_most(since) + digits_at_most(elapsed) + LABELS + (error != 0 ? 16 : 0);
    if (filtered(CLASS_DURATION)) size -= sizeof ";" TERM_elapsed " " - 1 + digits_at_most(elapsed);
    if (!line_begin(thread, &block, size)) return;
    char *start = block.start + 1, *at = block.text.end - 1;
    memcpy(start, PADDING, 16);
    at = BEFORE(at, " .");
    if (error != 0) {
        at = digits_before(at, (uint64_t)error);
        at = BEFORE(at, ";" TERM_errno " ");
    }
    if (!filtered(CLASS_DURATION)) {
        at = digits_before(at, elapsed);
        at = BEFORE(at, ";" TERM_elapsed " ");
    }
    at = digits_before(at, since);
    at = BEFORE(at, ";" TERM_at " ");
    at = number_before(at, bytes);
    at = BEFORE(at, ";" TERM_bytes " ");
    at = number_before(at, offset);
    at = BEFORE(at, "> " TERM_offset " ");
    at = few_digits_before(at, count);
    at -= counters->prefix_length;
    memcpy(at, counters->prefix + sizeof counters->prefix - counters->prefix_length, counters->prefix_length);
    line_end(thread, &block);
}
