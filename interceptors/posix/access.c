// The block of one (thread, opening, Task, function); each call rewrites its counters in place.
#include "access.h"

static struct pool accesses = POOL(struct access);
struct object unknown_object = {.serial = UINT64_MAX - 1, .kind = ""}, within = {.serial = UINT64_MAX - 2, .kind = ""};

enum { FIRST_TABLE = 64 };

void text_counter(struct text *text, const char *label) {
    text_bytes(text, label, 16);
    text_bytes(text, ZEROS, 16);
}

struct access *access_new(struct thread *thread, struct object *object, uint64_t serial, uint64_t number,
                          struct chunk *chunk) {
    struct access *access = pool_take(&accesses);
    if (access == NULL) return NULL;
    for (int i = 0; i < 2; i++) {
        struct counters *side = &access->side[i];
        memset(&side->api, 0, sizeof *side - offsetof(struct counters, api)); // all but the owner
        atomic_store_explicit(&side->owner, relaxed(thread->number), memory_order_relaxed);
        side->serial = serial;
        side->side = (int16_t)i;
        side->number = number;
        side->api = -1;
    }
    access->object = object;
    access->scope = scope_of(thread);
    access->slot = NULL;
    access->chunk = chunk;
    return access;
}

// ` <a7`, the start of the name of an access; ` <o7` of an opening's own.
void text_access(struct text *text, const struct counters *counters) {
    text_string(text, counters->own ? " <o" : " <a");
    text_number(text, counters->number);
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
        atomic_store_explicit(&access->side[i].owner, 0, memory_order_relaxed);
        sizes_free(&access->side[i]);
    }
    pool_give(&accesses, access);
}

// Remove the accesses of closed openings; enlarge the table if too many remain.
static bool table_sweep(struct thread *thread, bool all) {
    *(volatile bool *)&thread->sweeping = true;
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
        if (table == NULL) return thread->sweeping = false;
        thread->table = table; // the smaller one stays unused: all of them together are smaller than the new one
        thread->limit = limit;
    }
    memset(thread->table, 0, 2 * thread->limit * sizeof *thread->table);
    for (struct access *access = living; access != NULL; access = access->mine) table_insert(thread, access);
    live_sweep(thread);
    *(volatile bool *)&thread->sweeping = false;
    return true;
}

// Begin with an empty table after a sweep that never ended; the accesses in it are never used again.
void access_abandon(struct thread *thread) {
    thread->sweeping = false;
    thread->mine = NULL;
    thread->entries = 0;
    if (thread->table != NULL) memset(thread->table, 0, 2 * thread->limit * sizeof *thread->table);
}

