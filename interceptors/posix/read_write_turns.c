// Turns: where reading goes on after the process wrote, and writing after it read. What one process made of what
// another told it, message by message, is known by them; the counters alone have a first and a last moment.
#include "access.h"

enum { MOST_TURNS = 1000 }; // of one side of an access: what comes later is its last turn
enum { ENDED = 1 };         // in the place of a turn: the last read was empty

// Odd: the process writes. Only who turns it stores, so that threads that all read, or all write, do not contend.
static _Atomic uint64_t turn = 2;

// A process reads something, or it writes, finishes what it wrote, or hands it on.
void turn_to(enum side side) {
    uint64_t seen = relaxed(turn);
    if ((seen & 1) != (uint64_t)side) atomic_compare_exchange_strong(&turn, &seen, seen + 1);
}

// The ends of pipes and connections.
bool is_of_channel(const struct counters *counters) {
    const struct access *access = (const struct access *)(counters - counters->side);
    return relaxed(access->object->channel);
}

static void turn_keep(struct counters *counters) {
    counters->turn = relaxed(turn);
    counters->turn_last = counters->values[LAST];
    counters->turn_bytes = counters->values[BYTES];
}

// From here on each call is looked at, for none has a size in a range of width 0.
void turn_follow(struct counters *counters) {
    if (counters->width != 0) counters->usual = counters->width;
    counters->width = 0;
    if (counters->turn == 0) turn_keep(counters);
}

static void turn_write(struct thread *thread, struct counters *counters, uint64_t first) {
    struct block block;
    if (counters->turns == MOST_TURNS || !block_begin(thread, &block, 160)) return;
    counters->turns++;
    TEXT(&block.text, " <a");
    text_number(&block.text, counters->number);
    text_string(&block.text, counters->side == READING ? "/read/" : "/write/");
    text_number(&block.text, counters->turns);
    TEXT(&block.text, "> a " TERM_Turn);
    TEXT_NUMBER(&block.text, TERM_last, counters->turn_last);
    TEXT_NUMBER(&block.text, TERM_bytes, counters->turn_bytes);
    TEXT_NUMBER(&block.text, TERM_first, first);
    TEXT(&block.text, " .");
    block_commit(&block);
}

// A call was counted; `first` is when what it read was known or what it wrote began, 0 where no time was read.
void turn_look(struct thread *thread, struct counters *counters, uint64_t first) {
    if (first == 0) {
        first = now(thread);
        counters->values[LAST] = first - thread->epoch;
        store_digits(counters->digits + 32 * LAST, counters->values[LAST]);
    }
    turn_to(counters->side);
    if (relaxed(turn) != counters->turn) turn_write(thread, counters, first - thread->epoch);
    turn_keep(counters);
}

// A read that returned nothing is no part of the turn before it; what is read after it, the file has grown by.
void turn_end(struct thread *thread, struct counters *counters, uint64_t first) {
    bool known = counters->turn > ENDED && counters->turn_bytes > 0;
    turn_follow(counters);
    if (known && first != 0) turn_write(thread, counters, first - thread->epoch);
    counters->turn = ENDED;
}
