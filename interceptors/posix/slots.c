// The counters of an access in the live file, and the lines of counters that one opening uses after the other (slots).
#include "access.h"

// Detail `file` has only the first time. The writes of a channel (a pipe or a connection) have one counter more.
unsigned side_counters(enum side side, bool channel) {
    unsigned attempted = side == WRITING && channel;
    return detailed(DETAIL_FILE) ? 1 + attempted : (side == READING ? 7 : 6) - 2 * filtered(CLASS_DURATION) + attempted;
}

#define COUNTER_TEXT(term, padding) "; " term padding ZEROS

static void text_counters(struct text *text, enum side side, bool channel) {
    static const char reading[] = COUNTER_TEXT(TERM_reads, "        ") COUNTER_TEXT(TERM_readBytes, "    ")
        COUNTER_TEXT(TERM_readElapsed, "  ") COUNTER_TEXT(TERM_lastRead, "     ") COUNTER_TEXT(TERM_firstRead, "    ")
            COUNTER_TEXT(TERM_readLongest, "  ") COUNTER_TEXT(TERM_emptyReads, "   ");
    static const char writing[] = COUNTER_TEXT(TERM_writes, "       ") COUNTER_TEXT(TERM_writeBytes, "   ")
        COUNTER_TEXT(TERM_writeElapsed, " ") COUNTER_TEXT(TERM_lastWrite, "    ") COUNTER_TEXT(TERM_firstWrite, "   ")
            COUNTER_TEXT(TERM_writeLongest, " ");
    const char *counters = side == READING ? reading : writing;
    if (detailed(DETAIL_FILE)) {
        text_bytes(text, counters + COUNTER * FIRST, COUNTER);
    } else if (filtered(CLASS_DURATION)) {
        text_bytes(text, counters, COUNTER * ELAPSED);
        text_bytes(text, counters + COUNTER * LAST, COUNTER * (LONGEST - LAST));
        if (side == READING) text_bytes(text, counters + COUNTER * EMPTY, COUNTER);
    } else if (side == READING)
        TEXT(text, reading);
    else
        TEXT(text, writing);
    if (side == WRITING && unlikely(channel)) TEXT(text, COUNTER_TEXT(TERM_attempted, "    "));
}

// Let a side of an access count in the text of counters at `at`. Returns its end.
static char *side_begin(struct access *access, enum side side, int api, bool channel, char *at) {
    struct counters *counters = &access->side[side];
    char *end = at + side_counters(side, channel) * COUNTER;
    counters->api = (int16_t)api;
    counters->digits = at + 16;
    if (detailed(DETAIL_FILE)) counters->digits -= counter_digits(counters, FIRST) - counters->digits;
    if (side == WRITING && unlikely(channel)) counters->attempted = end - 16;
    return end;
}

void text_side(struct text *text, struct access *access, enum side side, int api, bool channel) {
    side_begin(access, side, api, channel, text->at);
    text_counters(text, side, channel);
}

// ---- lines of counters to be used again
// Only in the file in which the opening is recorded, and only where a signal handler did not interrupt the shim. A slot
// that waits counts as an access of its chunk, until it is taken.

bool slot_take(struct thread *thread, unsigned kind, struct slot *slot) {
    struct live *live = thread->live;
    while (live != NULL && !live->silent && thread->depth == 1 && live->free_slots[kind] > 0) {
        *slot = live->slots[kind][--live->free_slots[kind]];
        slot->chunk->accesses--;
        if (slot->chunk->file == live->file) return true;
    }
    return false;
}

void slot_give(struct thread *thread, unsigned kind, char *at, struct chunk *chunk) {
    struct live *live = thread->live;
    if (chunk->file != live->file || live->written || live->free_slots[kind] == FREE_SLOTS) return;
    chunk->accesses++;
    live->slots[kind][live->free_slots[kind]] = (struct slot){at, chunk};
    atomic_signal_fence(memory_order_seq_cst); // a signal handler may jump away
    live->free_slots[kind]++;
}

// ---- the counters of an opening, in a slot: ` <s7> a :OpeningCounters ; :ofOpening … ; …`

// A line that is used again has the number of its opening last: until then it belongs to the opening before, whose
// values are also in the record of its close.
static void slot_clear(const struct slot *slot, unsigned count) {
    for (unsigned i = 1; i <= count; i++) store_digits(slot->at + COUNTER * i, 0);
}

static bool slot_new(struct thread *thread, const int apis[2], bool channel, unsigned count, struct slot *slot) {
    struct block block;
    uint64_t number = next_number(&thread->accesses);
    size_t room = sizeof " <s> a " TERM_OpeningCounters + digits_at_most(number) + 15;
    if (!block_begin(thread, &block, room + (1 + count) * COUNTER + 3)) return false;
    TEXT(&block.text, " <s");
    text_number(&block.text, number);
    TEXT(&block.text, "> a " TERM_OpeningCounters);
    text_align(&block.text);
    *slot = (struct slot){block.text.at + 16, block.chunk};
    text_counter(&block.text, "; " TERM_ofOpening "    ");
    for (int i = 0; i < 2; i++)
        if (apis[i] >= 0) text_counters(&block.text, i, channel);
    TEXT(&block.text, " .");
    block_commit(&block);
    return true;
}

// The access of an opening by its own thread; an entry of `apis` is -1 where the opening does not allow it.
struct access *access_own(struct thread *thread, struct object *object, uint64_t serial, const int apis[2]) {
    bool channel = relaxed(object->channel);
    unsigned kind = (unsigned)channel << 2, count = 0;
    for (int i = 0; i < 2; i++) {
        if (apis[i] < 0) continue;
        kind |= 1u << i;
        count += side_counters(i, channel);
    }
    if (count == 0) return NULL;
    struct slot slot;
    if (slot_take(thread, kind, &slot))
        slot_clear(&slot, count);
    else if (!slot_new(thread, apis, channel, count, &slot))
        return NULL;
    struct access *access = access_new(thread, object, serial, serial, slot.chunk);
    if (access == NULL) return NULL;
    access->slot = slot.at;
    access->slot_kind = kind;
    char *at = slot.at + 16;
    for (int i = 0; i < 2; i++) {
        access->side[i].own = true;
        if (apis[i] >= 0) at = side_begin(access, i, apis[i], channel, at);
    }
    store_digits(slot.at, serial);
    return access;
}
