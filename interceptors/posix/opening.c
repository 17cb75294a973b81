// The block of an opening, the counters of its most likely access, and the end of an opening.
//
// The counters are in a slot: a line of its own, which the next opening uses again after the close. At the close, their
// values are written once more, without leading zeros, next to the facts of the file. So a closed opening takes about
// 300 bytes. The text of an opening is written in a fast way: the path forwards from the start of the block, the
// numbers backwards from its end, where their length is not needed in advance; spaces fill the gap between.
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

#define BACK(at, literal) ((at) -= sizeof(literal) - 1, memcpy(at, literal, sizeof(literal) - 1))

// ` read`; ` -` of none.
static char *api_before(char *at, int api) {
    if (api < 0 || filtered(CLASS_API)) {
        BACK(at, "-");
    } else {
        at -= api_lengths[api];
        memcpy(at, api_names[api], api_lengths[api]);
    }
    BACK(at, " ");
    return at;
}

struct opening {
    struct object *object;
    uint64_t serial, started, elapsed;
    int api, apis[2]; // -1: none
};

static char *task_before(char *at, uint64_t scope) {
    if (scope == 0) return at;
    BACK(at, ">");
    at = number_before(at, scope);
    BACK(at, " ; " TERM_task " <../t");
    return at;
}

// A time that is equal to the modification time is "=".
static char *time_before(char *at, uint64_t value, const struct facts *facts) {
    if (value != facts->modified) return number_before(at, value);
    *--at = '=';
    return at;
}

// ` mtime birth ctime device inode size`
static char *facts_before(char *at, const struct facts *facts) {
    at = number_before(at, facts->size);
    BACK(at, " ");
    at = number_before(at, facts->inode);
    BACK(at, " ");
    at = number_before(at, facts->device_minor);
    BACK(at, ":");
    at = number_before(at, facts->device_major);
    BACK(at, " ");
    at = time_before(at, facts->changed, facts);
    BACK(at, " ");
    at = time_before(at, facts->birth, facts);
    BACK(at, " ");
    at = number_before(at, facts->modified);
    BACK(at, " ");
    return at;
}

