// The counters of an access besides its sums: sizes of calls, repositions, the longest call.
#include "access.h"

// The sizes of calls in another class than the first, and the bytes of calls that did not start where the last one
// ended.
struct spread {
    uint64_t sizes[10], jumped;
    char *digits; // of the first size; the others and the bytes follow, at steps of 32 bytes
    struct chunk *chunk;
};

static struct pool spreads = POOL(struct spread);

static const uint64_t size_limits[] = {100,     1024,     10240,     102400,     1048576,
                                       4194304, 10485760, 104857600, 1073741824, UINT64_MAX};

static int size_class(uint64_t bytes) {
    int i = 0;
    while (bytes > size_limits[i]) i++;
    return i;
}

// Sizes in the class of the first call need no counter of their own: they are the rest of the count.
static void usual_size(struct counters *counters, uint64_t bytes) {
    int class = size_class(bytes);
    if (bytes == 0 && counters->side == READING) return; // the end of a file
    counters->low = class > 0 ? size_limits[class - 1] + 1 : counters->side == READING;
    counters->width = size_limits[class] - counters->low + 1;
}

void counters_begin(struct counters *counters, uint64_t bytes, uint64_t first) {
    store_counter(counters, FIRST, first);
    if (counters->term == NULL) {
        usual_size(counters, bytes);
        turn_to(counters->side);
        if (is_of_channel(counters)) turn_follow(counters);
    } else {
        counters->width = UINT64_MAX;
    }
}

void counters_store_longest(struct counters *counters, uint64_t elapsed) {
    counters->longest = elapsed;
    store_counter(counters, LONGEST, elapsed);
}

// Repeat if a signal handler counted in between, because its digits may have been overwritten.
void counters_store_again(struct counters *counters) {
    uint64_t count;
    do {
        count = AS_IT_IS(counters->values[COUNT]);
        store_digits(counters->digits, count);
        store_digits(counters->digits + 32 * BYTES, AS_IT_IS(counters->values[BYTES]));
    } while (count != AS_IT_IS(counters->values[COUNT]));
}

enum { SIZES = 11 };
static const char size_labels[SIZES][17] = {
    "; " TERM_size1 "        ", "; " TERM_size2 "        ", "; " TERM_size3 "        ", "; " TERM_size4 "        ",
    "; " TERM_size5 "        ", "; " TERM_size6 "        ", "; " TERM_size7 "        ", "; " TERM_size8 "        ",
    "; " TERM_size9 "        ", "; " TERM_size10 "       ", "; " TERM_jumpedBytes "  "};

static void text_sizes(struct text *text) {
    for (int i = 0; i < SIZES; i++) text_counter(text, size_labels[i]);
    TEXT(text, " .");
}

// ` <s9/read> a :AccessSizes ; :ofOpening … ; :usualSize …`
static bool slot_begin(struct thread *thread, struct counters *counters, struct slot *slot) {
    struct block block;
    if (slot_take(thread, SLOT_OF_SIZES + (unsigned)counters->side, slot)) {
        for (int i = 0; i < SIZES + 2; i++) store_digits(slot->at + COUNTER * i, 0);
        return true;
    }
    if (!block_begin(thread, &block, 96 + (SIZES + 2) * COUNTER)) return false;
    TEXT(&block.text, " <s");
    text_number(&block.text, next_number(&thread->accesses));
    text_string(&block.text, counters->side == READING ? "/read" : "/write");
    TEXT(&block.text, "> a " TERM_AccessSizes);
    text_align(&block.text);
    *slot = (struct slot){block.text.at + 16, block.chunk};
    text_counter(&block.text, "; " TERM_ofOpening "    ");
    text_counter(&block.text, "; " TERM_usualSize "    ");
    text_sizes(&block.text);
    block_commit(&block);
    return true;
}

