// Detail `call`: a line for each call, in a file of their own.
#include "shim.h"

void account_otherwise(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                       uint64_t offset, uint64_t bytes, uint64_t started) {
    if (detailed(DETAIL_CALL))
        account_timed(thread, object, serial, side, api, offset, bytes, started, true);
    else
        access_touched(thread, object, serial, side, api, side == READING ? now(thread) : started);
}

// ` <a7/r`: what the lines of an access begin with. The number of the call follows.
static void prefix_make(struct counters *counters) {
    static const char sides[] = "rw";
    bool failed = counters->source & AN_ERROR;
    char letter = failed ? 'f' : 'a', kind = counters->term != NULL ? 'c' : sides[counters->side];
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
// A label of 16 bytes of which the last ones count.
#define BEFORE(end, label) label_before(end, &(PADDING label)[sizeof(PADDING label) - 17], sizeof(label) - 1)

// Written from its end to its beginning, so that no length need be known before: half the time of the other way.
void call_line(struct thread *thread, struct counters *counters, uint64_t count, uint64_t offset, uint64_t bytes,
               uint64_t started, uint64_t elapsed, int error) {
    char line[192], *end = line + sizeof line, *at = end;
    if (unlikely(counters->prefix_length == 0)) prefix_make(counters);
    at = BEFORE(at, " .");
    if (error != 0) {
        at = digits_before(at, (uint64_t)error);
        at = BEFORE(at, " ; " TERM_errno " ");
    }
    at = digits_before(at, elapsed);
    at = BEFORE(at, " ; " TERM_elapsed " ");
    at = digits_before(at, started - thread->epoch);
    at = BEFORE(at, " ; " TERM_at " ");
    at = digits_before(at, bytes);
    at = BEFORE(at, " ; " TERM_bytes " ");
    at = digits_before(at, offset);
    at = BEFORE(at, "> " TERM_offset " ");
    at = digits_before(at, count);
    at = label_before(at, counters->prefix, counters->prefix_length);
    call_write(thread, at, (size_t)(end - at));
}
