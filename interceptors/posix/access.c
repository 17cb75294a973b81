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
#define LABEL(text, term) text_bytes(text, " ; " term PADDING, 16)

static void text_counter(struct text *text, const char *label) {
    text_bytes(text, label, 16);
    text_bytes(text, "0000000000000000", 16);
}
#define COUNTER_OF(text, term) text_counter(text, "; " term PADDING)

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
    static const char labels[2][7][17] = {
        {"; " TERM_reads "        ", "; " TERM_readBytes "    ", "; " TERM_readElapsed "  ", "; " TERM_lastRead "     ",
         "; " TERM_firstRead "    ", "; " TERM_readLongest "  ", "; " TERM_emptyReads "   "},
        {"; " TERM_writes "       ", "; " TERM_writeBytes "   ", "; " TERM_writeElapsed " ", "; " TERM_lastWrite "    ",
         "; " TERM_firstWrite "   ", "; " TERM_writeLongest " "}};
    unsigned count = side_counters(side), first = count == 1 ? FIRST : 0;
    access->side[side].api = (int16_t)api;
    access->side[side].digits = text->at + 16 - 32 * first;
    for (unsigned i = first; i < first + count; i++) text_counter(text, labels[side][i]);
}

static void text_opening(struct text *text, struct object *object, uint64_t serial, int api, uint64_t started,
                         uint64_t elapsed) {
    TEXT(text, " <../o");
    text_number(text, serial);
    TEXT(text, "> a ");
    text_string(text, object->kind);
    if (object->path != NULL && object->plain) {
        TEXT(text, " ; " TERM_path " \"");
        text_bytes(text, object->path, object->path_length);
        TEXT(text, "\"");
    } else if (object->path != NULL) {
        TEXT_NAME(text, path, object->path, object->path_length);
    }
    text_facts(text, &object->facts);
    if (unlikely(S_ISSOCK(object->facts.mode))) text_connection(text, &object->connection);
    TEXT_NUMBER(text, TERM_flags, object->flags);
    TEXT_NUMBER(text, TERM_openedNs, started);
    if (api >= 0) {
        text_api(text, TERM_openApi, api);
        TEXT_NUMBER(text, TERM_openElapsed, elapsed);
    }
    if (object->inherited) TEXT(text, " ; " TERM_inherited " true");
    if (object->unlinked) TEXT(text, " ; " TERM_unlinked " true");
    TEXT(text, " .");
}

// At most so many digits: log10(2) is a little less than 1233 / 4096.
static unsigned digits(uint64_t value) {
    return (64u - (unsigned)__builtin_clzll(value | 1)) * 1233 / 4096 + 1;
}

// All that text_opening and the head of an access write whatever the opening: what a block takes is a matter of bytes,
// for each byte of the trace is paid for when its space is gained.
static const char opening_form[] =
    "  <../o> a " TERM_FileVersion " ; " TERM_path " \"\" ; " TERM_device " \":\" ; " TERM_inode "  ; " TERM_birthNs
    "  ; " TERM_mtimeNs "  ; " TERM_ctimeNs "  ; " TERM_size "  ; " TERM_flags "  ; " TERM_openedNs "  ; " TERM_openApi
    " \"\" ; " TERM_openElapsed "  . <a> a " TERM_Access " ; " TERM_object " <../o> ; prov:wasAssociatedWith <> ; "
    "prov:startedAtTime \"2026-11-20T12:15:46.123456Z\"^^xsd:dateTime" PADDING " .";

static size_t opening_room(const struct object *object, uint64_t serial, uint64_t number, int api, uint64_t elapsed) {
    const struct facts *facts = &object->facts;
    size_t room = sizeof opening_form + 2 * digits(serial) + digits(number) + digits(facts->device_major) +
                  digits(facts->device_minor) + digits(facts->inode) + digits(facts->birth) + digits(facts->modified) +
                  digits(facts->changed) + digits(facts->size) + digits(object->flags) + 19;
    if (object->path != NULL)
        room += object->plain ? object->path_length : name_room(object->path, object->path_length);
    if (api >= 0) room += api_lengths[api] + digits(elapsed);
    if (S_ISSOCK(facts->mode)) room += 160; // two addresses at most
    if (object->inherited) room += sizeof " ; " TERM_inherited " true";
    if (object->unlinked) room += sizeof " ; " TERM_unlinked " true";
    return room;
}

static size_t side_room(enum side side, const char *property, int api) {
    return sizeof " ;  \"\"" + strlen(property) + api_lengths[api] + side_counters(side) * COUNTER;
}

// An opening and the access it is most likely to have, in one block.
void access_opened(struct thread *thread, struct object *object, int api, uint64_t started, uint64_t elapsed) {
    struct block block;
    struct text *text = &block.text;
    uint64_t serial = relaxed(object->serial), number = next_number(&thread->accesses);
    bool reads = allowed(object, READING), writes = allowed(object, WRITING);
    int reader = predicted(thread, object->stream, READING), writer = predicted(thread, object->stream, WRITING);
    size_t room = opening_room(object, serial, number, api, elapsed) + COUNTER;
    if (reads) room += side_room(READING, TERM_readApi, reader);
    if (writes) room += side_room(WRITING, TERM_writeApi, writer);
    if (!block_begin(thread, &block, room)) return;
    struct access *access = access_new(thread, object, serial, number, &block);
    if (access == NULL) return;
    text_opening(text, object, serial, api, started, elapsed);
    text_head(text, thread, number, serial, started);
    if (reads) text_api(text, TERM_readApi, reader);
    if (writes) text_api(text, TERM_writeApi, writer);
    align(text);
    if (reads) text_side(text, access, READING, reader);
    if (writes) text_side(text, access, WRITING, writer);
    access->closed = text->at + 16;
    COUNTER_OF(text, TERM_closed);
    TEXT(text, " .");
    object->opening = access;
    if (reads) atomic_store_explicit(&object->hint[READING], &access->side[READING], memory_order_release);
    if (writes) atomic_store_explicit(&object->hint[WRITING], &access->side[WRITING], memory_order_release);
    block_commit(&block);
    remember(thread, access);
}

static struct counters *access_begin(struct thread *thread, struct object *object, uint64_t serial, enum side side,
                                     int api) {
    struct block block;
    uint64_t number = next_number(&thread->accesses);
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
        if (thread->depth == 1) thread->predicted[object->stream][side] = (short)api;
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
    COUNTER_OF(text, TERM_count);
    TEXT(text, " .");
    block_commit(&block);
    remember(thread, access);
    return counters;
}

// A call that failed, of an opening or (NULL) of none.
void access_failed(struct thread *thread, struct object *object, int api, uint64_t started) {
    uint64_t error = (uint64_t)errno;
    if (detailed(DETAIL_FILE) || object == &ignored) return;
    if (object == NULL) object = &nobody;
    thread->depth++;
    uint64_t serial = relaxed(object->serial);
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
    store_digits(access->closed, time - thread->epoch);
    return true;
}