static struct spread *spread_of_opening(struct thread *thread, struct counters *counters, struct spread *spread) {
    struct slot slot;
    if (!slot_begin(thread, counters, &slot)) return NULL;
    spread->chunk = slot.chunk;
    spread->digits = slot.at + 2 * COUNTER;
    store_digits(slot.at + COUNTER, (uint64_t)size_class(counters->low) + 1);
    store_digits(slot.at, counters->number);
    return spread;
}

static struct spread *spread_of_access(struct thread *thread, const struct counters *counters, struct spread *spread) {
    struct block block;
    if (!block_begin(thread, &block, 96 + SIZES * COUNTER)) return NULL;
    spread->chunk = block.chunk;
    text_access(&block.text, counters);
    text_string(&block.text, counters->side == READING ? "/read" : "/write");
    TEXT(&block.text, "> a " TERM_AccessSizes);
    TEXT_NUMBER(&block.text, TERM_usualSize, (uint64_t)size_class(counters->low) + 1);
    text_align(&block.text);
    spread->digits = block.text.at + 16;
    text_sizes(&block.text);
    block_commit(&block);
    return spread;
}

static struct spread *spread_begin(struct thread *thread, struct counters *counters) {
    struct spread *spread = pool_take(&spreads), *begun;
    if (spread == NULL) return NULL;
    memset(spread, 0, sizeof *spread);
    begun = counters->own ? spread_of_opening(thread, counters, spread) : spread_of_access(thread, counters, spread);
    if (begun == NULL)
        pool_give(&spreads, spread);
    else
        spread->chunk->accesses++;
    return begun;
}

static void spread_add(struct spread *spread, int which, uint64_t amount) {
    uint64_t *value = which < 10 ? &spread->sizes[which] : &spread->jumped, stored;
    add(value, amount);
    do {
        stored = AS_IT_IS(*value);
        store_digits(spread->digits + 32 * which, stored);
    } while (stored != AS_IT_IS(*value));
}

void counters_note_size(struct thread *thread, struct counters *counters, uint64_t bytes, bool consecutive,
                        uint64_t first) {
    if (counters->term != NULL) return;
    if (bytes == 0 && counters->side == READING) {
        store_counter(counters, EMPTY, next_number(&counters->empty));
        turn_end(thread, counters, first);
        return;
    }
    bool followed = counters->turn != 0;
    if (counters->width + counters->usual == 0) usual_size(counters, bytes);
    if (followed) turn_look(thread, counters, first);
    bool usual = bytes - counters->low < counters->width + counters->usual;
    if (usual && consecutive) return;
    if (counters->spread == NULL) counters->spread = spread_begin(thread, counters);
    if (counters->spread == NULL) return;
    if (!usual) spread_add(counters->spread, size_class(bytes), 1);
    if (!consecutive) spread_add(counters->spread, 10, bytes);
}

// At the close: ` ; :readingSizes "usual bytes 3:1"`, with the bytes that started elsewhere and each other size, and
// their number.
void sizes_finish(struct thread *thread, struct text *text, struct counters *counters) {
    const struct spread *spread = counters->spread;
    if (spread == NULL) return;
    text_string(text, counters->side == READING ? " ; " TERM_readingSizes " \"" : " ; " TERM_writingSizes " \"");
    text_number(text, (uint64_t)size_class(counters->low) + 1);
    TEXT(text, " ");
    text_number(text, spread->jumped);
    for (unsigned i = 0; i < SIZES - 1; i++) {
        if (spread->sizes[i] == 0) continue;
        TEXT(text, " ");
        text_number(text, i + 1);
        TEXT(text, ":");
        text_number(text, spread->sizes[i]);
    }
    TEXT(text, "\"");
    slot_give(thread, SLOT_OF_SIZES + (unsigned)counters->side, spread->digits - 2 * COUNTER, spread->chunk);
    sizes_free(counters);
    counters->spread = NULL;
}

void sizes_free(struct counters *counters) {
    if (counters->spread == NULL) return;
    counters->spread->chunk->accesses--;
    pool_give(&spreads, counters->spread);
}