// ` ; :opening "thread openedNs flags api elapsed read write …"`: the last two are the functions that probably read and
// write it.
static char *opening_before(char *at, const struct opening *opening, struct thread *thread) {
    const struct object *object = opening->object;
    if (unlikely(thread->scope != 0)) at = task_before(at, scope_of(thread));
    if (object->unlinked) BACK(at, " ; " TERM_unlinked " true");
    if (object->inherited) BACK(at, " ; " TERM_inherited " true");
    BACK(at, "\"");
    if (likely(object->facts.mode != 0)) at = facts_before(at, &object->facts);
    at = api_before(at, opening->apis[WRITING]);
    at = api_before(at, opening->apis[READING]);
    if (opening->api >= 0 && !filtered(CLASS_DURATION))
        at = number_before(at, opening->elapsed);
    else
        BACK(at, "-");
    BACK(at, " ");
    at = api_before(at, opening->api);
    at = number_before(at, object->flags);
    BACK(at, " ");
    at = number_before(at, opening->started);
    BACK(at, " ");
    at = number_before(at, (uint64_t)base_ordinal(thread));
    BACK(at, " ; " TERM_opening " \"");
    return at;
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

// The size of the fixed text, exact, because each byte of the trace costs time when its space is allocated.
static const size_t opening_form =
    sizeof(" <../o> a " TERM_FileVersion " ; " TERM_path " \"\" ; " TERM_opening " \"    - - - -\" .");

static size_t opening_room(const struct opening *opening) {
    const struct object *object = opening->object;
    const struct facts *facts = &object->facts;
    size_t room = opening_form + digits_at_most(opening->serial) + digits_at_most(object->flags) +
                  digits_at_most(opening->started) + digits_at_most(relaxed(process.ordinals));
    if (facts->mode != 0)
        room += sizeof "      : " + digits_at_most(facts->device_major) + digits_at_most(facts->device_minor) +
                digits_at_most(facts->inode) + digits_at_most(facts->size) + digits_at_most(facts->modified) +
                (facts->birth == facts->modified ? 1 : digits_at_most(facts->birth)) +
                (facts->changed == facts->modified ? 1 : digits_at_most(facts->changed));
    if (object->path != NULL)
        room += object->plain ? object->path_length : name_room(object->path, object->path_length);
    if (opening->api >= 0) room += api_lengths[opening->api] + digits_at_most(opening->elapsed);
    if (S_ISSOCK(facts->mode)) room += 160; // at most two addresses
    if (object->inherited) room += sizeof " ; " TERM_inherited " true";
    if (object->unlinked) room += sizeof " ; " TERM_unlinked " true";
    for (int i = 0; i < 2; i++)
        if (opening->apis[i] >= 0) room += api_lengths[opening->apis[i]];
    return room;
}

static void text_opening(struct text *text, const struct opening *opening, struct thread *thread, size_t room) {
    char *end = text->at + room - 3, *start = opening_before(end, opening, thread);
    text_named(text, opening);
    if (text->at < start) memset(text->at, ' ', (size_t)(start - text->at));
    text->at = end;
    TEXT(text, " .");
}

// An access that is never found again; the next sweep removes it.
static void access_end(struct access *access) {
    access->slot = NULL;
    for (int i = 0; i < 2; i++) access->side[i].serial = UINT64_MAX;
}

void access_opened(struct thread *thread, struct object *object, int api, uint64_t started, uint64_t elapsed) {
    struct block block;
    struct opening opening = {object, relaxed(object->serial), started, elapsed, api, {-1, -1}};
    for (int i = 0; i < 2; i++)
        if (allowed(object, i)) opening.apis[i] = predicted(thread, object->stream, i);
    struct access *access = access_own(thread, object, opening.serial, opening.apis);
    size_t room = opening_room(&opening) + task_room(thread->scope);
    if (!block_begin(thread, &block, room)) return;
    text_opening(&block.text, &opening, thread, room);
    if (access != NULL && access->chunk->file != block.chunk->file) { // the thread continued in another file
        access_remember(thread, access);
        access_end(access);
        access = NULL;
    }
    object->opening = access;
    for (int i = 0; i < 2; i++)
        if (access != NULL && opening.apis[i] >= 0)
            atomic_store_explicit(&object->hint[i], &access->side[i], memory_order_release);
    block_commit(&block);
    if (access != NULL) access_remember(thread, access);
    bool writable = (object->flags & O_ACCMODE) != O_RDONLY && S_ISREG(object->facts.mode);
    if (writable && likely(lender == NULL)) // the opening of a child of vfork is in its parent's file
        unclosed_add(object, thread->live, block_place(&block));
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
    const struct facts *facts = &closing->facts;
    size_t room = sizeof " <../o>  " TERM_closedNs " ." + digits_at_most(serial) + digits_at_most(time);
    if (closing->known)
        room += sizeof " ; " TERM_closedMtimeNs "  ; " TERM_closedCtimeNs "  ; " TERM_closedSize "  ; " TERM_closedLinks
                       " " +
                digits_at_most(facts->modified) + digits_at_most(facts->changed) + digits_at_most(facts->size) +
                digits_at_most(facts->links);
    if (!block_begin(thread, &block, room)) return;
    TEXT(&block.text, " <../o");
    text_number(&block.text, serial);
    TEXT(&block.text, "> " TERM_closedNs " ");
    text_number(&block.text, time);
    if (closing->known) {
        TEXT_NUMBER(&block.text, TERM_closedMtimeNs, facts->modified);
        TEXT_NUMBER(&block.text, TERM_closedCtimeNs, facts->changed);
        TEXT_NUMBER(&block.text, TERM_closedSize, facts->size);
        TEXT_NUMBER(&block.text, TERM_closedLinks, facts->links);
    }
    TEXT(&block.text, " .");
    block_commit(&block);
}

static void text_column(struct text *text, bool present, uint64_t value) {
    TEXT(text, " ");
    if (present)
        text_number(text, value);
    else
        TEXT(text, "-");
}

// The first time is only in the text of the counters.
static uint64_t first_of(const struct counters *counters) {
    const char *digits = counter_digits(counters, FIRST);
    uint64_t value = 0;
    for (int i = 0; i < 16; i++) value = 10 * value + (uint64_t)(digits[i] - '0');
    return value;
}

// ` ; :reading "api first count bytes last empty elapsed longest"`; at detail `file` only the function and the first
// time.
static void text_side_values(struct thread *thread, struct text *text, struct counters *counters) {
    bool timed = !filtered(CLASS_DURATION);
    if (counters->values[COUNT] == 0) return;
    text_string(text, counters->side == READING ? " ; " TERM_reading " \"" : " ; " TERM_writing " \"");
    if (filtered(CLASS_API))
        TEXT(text, "-");
    else
        TEXT_API(text, counters->api);
    text_column(text, true, first_of(counters));
    if (!detailed(DETAIL_FILE)) {
        text_column(text, true, counters->values[COUNT]);
        text_column(text, true, counters->values[BYTES]);
        text_column(text, true, counters->values[LAST]);
        text_column(text, counters->side == READING, counters->empty);
        text_column(text, timed, counters->values[ELAPSED]);
        text_column(text, timed, counters->longest);
    }
    TEXT(text, "\"");
    sizes_finish(thread, text, counters);
}

// The close by the thread that opened the file: its record also has the values of the opening's counters, and the
// counters are free for the next opening. False: another thread has them, or a signal handler interrupted their use.
static bool closing_finish(struct thread *thread, const struct closing *closing, uint64_t serial, uint64_t time,
                           bool changed) {
    struct access *access = closing->object->opening;
    if (access == NULL || thread->depth != 1 || !had_number(thread, relaxed(access->side[0].owner))) return false;
    if (access->side[0].serial != serial || access->slot == NULL || thread->live == NULL) return false;
    char *room = pool_take(&scratches);
    if (room == NULL) return false;
    struct text text = {room, room + PATH_ROOM};
    const struct facts *facts = &closing->facts;
    TEXT(&text, " <../o");
    text_number(&text, serial);
    TEXT(&text, "> " TERM_closing " \"");
    text_number(&text, time - thread->epoch);
    if (changed) {
        text_column(&text, true, facts->modified);
        TEXT(&text, " ");
        if (facts->changed == facts->modified)
            TEXT(&text, "=");
        else
            text_number(&text, facts->changed);
        text_column(&text, true, facts->size);
        text_column(&text, true, facts->links);
    }
    TEXT(&text, "\"");
    const char *attempted = access->side[WRITING].attempted;
    if (unlikely(attempted != NULL)) { // as many digits as it has there
        TEXT(&text, " ; " TERM_attempted " ");
        text_bytes(&text, attempted, 16);
    }
    for (int i = 0; i < 2; i++)
        if (access->side[i].api >= 0) text_side_values(thread, &text, &access->side[i]);
    TEXT(&text, " .");
    struct block block;
    bool begun = block_begin(thread, &block, (size_t)(text.at - room) + 1);
    if (begun) {
        text_bytes(&block.text, room, (size_t)(text.at - room));
        block_commit(&block);
    }
    pool_give(&scratches, room);
    if (!begun) return true;
    slot_give(thread, access->slot_kind, access->slot, access->chunk);
    access_end(access);
    return true;
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
        shim_enter(thread);
        bool writable = (object->flags & O_ACCMODE) != O_RDONLY, file = S_ISREG(object->facts.mode);
        uint64_t time = now(thread);
        if (by_path && writable && file) closing_look(closing);
        bool changed = closing->known &&
                       (closing->facts.modified != object->facts.modified ||
                        closing->facts.changed != object->facts.changed || closing->facts.size != object->facts.size);
        if (writable && file) turn_to(WRITING); // the process finished its output
        if (!closing_finish(thread, closing, serial, time, changed || (closing->known && writable)))
            closing_write(thread, closing, serial, time);
        if (relaxed(object->unclosed) != 0 && !object_mapped(object)) unclosed_remove(object);
        if (thread->live != NULL && unlikely(live_is_written(thread->live))) live_write_now(thread->live);
        shim_leave(thread);
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
