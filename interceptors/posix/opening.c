// The block of an opening and its most likely first access, and the end of an opening.
//
// This text is a third of the cost of opening a file, so it is written in a fast way: the path forwards from the start
// of the block, the numbers backwards from the counters, where their length is not needed in advance; spaces fill the
// gap between.
#include "access.h"

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

// Detail `file` has only the first time. The writes of a channel (a pipe or a connection) have one counter more.
unsigned side_counters(enum side side, bool channel) {
    unsigned attempted = side == WRITING && channel;
    return detailed(DETAIL_FILE) ? 1 + attempted : (side == READING ? 7 : 6) - 2 * filtered(CLASS_DURATION) + attempted;
}

void text_side(struct text *text, struct access *access, enum side side, int api, bool channel) {
#define COUNTER_TEXT(term, padding) "; " term padding ZEROS
    static const char reading[] = COUNTER_TEXT(TERM_reads, "        ") COUNTER_TEXT(TERM_readBytes, "    ")
        COUNTER_TEXT(TERM_readElapsed, "  ") COUNTER_TEXT(TERM_lastRead, "     ") COUNTER_TEXT(TERM_firstRead, "    ")
            COUNTER_TEXT(TERM_readLongest, "  ") COUNTER_TEXT(TERM_emptyReads, "   ");
    static const char writing[] = COUNTER_TEXT(TERM_writes, "       ") COUNTER_TEXT(TERM_writeBytes, "   ")
        COUNTER_TEXT(TERM_writeElapsed, " ") COUNTER_TEXT(TERM_lastWrite, "    ") COUNTER_TEXT(TERM_firstWrite, "   ")
            COUNTER_TEXT(TERM_writeLongest, " ");
    const char *counters = side == READING ? reading : writing;
    access->side[side].api = (int16_t)api;
    access->side[side].digits = text->at + 16;
    if (detailed(DETAIL_FILE)) {
        access->side[side].digits -= counter_digits(&access->side[side], FIRST) - access->side[side].digits;
        text_bytes(text, counters + COUNTER * FIRST, COUNTER);
    } else if (filtered(CLASS_DURATION)) {
        text_bytes(text, counters, COUNTER * ELAPSED);
        text_bytes(text, counters + COUNTER * LAST, COUNTER * (LONGEST - LAST));
        if (side == READING) text_bytes(text, counters + COUNTER * EMPTY, COUNTER);
    } else if (side == READING)
        TEXT(text, reading);
    else
        TEXT(text, writing);
    if (side == READING || likely(!channel)) return;
    access->side[side].attempted = text->at + 16;
    TEXT(text, COUNTER_TEXT(TERM_attempted, "    "));
}

#define BACK(at, literal) ((at) -= sizeof(literal) - 1, memcpy(at, literal, sizeof(literal) - 1))
#define BACK_NUMBER(at, term, value) (at = number_before(at, value), BACK(at, " ; " term " "))

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

static char *task_before(char *at, uint64_t scope) {
    if (scope == 0) return at;
    BACK(at, ">");
    at = number_before(at, scope);
    BACK(at, " ; " TERM_task " <../t");
    return at;
}

// `. <a1> a :Access …` up to its counters.
static char *head_before(char *at, const struct opening *opening, struct thread *thread) {
    bool named = !filtered(CLASS_API);
    if (named && opening->apis[WRITING] >= 0) {
        at = api_before(at, opening->apis[WRITING]);
        BACK(at, " ; " TERM_writeApi " \"");
    }
    if (named && opening->apis[READING] >= 0) {
        at = api_before(at, opening->apis[READING]);
        BACK(at, " ; " TERM_readApi " \"");
    }
    if (unlikely(thread->scope != 0)) at = task_before(at, scope_of(thread));
    BACK(at, "\"^^xsd:dateTime");
    at = date_before(at, thread, opening->started);
    BACK(at, " ; prov:startedAtTime \"");
    if (!filtered(CLASS_THREAD)) BACK(at, " ; prov:wasAssociatedWith <>");
    BACK(at, ">");
    at = number_before(at, opening->serial);
    BACK(at, "> a " TERM_Access " ; " TERM_object " <../o");
    at = number_before(at, opening->number);
    BACK(at, " . <a");
    return at;
}

