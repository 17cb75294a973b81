// The block of one (thread, opening, function), whose counters every call rewrites in place.
#include "shim.h"

static struct pool accesses = POOL(struct access);

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

static struct access *access_new(struct thread *thread, struct object *object, uint64_t serial, struct block *block) {
    struct access *access = pool_take(&accesses);
    if (access == NULL) {
        block->text.at = block->text.end; // never committed
        block_commit(block);
        return NULL;
    }
    memset(access->side, 0, sizeof access->side);
    for (int i = 0; i < 2; i++) {
        access->side[i].owner = thread->number;
        access->side[i].serial = serial;
        access->side[i].api = -1;
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

// Drops the accesses of openings that are closed; more room where too many are left.
static bool table_sweep(struct thread *thread, bool all) {
    struct access *living = NULL, *next;
    uint32_t count = 0;
    for (struct access *access = thread->mine; access != NULL; access = next) {
        next = access->mine;
        if (all || relaxed(access->object->serial) != access->side[0].serial) {
            access->chunk->accesses--;
            access->side[0].owner = access->side[1].owner = 0;
            pool_give(&accesses, access);
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

static void text_head(struct text *text, struct thread *thread, uint64_t number, uint64_t serial, uint64_t time) {
    TEXT(text, " <a");
    text_number(text, number);
    TEXT(text, "> a " TERM_Access " ; " TERM_object " <../o");
    text_number(text, serial);
    TEXT(text, "> ; prov:wasAssociatedWith <> ; prov:startedAtTime \"");
    text_date(text, thread, time);
    TEXT(text, "\"^^xsd:dateTime");
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

static void text_side(struct text *text, struct access *access, enum side side, int api) {
    static const char labels[2][5][17] = {
        {"; " TERM_reads "        ", "; " TERM_readBytes "    ", "; " TERM_readElapsed "  ", "; " TERM_lastRead "     ",
         "; " TERM_firstRead "    "},
        {"; " TERM_writes "       ", "; " TERM_writeBytes "   ", "; " TERM_writeElapsed " ", "; " TERM_lastWrite "    ",
         "; " TERM_firstWrite "   "}};
    access->side[side].api = api;
    access->side[side].digits = text->at + 16;
    for (int i = 0; i < 5; i++) text_counter(text, labels[side][i]);
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
    if (object->inherited) room += sizeof " ; " TERM_inherited " true";
    if (object->unlinked) room += sizeof " ; " TERM_unlinked " true";
    return room;
}

static size_t side_room(const char *property, int api) {
    return sizeof " ;  \"\"" + strlen(property) + api_lengths[api] + 5 * COUNTER;
}

// An opening and the access it is most likely to have, in one block.
void access_opened(struct thread *thread, struct object *object, int api, uint64_t started, uint64_t elapsed) {
    struct block block;
    struct text *text = &block.text;
    uint64_t serial = relaxed(object->serial), number = next_number(&thread->accesses);
    bool reads = allowed(object, READING), writes = allowed(object, WRITING);
    int reader = predicted(thread, object->stream, READING), writer = predicted(thread, object->stream, WRITING);
    size_t room = opening_room(object, serial, number, api, elapsed) + COUNTER;
    if (reads) room += side_room(TERM_readApi, reader);
    if (writes) room += side_room(TERM_writeApi, writer);
    if (!block_begin(thread, &block, room)) return;
    struct access *access = access_new(thread, object, serial, &block);
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
    if (!block_begin(thread, &block, 256 + 5 * COUNTER)) return NULL;
    struct access *access = access_new(thread, object, serial, &block);
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

// fsync and its like, and copies: counted under a term of their own, with the source of a copy.
struct counters *access_counted(struct thread *thread, struct object *object, const char *term, int api,
                                struct object *source) {
    static const char labels[5][17] = {"; " TERM_count "        ", "; " TERM_bytes "        ",
                                       "; " TERM_elapsed "      ", "; " TERM_last "         ",
                                       "; " TERM_first "        "};
    uint64_t serial = relaxed(object->serial), from = source == NULL ? 0 : relaxed(source->serial);
    struct counters *counters = look_up(thread, serial, READING, api, from);
    if (counters != NULL) return counters;
    struct access *access;
    struct block block;
    if (!block_begin(thread, &block, 320 + 5 * COUNTER)) return NULL;
    if ((access = access_new(thread, object, serial, &block)) == NULL) return NULL;
    access->side[READING].source = from;
    if (source == NULL) {
        text_head(&block.text, thread, next_number(&thread->accesses), serial, now(thread));
        TEXT(&block.text, " ; " TERM_operation " ");
        text_string(&block.text, term);
    } else {
        TEXT(&block.text, " <e");
        text_number(&block.text, next_number(&thread->events));
        TEXT(&block.text, "> a ");
        text_string(&block.text, term);
        TEXT(&block.text, " ; " TERM_source " <../o");
        text_number(&block.text, from);
        TEXT(&block.text, "> ; " TERM_object " <../o");
        text_number(&block.text, serial);
        TEXT(&block.text, ">");
    }
    text_api(&block.text, TERM_api, api);
    align(&block.text);
    access->side[READING].api = api;
    access->side[READING].digits = block.text.at + 16;
    for (int i = 0; i < 5; i++) text_counter(&block.text, labels[i]);
    TEXT(&block.text, " .");
    block_commit(&block);
    remember(thread, access);
    return &access->side[READING];
}

// False where another thread's access holds the counter.
bool access_closed(struct thread *thread, struct object *object, uint64_t serial, uint64_t time) {
    struct access *access = object->opening;
    if (access == NULL || access->side[0].owner != thread->number || access->side[0].serial != serial) return false;
    store_digits(access->closed, time - thread->epoch);
    return true;
}
