// The block of one (thread, opening, function), whose counters every call rewrites in place.
#include "shim.h"

// The sizes of calls that are unlike the first one, and the bytes of calls that did not begin where the last one ended.
struct spread {
    uint64_t sizes[10], jumped;
    char *digits; // of the first size; the others and the bytes follow, each 32 bytes on
    struct chunk *chunk;
};

static struct pool accesses = POOL(struct access), spreads = POOL(struct spread);
struct object nobody = {.serial = UINT64_MAX - 1, .kind = ""};

enum { FIRST_TABLE = 512, COUNTER = 32 }; // a counter: a label of 16 bytes and 16 digits

#define PADDING "                "
#define ZEROS "0000000000000000"

static void text_counter(struct text *text, const char *label) {
    text_bytes(text, label, 16);
    text_bytes(text, ZEROS, 16);
}

static const short usual[2][2] = {{API_read, API_write}, {API_fread, API_fwrite}};

static int predicted(const struct thread *thread, bool stream, enum side side) {
    short api = thread->predicted[stream][side];
    return api < 0 ? usual[stream][side] : api;
}

static bool allowed(const struct object *object, enum side side) {
    int mode = (int)object->flags & O_ACCMODE;
    if (object->kind[1] == 'D' || (object->flags & O_PATH)) return false;
    return mode == O_RDWR || (side == READING ? mode == O_RDONLY : mode == O_WRONLY);
}

static struct access *access_new(struct thread *thread, struct object *object, uint64_t serial, uint64_t number,
                                 struct block *block) {
    struct access *access = pool_take(&accesses);
    if (access == NULL) {
        block_drop(block);
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        struct counters *side = &access->side[i];
        memset(&side->api, 0, sizeof *side - offsetof(struct counters, api)); // all but the owner
        atomic_store_explicit(&side->owner, thread->number, memory_order_relaxed);
        side->serial = serial;
        side->side = (int16_t)i;
        side->number = number;
        side->api = -1;
    }
    access->object = object;
    access->closed = NULL;
    access->chunk = block->chunk;
    return access;
}

// ---- the thread's table

static struct access **place(struct thread *thread, uint64_t serial) {
    return &thread->table[serial * 0x9e3779b97f4a7c15u >> 32 & (2 * thread->limit - 1)];
}

static void table_insert(struct thread *thread, struct access *access) {
    struct access **head = place(thread, access->side[0].serial);
    access->next = *head;
    *head = access;
}

static void access_free(struct access *access) {
    for (int i = 0; i < 2; i++) {
        struct spread *spread = access->side[i].spread;
        atomic_store_explicit(&access->side[i].owner, 0, memory_order_relaxed);
        if (spread == NULL) continue;
        spread->chunk->accesses--;
        pool_give(&spreads, spread);
    }
    pool_give(&accesses, access);
}

// Drops the accesses of openings that are closed; more room where too many are left.
static bool table_sweep(struct thread *thread, bool all) {
    struct access *living = NULL, *next;
    uint32_t count = 0;
    for (struct access *access = thread->mine; access != NULL; access = next) {
        next = access->mine;
        if (all || relaxed(access->object->serial) != access->side[0].serial) {
            access->chunk->accesses--;
            access_free(access);
        } else {
            access->mine = living;
            living = access;
            count++;
        }
    }
    thread->mine = living;
    thread->entries = count;
    if (thread->table == NULL || count > thread->limit / 2) {
        uint32_t limit = thread->table == NULL ? FIRST_TABLE / 2 : 2 * thread->limit;
        struct access **table = arena_take(2 * limit * sizeof *table);
        if (table == NULL) return false;
        thread->table = table; // the smaller one lies unused from here on: in all less than the new one
        thread->limit = limit;
    }
    memset(thread->table, 0, 2 * thread->limit * sizeof *thread->table);
    for (struct access *access = living; access != NULL; access = access->mine) table_insert(thread, access);
    live_sweep(thread);
    return true;
}

// A handler that interrupted the shim finds the table as it is and leaves it so: its access is only hinted at.
static void remember(struct thread *thread, struct access *access) {
    access->chunk->accesses++;
    if (thread->depth > 1) return;
    if (thread->table == NULL || thread->entries >= thread->limit)
        if (!table_sweep(thread, false)) return;
    access->mine = thread->mine;
    thread->mine = access;
    thread->entries++;
    table_insert(thread, access);
}

void access_forget(struct thread *thread) {
    if (thread->mine != NULL) table_sweep(thread, true);
}

