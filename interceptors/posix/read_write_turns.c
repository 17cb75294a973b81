// Turns: an access is divided where a process resumes reading after it wrote, or writing after it read. They show which
// message a process made from which other message; counters have only a first and a last time.
#include "access.h"

enum { MOST_TURNS = 1000 }; // per side of an access; the rest belongs to the last turn
enum { ENDED = 1 };         // in `turn`: the last read returned nothing

// Odd: the process writes. Only a thread that changes the direction stores, so that concurrent readers, or writers, do
// not contend.
static _Atomic uint64_t turn = 2;

// The process reads; or it writes, finishes its output, or passes it on.
void turn_to(enum side side) {
    uint64_t seen = relaxed(turn);
    if ((seen & 1) != (uint64_t)side) atomic_compare_exchange_strong(&turn, &seen, seen + 1);
}

static const struct access *access_of(const struct counters *counters) {
    return (const struct access *)(counters - counters->side);
}

// Whether these are counters of a pipe or a connection.
bool is_of_channel(const struct counters *counters) {
    return relaxed(access_of(counters)->object->channel) != 0;
}

static bool is_message(const struct thread *thread, const struct counters *counters) {
    const struct access *access = access_of(counters);
    return thread->messages && access->scope == 0 && relaxed(access->object->channel) == CONNECTION;
}

static void turn_keep(struct counters *counters) {
    counters->turn = relaxed(turn);
    counters->turn_last = counters->values[LAST];
    counters->turn_bytes = counters->values[BYTES];
}

// From here on each call is examined, because no size is in a range of width 0.
void turn_follow(struct counters *counters) {
    if (counters->width != 0) counters->usual = counters->width;
    counters->width = 0;
    if (counters->turn == 0) turn_keep(counters);
}

static void turn_write(struct thread *thread, struct counters *counters, uint64_t first) {
    struct block block;
    if (is_message(thread, counters) || counters->turns == MOST_TURNS || !block_begin(thread, &block, 160)) return;
    counters->turns++;
    text_access(&block.text, counters);
    text_string(&block.text, counters->side == READING ? "/read/" : "/write/");
    text_number(&block.text, counters->turns);
    TEXT(&block.text, "> a " TERM_Turn);
    TEXT_NUMBER(&block.text, TERM_last, counters->turn_last);
    TEXT_NUMBER(&block.text, TERM_bytes, counters->turn_bytes);
    TEXT_NUMBER(&block.text, TERM_first, first);
    TEXT(&block.text, " .");
    block_commit(&block);
}

// A call was counted. `first`: the time when the data read was known, or when the write started; 0: not read.
void turn_look(struct thread *thread, struct counters *counters, uint64_t first) {
    turn_follow(counters);
    if (first == 0) {
        first = now(thread);
        counters->values[LAST] = first - thread->epoch;
        store_digits(counters->digits + 32 * LAST, counters->values[LAST]);
    }
    turn_to(counters->side);
    if (relaxed(turn) != counters->turn) turn_write(thread, counters, first - thread->epoch);
    turn_keep(counters);
}

// A read that returned nothing does not belong to the turn before it. Data read later was appended to the file in
// between.
void turn_end(struct thread *thread, struct counters *counters, uint64_t first) {
    bool known = counters->turn > ENDED && counters->turn_bytes > 0;
    turn_follow(counters);
    if (known && first != 0) turn_write(thread, counters, first - thread->epoch);
    counters->turn = ENDED;
}