// A signal handler that interrupted the shim must not change the table: its access is only stored as a hint.
void access_remember(struct thread *thread, struct access *access) {
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

// If names of functions are filtered out, functions of one class count as one.
static bool same_function(const struct counters *counters, int api, const char *term) {
    if (counters->api == api || !filtered(CLASS_API)) return counters->api == api;
    if (counters->api < 0 || counters->term == NULL || term == NULL)
        return counters->api >= 0 && counters->term == term;
    return strcmp(counters->term, term) == 0;
}

static struct counters *access_look_up(struct thread *thread, uint64_t serial, enum side side, int api, uint64_t source,
                                       const char *term) {
    if (thread->table == NULL) return NULL;
    uint64_t scope = scope_of(thread);
    for (struct access *access = *place(thread, serial); access != NULL; access = access->next) {
        struct counters *counters = &access->side[side];
        if (counters->serial != serial || counters->source != source || !same_function(counters, api, term)) continue;
        if (access->scope != scope) continue;
        for (int i = 0; i < 2; i++) // a thread that returns to a Task has a new number
            atomic_store_explicit(&access->side[i].owner, relaxed(thread->number), memory_order_relaxed);
        return counters;
    }
    return NULL;
}

// ---- blocks

static void text_thread_and_time(struct text *text, struct thread *thread, uint64_t time) {
    if (!filtered(CLASS_THREAD)) TEXT(text, " ; prov:wasAssociatedWith <>");
    TEXT(text, " ; prov:startedAtTime \"");
    text_date(text, thread, time);
    TEXT(text, "\"^^xsd:dateTime");
}

static void text_head(struct text *text, struct thread *thread, uint64_t number, const char *property, uint64_t serial,
                      uint64_t time) {
    TEXT(text, " <a");
    text_number(text, number);
    TEXT(text, "> a " TERM_Access);
    text_object(text, property, serial);
    text_thread_and_time(text, thread, time);
    text_task(text, scope_of(thread));
}

void text_counted_api(struct text *text, const char *property, int api) {
    if (filtered(CLASS_API)) return;
    TEXT(text, " ; ");
    text_string(text, property);
    TEXT(text, " \"");
    TEXT_API(text, api);
    TEXT(text, "\"");
}

// Spaces up to the next multiple of 16: chunks start at pages, blocks at multiples of 16.
void text_align(struct text *text) {
    text_bytes(text, PADDING, -(uintptr_t)text->at & 15);
}

// The part before the counters, the same for each access. Short, because each byte of the trace costs time when its
// space is allocated.
static size_t head_room(uint64_t number, uint64_t serial, int api) {
    static const char form[] =
        " <a> a " TERM_Access " ; " TERM_object " <../o> ; prov:wasAssociatedWith <> ; "
        "prov:startedAtTime \"2026-11-20T12:15:46.123456Z\"^^xsd:dateTime ; " TERM_writeApi " \"\"";
    return sizeof form + digits_at_most(number) + digits_at_most(serial) + api_length(api) + 15;
}

static struct counters *access_begin(struct thread *thread, struct object *object, uint64_t serial, enum side side,
                                     int api) {
    struct block block;
    uint64_t number = next_number(&thread->accesses);
    if (serial == 0) return NULL; // closed by another thread
    size_t room = head_room(number, serial, api) + task_room(scope_of(thread));
    bool channel = relaxed(object->channel); // read once: another thread may close it
    if (!block_begin(thread, &block, room + side_counters(side, channel) * COUNTER + 3)) return NULL;
    struct access *access = access_new(thread, object, serial, number, block.chunk);
    if (access == NULL) return block_drop(&block), NULL;
    text_head(&block.text, thread, number, TERM_object, serial, now(thread));
    text_counted_api(&block.text, side == READING ? TERM_readApi : TERM_writeApi, api);
    text_align(&block.text);
    text_side(&block.text, access, side, api, channel);
    TEXT(&block.text, " .");
    block_commit(&block);
    access_remember(thread, access);
    return &access->side[side];
}

struct counters *access_find(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api) {
    struct counters *counters = access_look_up(thread, serial, side, api, 0, NULL),
                    *before = relaxed(object->hint[side]);
    if (side == WRITING && before != NULL && !had_number(thread, relaxed(before->owner)) &&
        relaxed(object->put) != NULL)
        atomic_store_explicit(&object->shared, true, memory_order_relaxed);
    if (counters == NULL) counters = access_begin(thread, object, serial, side, api);
    if (counters != NULL) {
        counters->api = (int16_t)api; // if names of functions are filtered out, it was another function's
        atomic_store_explicit(&object->hint[side], counters, memory_order_release);
        if (thread->depth == 1 && api < API_COUNT) thread->predicted[relaxed(object->stream)][side] = (short)api;
    }
    return counters;
}

// ---- before a write into a pipe or connection: it may be the last action of the process
// Its number stays larger than the count if neither it nor a later one returned. A failed call needs no correction:
// the merge lets a writer have written at most the bytes that readers got beyond all counted writes.

void access_attempted(struct thread *thread, struct object *object, uint64_t serial, int api) {
    shim_enter(thread);
    struct counters *counters = relaxed(object->hint[WRITING]);
    if (!counters_fit(counters, thread, serial, api)) counters = access_find(thread, object, serial, WRITING, api);
    if (counters != NULL && counters->attempted != NULL) {
        if (detailed(DETAIL_FILE)) { // its text has no count, and only the first write is counted
            store_digits(counters->attempted, counters->values[COUNT] + 1);
            counters->attempted = NULL;
        } else {
            // Usually it equals the count, in whose text the last digit is known. It is larger by one after a failure.
            bool by_one = counters->attempted[15] == counters->digits[15];
            store_grown(counters->attempted, counters->values[COUNT] + 1, by_one);
        }
    }
    shim_leave(thread);
}

// The same for a copy; one that failed copied nothing.
void copy_attempted(struct thread *thread, struct object *object, int api, struct object *source, bool failed) {
    shim_enter(thread);
    struct counters *counters = access_counted(thread, object, TERM_Copy, api, source);
    if (counters != NULL && counters->attempted != NULL)
        store_digits(counters->attempted, counters->values[COUNT] + !failed);
    shim_leave(thread);
}

// ---- fsync and similar calls, and copies: counted under their own term; copies with their source

static void text_operation(struct text *text, struct thread *thread, const char *term, uint64_t number,
                           const char *property, uint64_t serial) {
    text_head(text, thread, number, property, serial, now(thread));
    TEXT(text, " ; " TERM_operation " ");
    text_string(text, term);
}

static void text_copy(struct text *text, struct thread *thread, uint64_t number, uint64_t from, uint64_t serial) {
    TEXT(text, " <a");
    text_number(text, number);
    TEXT(text, "> a " TERM_Copy " ; " TERM_source " <../o");
    text_number(text, from);
    TEXT(text, "> ; " TERM_object " <../o");
    text_number(text, serial);
    TEXT(text, ">");
    text_task(text, scope_of(thread));
}

struct counters *access_counted(struct thread *thread, struct object *object, const char *term, int api,
                                struct object *source) {
    static const char labels[7][17] = {
        "; " TERM_count "        ", "; " TERM_bytes "        ", "; " TERM_elapsed "      ", "; " TERM_last "         ",
        "; " TERM_first "        ", "; " TERM_longest "      ", "; " TERM_attempted "    "};
    bool channel = source != NULL && source != &within && relaxed(object->channel);
    uint64_t serial = relaxed(object->serial), from = source == NULL ? 0 : relaxed(source->serial);
    if (serial == 0 || (source != NULL && from == 0)) return NULL; // closed by another thread
    struct counters *counters = access_look_up(thread, serial, READING, api, from, term);
    if (counters != NULL) return counters;
    struct access *access;
    struct block block;
    uint64_t number = next_number(&thread->accesses);
    size_t room = head_room(number, serial, api) + sizeof " ; " TERM_operation " " + strlen(term);
    room += task_room(scope_of(thread));
    if (!block_begin(thread, &block, room + digits_at_most(from) + (6 + channel) * COUNTER + 3)) return NULL;
    if ((access = access_new(thread, object, serial, number, block.chunk)) == NULL) return block_drop(&block), NULL;
    counters = &access->side[READING];
    counters->source = from;
    counters->term = term;
    if (source == NULL || source == &within)
        text_operation(&block.text, thread, term, number, source == NULL ? TERM_object : TERM_inFile, serial);
    else
        text_copy(&block.text, thread, number, from, serial);
    text_counted_api(&block.text, TERM_api, api);
    text_align(&block.text);
    counters->api = (int16_t)api;
    counters->digits = block.text.at + 16;
    for (int i = 0; i < 6; i++)
        if (!filtered(CLASS_DURATION) || (i != ELAPSED && i != LONGEST)) text_counter(&block.text, labels[i]);
    if (channel) {
        counters->attempted = block.text.at + 16;
        text_counter(&block.text, labels[6]);
    }
    TEXT(&block.text, " .");
    block_commit(&block);
    access_remember(thread, access);
    return counters;
}

// ---- failed calls: counted for each error

enum { ONE_COUNTER = 2 * COUNTER };

static struct counters *failure_begin(struct thread *thread, struct object *object, uint64_t serial, int api,
                                      uint64_t error) {
    struct block block;
    uint64_t number = next_number(&thread->failures);
    if (!block_begin(thread, &block, 320 + task_room(scope_of(thread)) + ONE_COUNTER)) return NULL;
    struct access *access = access_new(thread, object, serial, number, block.chunk);
    if (access == NULL) return block_drop(&block), NULL;
    struct text *text = &block.text;
    struct counters *counters = &access->side[READING];
    counters->api = (int16_t)api;
    counters->source = error | AN_ERROR;
    counters->term = api_term(api);
    TEXT(text, " <f");
    text_number(text, number);
    TEXT(text, "> a " TERM_Failure);
    if (object != &unknown_object) {
        TEXT(text, " ; " TERM_object " <../o");
        text_number(text, serial);
        TEXT(text, ">");
    }
    text_thread_and_time(text, thread, now(thread));
    text_task(text, scope_of(thread));
    TEXT(text, " ; " TERM_operation " ");
    text_string(text, counters->term);
    text_counted_api(text, TERM_api, api);
    TEXT_NUMBER(text, TERM_errno, error);
    text_align(text);
    counters->digits = text->at + 16;
    text_counter(text, "; " TERM_count PADDING);
    TEXT(text, " .");
    block_commit(&block);
    access_remember(thread, access);
    return counters;
}

// A failed call on an opening, or (NULL) on none.
void access_failed_with(struct thread *thread, struct object *object, int api, int number, uint64_t started) {
    uint64_t error = (uint64_t)number;
    if (detailed(DETAIL_FILE) || object == &ignored) return;
    uint64_t serial = object == NULL ? 0 : relaxed(object->serial);
    if (serial == 0) serial = relaxed((object = &unknown_object)->serial); // closed by another thread
    shim_enter(thread);
    struct counters *counters = access_look_up(thread, serial, READING, api, error | AN_ERROR, api_term(api));
    if (counters == NULL) counters = failure_begin(thread, object, serial, api, error);
    if (counters != NULL) {
        uint64_t count = next_number(&counters->values[COUNT]);
        store_grown(counters->digits, count, true);
        if (detailed(DETAIL_CALL)) call_line(thread, counters, count, 0, 0, started, now(thread) - started, (int)error);
    }
    shim_leave(thread);
}

// ---- detail `file`: the threads that used a file, and their first use

void access_touched(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                    uint64_t time) {
    shim_enter(thread);
    struct counters *counters = relaxed(object->hint[side]);
    if (counters == NULL || relaxed(counters->owner) != relaxed(thread->number) || counters->serial != serial)
        counters = access_find(thread, object, serial, side, api);
    if (counters != NULL && counters->values[COUNT] == 0) {
        store_counter(counters, FIRST, time - thread->epoch);
        add(&counters->values[COUNT], 1);
    }
    if (counters != NULL) atomic_store_explicit(&object->touched[side], relaxed(thread->number), memory_order_relaxed);
    shim_leave(thread);
}

// Calls that a stream served from its buffer, when their time is read.
void account_stream(struct thread *thread, struct object *object, enum side side, int api, uint64_t bytes) {
    uint64_t serial = relaxed(object->serial), offset = relaxed(object->position);
    if (thread == NULL) return;
    if (unlikely(filtered(CLASS_DURATION)) && !detailed(DETAIL_FILE))
        account_lasting(thread, object, serial, side, api, offset, bytes, now(thread), false);
    else if (!detailed(DETAIL_FILE))
        account_timed(thread, object, serial, side, api, offset, bytes, now(thread), false);
    else if (!touched(object, serial, side))
        access_touched(thread, object, serial, side, api, now(thread));
    object_moved(object, offset + bytes);
}

// A single character that changes more than the last digits of its counters, or that needs the time.
void account_carry(struct thread *thread, struct object *object, enum side side, int api) {
    account_untimed(thread, object, side, api, 1);
}

// Count the inline bytes before a stream is flushed or closed. Returns its opening, or NULL. Inline code calls
// __overflow when the buffer is full.
struct object *put_count(FILE *stream) {
    int fd = stream_fd(stream);
    bool filled = write_at(stream) > write_base(stream);
    if (fd < 0 || !watching()) return NULL;
    struct object *object = filled ? object_of(fd) : object_known(fd);
    if (object == NULL || object == &ignored) return NULL;
    uint64_t bytes = put_inline(object, stream), offset = relaxed(object->position);
    struct thread *thread = bytes == 0 ? NULL : thread_self();
    if (thread == NULL) return object;
    account(thread, object, relaxed(object->serial), WRITING, API___overflow, offset, bytes, now(thread));
    object_moved(object, offset + bytes);
    return object;
}