static struct counters *look_up(struct thread *thread, uint64_t serial, enum side side, int api, uint64_t source) {
    if (thread->table == NULL) return NULL;
    for (struct access *access = *place(thread, serial); access != NULL; access = access->next) {
        struct counters *counters = &access->side[side];
        if (counters->serial == serial && counters->api == api && counters->source == source) return counters;
    }
    return NULL;
}

// ---- the blocks

static void text_who_when(struct text *text, struct thread *thread, uint64_t time) {
    TEXT(text, " ; prov:wasAssociatedWith <> ; prov:startedAtTime \"");
    text_date(text, thread, time);
    TEXT(text, "\"^^xsd:dateTime");
}

static void text_head(struct text *text, struct thread *thread, uint64_t number, uint64_t serial, uint64_t time) {
    TEXT(text, " <a");
    text_number(text, number);
    TEXT(text, "> a " TERM_Access " ; " TERM_object " <../o");
    text_number(text, serial);
    TEXT(text, ">");
    text_who_when(text, thread, time);
}

static void text_api(struct text *text, const char *property, int api) {
    TEXT(text, " ; ");
    text_string(text, property);
    TEXT(text, " \"");
    TEXT_API(text, api);
    TEXT(text, "\"");
}

// Spaces up to the next 16 bytes: chunks begin at pages and blocks at multiples of 16.
static void align(struct text *text) {
    text_bytes(text, PADDING, -(uintptr_t)text->at & 15);
}

// Of detail `file` there is the first moment alone.
static unsigned side_counters(enum side side) {
    return detailed(DETAIL_FILE) ? 1 : side == READING ? 7 : 6;
}

static void text_side(struct text *text, struct access *access, enum side side, int api) {
#define COUNTER_TEXT(term, padding) "; " term padding ZEROS
    static const char reading[] = COUNTER_TEXT(TERM_reads, "        ") COUNTER_TEXT(TERM_readBytes, "    ")
        COUNTER_TEXT(TERM_readElapsed, "  ") COUNTER_TEXT(TERM_lastRead, "     ") COUNTER_TEXT(TERM_firstRead, "    ")
            COUNTER_TEXT(TERM_readLongest, "  ") COUNTER_TEXT(TERM_emptyReads, "   ");
    static const char writing[] = COUNTER_TEXT(TERM_writes, "       ") COUNTER_TEXT(TERM_writeBytes, "   ")
        COUNTER_TEXT(TERM_writeElapsed, " ") COUNTER_TEXT(TERM_lastWrite, "    ") COUNTER_TEXT(TERM_firstWrite, "   ")
            COUNTER_TEXT(TERM_writeLongest, " ");
    bool whole = !detailed(DETAIL_FILE);
    access->side[side].api = (int16_t)api;
    access->side[side].digits = text->at + 16 - (whole ? 0 : COUNTER * FIRST);
    if (!whole)
        text_bytes(text, (side == READING ? reading : writing) + COUNTER * FIRST, COUNTER);
    else if (side == READING)
        TEXT(text, reading);
    else
        TEXT(text, writing);
}

// ---- an opening and the access it is most likely to have, in one block
//
// A third of the cost of opening a file is this text, so it is made the quicker way: the path from the block's
// beginning on, then from the counters back towards it, where numbers need no length beforehand; spaces fill what is
// left between.

#define BACK(at, literal) ((at) -= sizeof(literal) - 1, memcpy(at, literal, sizeof(literal) - 1))
#define BACK_NUMBER(at, term, value) (at = number_before(at, value), BACK(at, " ; " term " "))

static char *number_before(char *end, uint64_t value) {
    const uint64_t sixteen_places = 10000000000000000u;
    if (value < sixteen_places) return digits_before(end, value);
    store_loosely(end - 16, sixteen_digits(value % sixteen_places));
    return digits_before(end - 16, value / sixteen_places);
}

static char *api_before(char *at, int api) {
    BACK(at, "\"");
    at -= api_lengths[api];
    memcpy(at, api_names[api], api_lengths[api]);
    return at;
}

static char *date_before(char *at, struct thread *thread, uint64_t time) {
    enum { DATE = sizeof "2026-11-20T12:15:46.123456Z" - 1 };
    struct text text = {at - DATE, at};
    text_date(&text, thread, time);
    return at - DATE;
}

struct opening {
    struct object *object;
    uint64_t serial, number, started, elapsed; // number: of the access
    int api, apis[2];                          // -1: none
};