// The three times of a file are often equal: then the digits of the following one are copied.
static char *time_before(char *at, uint64_t value, const char *behind, uint64_t same_as) {
    enum { DIGITS = 19 };
    if (value != same_as || value < 1000000000000000000u) return number_before(at, value);
    memcpy(at - DIGITS, behind, DIGITS);
    return at - DIGITS;
}

static char *facts_before(char *at, const struct facts *facts) {
    BACK_NUMBER(at, TERM_size, facts->size);
    char *changed = at = number_before(at, facts->changed);
    BACK(at, " ; " TERM_ctimeNs " ");
    char *modified = at = time_before(at, facts->modified, changed, facts->changed);
    BACK(at, " ; " TERM_mtimeNs " ");
    at = time_before(at, facts->birth, modified, facts->modified);
    BACK(at, " ; " TERM_birthNs " ");
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
        if (!filtered(CLASS_DURATION)) BACK_NUMBER(at, TERM_openElapsed, opening->elapsed);
        if (!filtered(CLASS_API)) {
            at = api_before(at, opening->api);
            BACK(at, " ; " TERM_openApi " \"");
        }
    }
    BACK_NUMBER(at, TERM_openedNs, opening->started);
    BACK_NUMBER(at, TERM_flags, object->flags);
    return likely(object->facts.mode != 0) ? facts_before(at, &object->facts) : at;
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

// The size of the fixed text, exact, because each byte of the trace costs time when its space is allocated. The padding
// can be overwritten by a number that nothing precedes yet.
static const size_t opening_form = sizeof(
    "  <../o> a " TERM_FileVersion " ; " TERM_path " \"\" ; " TERM_device " \":\" ; " TERM_inode "  ; " TERM_birthNs
    "  ; " TERM_mtimeNs "  ; " TERM_ctimeNs "  ; " TERM_size "  ; " TERM_flags "  ; " TERM_openedNs "  ; " TERM_openApi
    " \"\" ; " TERM_openElapsed "  . <a> a " TERM_Access " ; " TERM_object " <../o> ; prov:wasAssociatedWith <> ; "
    "prov:startedAtTime \"2026-11-20T12:15:46.123456Z\"^^xsd:dateTime" PADDING PADDING);

static size_t opening_room(const struct opening *opening) {
    const struct object *object = opening->object;
    const struct facts *facts = &object->facts;
    size_t room = opening_form + 2 * digits_at_most(opening->serial) + digits_at_most(opening->number) +
                  digits_at_most(facts->device_major) + digits_at_most(facts->device_minor) +
                  digits_at_most(facts->inode) + digits_at_most(facts->birth) + digits_at_most(facts->modified) +
                  digits_at_most(facts->changed) + digits_at_most(facts->size) + digits_at_most(object->flags) + 19;
    if (object->path != NULL)
        room += object->plain ? object->path_length : name_room(object->path, object->path_length);
    if (opening->api >= 0) room += api_lengths[opening->api] + digits_at_most(opening->elapsed);
    if (S_ISSOCK(facts->mode)) room += 160; // at most two addresses
    if (object->inherited) room += sizeof " ; " TERM_inherited " true";
    if (object->unlinked) room += sizeof " ; " TERM_unlinked " true";
    for (int i = 0; i < 2; i++)
        if (opening->apis[i] >= 0) room += sizeof " ; " TERM_writeApi " \"\"" + api_lengths[opening->apis[i]];
    return room;
}

static size_t counters_room(const struct opening *opening) {
    size_t count = 1;
    for (int i = 0; i < 2; i++)
        if (opening->apis[i] >= 0) count += side_counters(i, relaxed(opening->object->channel));
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
        if (opening->apis[i] >= 0) text_side(text, access, i, opening->apis[i], relaxed(opening->object->channel));
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
    size_t room = opening_room(&opening) + task_room(thread->scope);
    if (!block_begin(thread, &block, room + counters_room(&opening))) return;
    struct access *access = opening_write(thread, &opening, &block, room);
    if (access == NULL) return;
    object->opening = access;
    for (int i = 0; i < 2; i++)
        if (opening.apis[i] >= 0) atomic_store_explicit(&object->hint[i], &access->side[i], memory_order_release);
    block_commit(&block);
    access_remember(thread, access);
    bool writable = (object->flags & O_ACCMODE) != O_RDONLY && S_ISREG(object->facts.mode);
    if (writable && likely(lender == NULL)) // the opening of a child of vfork is in its parent's file
        unclosed_add(object, thread->live, block_offset(&block));
}