// `. <a1> a :Access …` up to its counters.
static char *head_before(char *at, const struct opening *opening, struct thread *thread) {
    if (opening->apis[WRITING] >= 0) {
        at = api_before(at, opening->apis[WRITING]);
        BACK(at, " ; " TERM_writeApi " \"");
    }
    if (opening->apis[READING] >= 0) {
        at = api_before(at, opening->apis[READING]);
        BACK(at, " ; " TERM_readApi " \"");
    }
    BACK(at, "\"^^xsd:dateTime");
    at = date_before(at, thread, opening->started);
    BACK(at, "> ; prov:wasAssociatedWith <> ; prov:startedAtTime \"");
    at = number_before(at, opening->serial);
    BACK(at, "> a " TERM_Access " ; " TERM_object " <../o");
    at = number_before(at, opening->number);
    BACK(at, " . <a");
    return at;
}

static char *facts_before(char *at, const struct facts *facts) {
    BACK_NUMBER(at, TERM_size, facts->size);
    BACK_NUMBER(at, TERM_ctimeNs, facts->changed);
    BACK_NUMBER(at, TERM_mtimeNs, facts->modified);
    BACK_NUMBER(at, TERM_birthNs, facts->birth);
    BACK_NUMBER(at, TERM_inode, facts->inode);
    BACK(at, "\"");
    at = number_before(at, facts->device_minor);
    BACK(at, ":");
    at = number_before(at, facts->device_major);
    BACK(at, " ; " TERM_device " \"");
    return at;
}

static char *opening_before(char *at, const struct opening *opening) {
    const struct object *object = opening->object;
    if (object->unlinked) BACK(at, " ; " TERM_unlinked " true");
    if (object->inherited) BACK(at, " ; " TERM_inherited " true");
    if (opening->api >= 0) {
        BACK_NUMBER(at, TERM_openElapsed, opening->elapsed);
        at = api_before(at, opening->api);
        BACK(at, " ; " TERM_openApi " \"");
    }
    BACK_NUMBER(at, TERM_openedNs, opening->started);
    BACK_NUMBER(at, TERM_flags, object->flags);
    return facts_before(at, &object->facts);
}

static void text_named(struct text *text, const struct opening *opening) {
    const struct object *object = opening->object;
    TEXT(text, " <../o");
    text_number(text, opening->serial);
    TEXT(text, "> a ");
    text_string(text, object->kind);
    if (unlikely(S_ISSOCK(object->facts.mode))) text_connection(text, &object->connection);
    if (object->path == NULL) return;
    if (!object->plain) {
        TEXT_NAME(text, path, object->path, object->path_length);
        return;
    }
    TEXT(text, " ; " TERM_path " \"");
    text_bytes(text, object->path, object->path_length);
    TEXT(text, "\"");
}

// At most so many digits: log10(2) is a little less than 1233 / 4096.
static unsigned digits(uint64_t value) {
    return (64u - (unsigned)__builtin_clzll(value | 1)) * 1233 / 4096 + 1;
}

// All that is written whatever the opening: what a block takes is a matter of bytes, for each byte of the trace is paid
// for when its space is gained. The padding is what a number before which nothing stands yet may overwrite.
static const char opening_form[] =
    "  <../o> a " TERM_FileVersion " ; " TERM_path " \"\" ; " TERM_device " \":\" ; " TERM_inode "  ; " TERM_birthNs
    "  ; " TERM_mtimeNs "  ; " TERM_ctimeNs "  ; " TERM_size "  ; " TERM_flags "  ; " TERM_openedNs "  ; " TERM_openApi
    " \"\" ; " TERM_openElapsed "  . <a> a " TERM_Access " ; " TERM_object " <../o> ; prov:wasAssociatedWith <> ; "
    "prov:startedAtTime \"2026-11-20T12:15:46.123456Z\"^^xsd:dateTime" PADDING PADDING;

static size_t opening_room(const struct opening *opening) {
    const struct object *object = opening->object;
    const struct facts *facts = &object->facts;
    size_t room = sizeof opening_form + 2 * digits(opening->serial) + digits(opening->number) +
                  digits(facts->device_major) + digits(facts->device_minor) + digits(facts->inode) +
                  digits(facts->birth) + digits(facts->modified) + digits(facts->changed) + digits(facts->size) +
                  digits(object->flags) + 19;
    if (object->path != NULL)
        room += object->plain ? object->path_length : name_room(object->path, object->path_length);
    if (opening->api >= 0) room += api_lengths[opening->api] + digits(opening->elapsed);
    if (S_ISSOCK(facts->mode)) room += 160; // two addresses at most
    if (object->inherited) room += sizeof " ; " TERM_inherited " true";
    if (object->unlinked) room += sizeof " ; " TERM_unlinked " true";
    for (int i = 0; i < 2; i++)
        if (opening->apis[i] >= 0) room += sizeof " ; " TERM_writeApi " \"\"" + api_lengths[opening->apis[i]];
    return room;
}

static size_t counters_room(const struct opening *opening) {
    size_t count = 1;
    for (int i = 0; i < 2; i++)
        if (opening->apis[i] >= 0) count += side_counters(i);
    return count * COUNTER + sizeof " .";
}

static void text_opening(struct text *text, const struct opening *opening, struct thread *thread, char *counters) {
    char *start = opening_before(head_before(counters, opening, thread), opening);
    text_named(text, opening);
    if (text->at < start) memset(text->at, ' ', (size_t)(start - text->at));
    text->at = counters;
}

static struct access *opening_write(struct thread *thread, const struct opening *opening, struct block *block,
                                    size_t room) {
    struct text *text = &block->text;
    struct access *access = access_new(thread, opening->object, opening->serial, opening->number, block);
    if (access == NULL) return NULL;
    text_opening(text, opening, thread, (char *)((uintptr_t)(text->at + room) & ~(uintptr_t)15));
    for (int i = 0; i < 2; i++)
        if (opening->apis[i] >= 0) text_side(text, access, i, opening->apis[i]);
    access->closed = text->at + 16;
    TEXT(text, COUNTER_TEXT(TERM_closed, "       ") " .");
    return access;
}

void access_opened(struct thread *thread, struct object *object, int api, uint64_t started, uint64_t elapsed) {
    struct block block;
    struct opening opening = {object,  relaxed(object->serial), next_number(&thread->accesses), started, elapsed, api,
                              {-1, -1}};
    for (int i = 0; i < 2; i++)
        if (allowed(object, i)) opening.apis[i] = predicted(thread, object->stream, i);
    size_t room = opening_room(&opening);
    if (!block_begin(thread, &block, room + counters_room(&opening))) return;
    struct access *access = opening_write(thread, &opening, &block, room);
    if (access == NULL) return;
    object->opening = access;
    for (int i = 0; i < 2; i++)
        if (opening.apis[i] >= 0) atomic_store_explicit(&object->hint[i], &access->side[i], memory_order_release);
    block_commit(&block);
    remember(thread, access);
}

static struct counters *access_begin(struct thread *thread, struct object *object, uint64_t serial, enum side side,
                                     int api) {
    struct block block;
    uint64_t number = next_number(&thread->accesses);
    if (serial == 0) return NULL; // closed meanwhile, by another thread
    if (!block_begin(thread, &block, 256 + side_counters(side) * COUNTER)) return NULL;
    struct access *access = access_new(thread, object, serial, number, &block);
    if (access == NULL) return NULL;
    text_head(&block.text, thread, number, serial, now(thread));
    text_api(&block.text, side == READING ? TERM_readApi : TERM_writeApi, api);
    align(&block.text);
    text_side(&block.text, access, side, api);
    TEXT(&block.text, " .");
    block_commit(&block);
    remember(thread, access);
    return &access->side[side];
}

struct counters *access_find(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api) {
    struct counters *counters = look_up(thread, serial, side, api, 0);
    if (counters == NULL) counters = access_begin(thread, object, serial, side, api);
    if (counters != NULL) {
        atomic_store_explicit(&object->hint[side], counters, memory_order_release);
        if (thread->depth == 1) thread->predicted[relaxed(object->stream)][side] = (short)api;
    }
    return counters;
}

// ---- fsync and its like, and copies: counted under a term of their own, with the source of a copy

static void text_operation(struct text *text, struct thread *thread, const char *term, uint64_t number,
                           uint64_t serial) {
    text_head(text, thread, number, serial, now(thread));
    TEXT(text, " ; " TERM_operation " ");
    text_string(text, term);
}

static void text_copy(struct text *text, uint64_t number, uint64_t from, uint64_t serial) {
    TEXT(text, " <a");
    text_number(text, number);
    TEXT(text, "> a " TERM_Copy " ; " TERM_source " <../o");
    text_number(text, from);
    TEXT(text, "> ; " TERM_object " <../o");
    text_number(text, serial);
    TEXT(text, ">");
}