// ---- the last close

// fstat is a fifth faster than statx, and returns all facts needed at a close.
static bool closing_facts(int fd, struct facts *facts) {
    struct stat found;
    if (RAW(fstat, fd, (long)&found) != 0) return false;
    facts->links = (uint32_t)found.st_nlink;
    facts->modified = nanoseconds(found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
    facts->changed = nanoseconds(found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
    facts->size = (uint64_t)found.st_size;
    return true;
}

void closing_begin(struct closing *closing, int fd) {
    struct object *object = table_set(fd, NULL);
    *closing = (struct closing){.object = object == &ignored ? NULL : object};
    if (closing->object == NULL) return;
    // The descriptor's reference becomes the caller's, so that the opening stays valid until its end is written.
    uint64_t before = atomic_fetch_add(&object->references, ((uint64_t)MAP_REFERENCE << 32) - 1);
    closing->last = (uint32_t)before == 1;
    if (closing->last && relaxed(object->serial) != 0 && S_ISREG(object->facts.mode))
        closing->known = closing_facts(fd, &closing->facts);
}

void closing_write(struct thread *thread, struct closing *closing, uint64_t serial, uint64_t time) {
    struct block block;
    if (!block_begin(thread, &block, 256)) return;
    TEXT(&block.text, " <../o");
    text_number(&block.text, serial);
    TEXT(&block.text, "> " TERM_closedNs " ");
    text_number(&block.text, time);
    if (closing->known) {
        TEXT_NUMBER(&block.text, TERM_closedMtimeNs, closing->facts.modified);
        TEXT_NUMBER(&block.text, TERM_closedCtimeNs, closing->facts.changed);
        TEXT_NUMBER(&block.text, TERM_closedSize, closing->facts.size);
        TEXT_NUMBER(&block.text, TERM_closedLinks, closing->facts.links);
    }
    TEXT(&block.text, " .");
    block_commit(&block);
}

// After fclose of a written stream, its file is examined by name, because fclose wrote the last bytes.
static void closing_look(struct closing *closing) {
    struct object *object = closing->object;
    closing->known = object->path != NULL && statx_facts(AT_FDCWD, object->path, 0, &closing->facts) &&
                     is_same_file(&closing->facts, &object->facts);
}

// Besides the caller's reference: the last unmap removes the entry.
static bool object_mapped(const struct object *object) {
    return relaxed(object->references) >> 32 > MAP_REFERENCE;
}

void closing_end(struct closing *closing, bool by_path) {
    struct object *object = closing->object;
    if (object == NULL) return;
    uint64_t serial = relaxed(object->serial);
    struct thread *thread = thread_self();
    if (closing->last && serial != 0 && thread != NULL) {
        thread->depth++;
        bool writable = (object->flags & O_ACCMODE) != O_RDONLY, file = S_ISREG(object->facts.mode);
        uint64_t time = now(thread);
        if (by_path && writable && file) closing_look(closing);
        bool changed = closing->known &&
                       (closing->facts.modified != object->facts.modified ||
                        closing->facts.changed != object->facts.changed || closing->facts.size != object->facts.size);
        if (writable && file) turn_to(WRITING); // the process finished its output
        if (!access_closed(thread, object, serial, time) || changed || (writable && file))
            closing_write(thread, closing, serial, time);
        if (relaxed(object->unclosed) != 0 && !object_mapped(object)) unclosed_remove(object);
        if (thread->live != NULL && unlikely(live_is_written(thread->live))) live_write_now(thread->live);
        thread->depth--;
    }
    object_release(object, (uint64_t)MAP_REFERENCE << 32);
}

// The close failed.
void closing_undo(struct closing *closing, int fd) {
    if (closing->object == NULL) return;
    atomic_fetch_sub(&closing->object->references, ((uint64_t)MAP_REFERENCE << 32) - 1);
    object_release(table_set(fd, closing->object), 1);
}

void closing_range(unsigned first, unsigned last) {
    unsigned end = descriptors_end();
    for (unsigned fd = first; fd <= last && fd < end; fd++) {
        struct closing closing;
        closing_begin(&closing, (int)fd);
        closing_end(&closing, false);
    }
}