struct counters *access_counted(struct thread *thread, struct object *object, const char *term, int api,
                                struct object *source) {
    static const char labels[6][17] = {"; " TERM_count "        ", "; " TERM_bytes "        ",
                                       "; " TERM_elapsed "      ", "; " TERM_last "         ",
                                       "; " TERM_first "        ", "; " TERM_longest "      "};
    uint64_t serial = relaxed(object->serial), from = source == NULL ? 0 : relaxed(source->serial);
    struct counters *counters = look_up(thread, serial, READING, api, from);
    if (counters != NULL) return counters;
    struct access *access;
    struct block block;
    if (serial == 0) return NULL; // closed meanwhile, by another thread
    uint64_t number = next_number(&thread->accesses);
    if (!block_begin(thread, &block, 320 + 6 * COUNTER)) return NULL;
    if ((access = access_new(thread, object, serial, number, &block)) == NULL) return NULL;
    counters = &access->side[READING];
    counters->source = from;
    counters->term = term;
    if (source == NULL)
        text_operation(&block.text, thread, term, number, serial);
    else
        text_copy(&block.text, number, from, serial);
    text_api(&block.text, TERM_api, api);
    align(&block.text);
    counters->api = (int16_t)api;
    counters->digits = block.text.at + 16;
    for (int i = 0; i < 6; i++) text_counter(&block.text, labels[i]);
    TEXT(&block.text, " .");
    block_commit(&block);
    remember(thread, access);
    return counters;
}

// ---- sizes, repositions, the longest call

static const uint64_t size_limits[] = {100,     1024,     10240,     102400,     1048576,
                                       4194304, 10485760, 104857600, 1073741824, UINT64_MAX};

static int size_class(uint64_t bytes) {
    int i = 0;
    while (bytes > size_limits[i]) i++;
    return i;
}

// The sizes like this one need no counter of their own: they are what the others leave of the count.
static void usual_size(struct counters *counters, uint64_t bytes) {
    int class = size_class(bytes);
    if (bytes == 0 && counters->side == READING) return; // the end of a file
    counters->low = class > 0 ? size_limits[class - 1] + 1 : counters->side == READING;
    counters->width = size_limits[class] - counters->low + 1;
}

void counters_begin(struct counters *counters, uint64_t bytes, uint64_t first) {
    store_counter(counters, FIRST, first);
    if (counters->term == NULL)
        usual_size(counters, bytes);
    else
        counters->width = UINT64_MAX;
}

void counters_longer(struct counters *counters, uint64_t elapsed) {
    counters->longest = elapsed;
    store_counter(counters, LONGEST, elapsed);
}

static struct spread *spread_begin(struct thread *thread, struct counters *counters) {
    static const char labels[11][17] = {
        "; " TERM_size1 "        ", "; " TERM_size2 "        ", "; " TERM_size3 "        ", "; " TERM_size4 "        ",
        "; " TERM_size5 "        ", "; " TERM_size6 "        ", "; " TERM_size7 "        ", "; " TERM_size8 "        ",
        "; " TERM_size9 "        ", "; " TERM_size10 "       ", "; " TERM_jumpedBytes "  "};
    struct block block;
    struct spread *spread;
    if (!block_begin(thread, &block, 96 + 11 * COUNTER)) return NULL;
    if ((spread = pool_take(&spreads)) == NULL) {
        block_drop(&block);
        return NULL;
    }
    memset(spread, 0, sizeof *spread);
    spread->chunk = block.chunk;
    block.chunk->accesses++;
    TEXT(&block.text, " <a");
    text_number(&block.text, counters->number);
    text_string(&block.text, counters->side == READING ? "/read" : "/write");
    TEXT(&block.text, "> a " TERM_AccessSizes);
    TEXT_NUMBER(&block.text, TERM_usualSize, (uint64_t)size_class(counters->low) + 1);
    align(&block.text);
    spread->digits = block.text.at + 16;
    for (int i = 0; i < 11; i++) text_counter(&block.text, labels[i]);
    TEXT(&block.text, " .");
    block_commit(&block);
    return spread;
}

static void spread_add(struct spread *spread, int which, uint64_t amount) {
    uint64_t *value = which < 10 ? &spread->sizes[which] : &spread->jumped, stored;
    add(value, amount);
    do {
        stored = AS_IT_IS(*value);
        store_digits(spread->digits + 32 * which, stored);
    } while (stored != AS_IT_IS(*value));
}
void counters_spread(struct thread *thread, struct counters *counters, uint64_t bytes, bool consecutive) {
    if (counters->term != NULL) return;
    if (bytes == 0 && counters->side == READING) {
        store_counter(counters, EMPTY, next_number(&counters->empty));
        return;
    }
    if (counters->width == 0) usual_size(counters, bytes);
    bool usual = bytes - counters->low < counters->width;
    if (usual && consecutive) return;
    if (counters->spread == NULL) counters->spread = spread_begin(thread, counters);
    if (counters->spread == NULL) return;
    if (!usual) spread_add(counters->spread, size_class(bytes), 1);
    if (!consecutive) spread_add(counters->spread, 10, bytes);
}

// ---- calls that failed: counted for each error

enum { ONE_COUNTER = 2 * COUNTER };
#define AN_ERROR ((uint64_t)1 << 63) // in the place of a copy's source

static struct counters *failure_begin(struct thread *thread, struct object *object, uint64_t serial, int api,
                                      uint64_t error) {
    struct block block;
    uint64_t number = next_number(&thread->failures);
    if (!block_begin(thread, &block, 320 + ONE_COUNTER)) return NULL;
    struct access *access = access_new(thread, object, serial, number, &block);
    if (access == NULL) return NULL;
    struct text *text = &block.text;
    struct counters *counters = &access->side[READING];
    counters->api = (int16_t)api;
    counters->source = error | AN_ERROR;
    counters->term = api_terms[api];
    TEXT(text, " <f");
    text_number(text, number);
    TEXT(text, "> a " TERM_Failure);
    if (object != &nobody) {
        TEXT(text, " ; " TERM_object " <../o");
        text_number(text, serial);
        TEXT(text, ">");
    }
    text_who_when(text, thread, now(thread));
    TEXT(text, " ; " TERM_operation " ");
    text_string(text, counters->term);
    text_api(text, TERM_api, api);
    TEXT_NUMBER(text, TERM_errno, error);
    align(text);
    counters->digits = text->at + 16;
    text_counter(text, "; " TERM_count PADDING);
    TEXT(text, " .");
    block_commit(&block);
    remember(thread, access);
    return counters;
}

// A call that failed, of an opening or (NULL) of none.
void access_failed(struct thread *thread, struct object *object, int api, uint64_t started) {
    uint64_t error = (uint64_t)errno;
    if (detailed(DETAIL_FILE) || object == &ignored) return;
    uint64_t serial = object == NULL ? 0 : relaxed(object->serial);
    if (serial == 0) serial = relaxed((object = &nobody)->serial); // closed meanwhile, by another thread
    thread->depth++;
    struct counters *counters = look_up(thread, serial, READING, api, error | AN_ERROR);
    if (counters == NULL) counters = failure_begin(thread, object, serial, api, error);
    if (counters != NULL) {
        uint64_t count = next_number(&counters->values[COUNT]);
        store_grown(counters->digits, count, true);
        if (detailed(DETAIL_CALL)) call_line(thread, counters, count, 0, 0, started, now(thread) - started, (int)error);
    }
    thread->depth--;
}

// ---- detail `file`: who touched what, and since when

void access_touched(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                    uint64_t time) {
    thread->depth++;
    struct counters *counters = relaxed(object->hint[side]);
    if (counters == NULL || relaxed(counters->owner) != thread->number || counters->serial != serial)
        counters = access_find(thread, object, serial, side, api);
    if (counters != NULL && counters->values[COUNT] == 0) {
        store_counter(counters, FIRST, time - thread->epoch);
        add(&counters->values[COUNT], 1);
    }
    thread->depth--;
}

// What a stream served, at one of the moments at which its time is read.
void account_stream(struct thread *thread, struct object *object, enum side side, int api, uint64_t bytes) {
    uint64_t serial = relaxed(object->serial), offset = relaxed(object->position);
    if (thread == NULL) return;
    if (!detailed(DETAIL_FILE))
        account_timed(thread, object, serial, side, api, offset, bytes, now(thread), false);
    else if (!touched(object, serial, side))
        access_touched(thread, object, serial, side, api, now(thread));
    object_moved(object, offset + bytes);
}

// ---- detail `call`: a line each

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

// False where another thread's access holds the counter.
bool access_closed(struct thread *thread, struct object *object, uint64_t serial, uint64_t time) {
    struct access *access = object->opening;
    if (access == NULL || relaxed(access->side[0].owner) != thread->number || access->side[0].serial != serial)
        return false;
    if (access->closed == NULL) return false; // its thread ended, and it is this thread's second access by now
    store_digits(access->closed, time - thread->epoch);
    return true;
}
