// Implements layer.h: files opened by a layer above the C library, and objects in them, counted like openings.
#include "record.h"

static struct pool records, middle_texts;
struct middle_text {
    char text[512];
};

int provio_recording(void) {
    return recording_thread() != NULL;
}

uint64_t provio_now(void) {
    struct thread *thread = recording_thread();
    return thread == NULL ? 0 : now(thread);
}

// ---- functions

struct function registered[REGISTERED];

static const char *term_of(const char *word) {
    static const char terms[][12] = {TERM_Read,   TERM_Write,    TERM_Create,   TERM_Open,  TERM_Close, TERM_Flush,
                                     TERM_Fsync,  TERM_List,     TERM_Stat,     TERM_Copy,  TERM_Link,  TERM_Delete,
                                     TERM_Rename, TERM_Truncate, TERM_Allocate, TERM_Resize};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        if (strcmp(terms[i] + 1, word) == 0) return terms[i];
    return NULL;
}

static bool function_is(struct function *function, const char *name, size_t length) {
    return atomic_load(&function->length) == length && memcmp(function->name, name, length) == 0;
}

// While another thread is filling an entry, the same name may get a second number.
int provio_function(const char *name, const char *term) {
    size_t length = strlen(name);
    const char *class = term_of(term);
    if (class == NULL || length == 0 || length >= sizeof registered->name || !text_plain(name, length)) return -1;
    for (int i = 0; i < REGISTERED; i++) {
        struct function *function = &registered[i];
        if (function_is(function, name, length)) return API_NAMED + i;
        if (atomic_exchange(&function->taken, true)) continue;
        memcpy(function->name, name, length);
        function->term = class;
        atomic_store(&function->length, (unsigned char)length);
        return API_NAMED + i;
    }
    return -1;
}

// ---- objects

static bool text_take(provio_object *object, size_t size) {
    object->room = (uint32_t)size;
    if (size <= sizeof object->short_text)
        object->text = object->short_text;
    else if (size <= 512)
        object->text = pool_take(LATER(&middle_texts, struct middle_text));
    else
        // memory of arena_take is not released
        object->text = size <= PATH_ROOM ? pool_take(&scratches) : arena_take(size);
    return object->text != NULL;
}

static void record_free(provio_object *object) {
    if (object->text != NULL && object->room > sizeof object->short_text && object->room <= PATH_ROOM)
        pool_give(object->room <= 512 ? &middle_texts : &scratches, object->text);
    pool_give(&records, object);
}

static provio_object *record_new(const char *kind, size_t text) {
    provio_object *made = pool_take(LATER(&records, provio_object));
    if (made == NULL) return NULL;
    memset(made, 0, offsetof(provio_object, short_text));
    made->object.kind = kind;
    if (text_take(made, text)) return made;
    record_free(made);
    return NULL;
}

void provio_release(provio_object *object) {
    if (object == NULL) return;
    atomic_store_explicit(&object->object.serial, 0, memory_order_release);
    record_free(object);
}

static void text_subject(struct text *text, uint64_t serial) {
    TEXT(text, " <../o");
    text_number(text, serial);
    TEXT(text, ">");
}

static void text_found(struct block *block, const struct object *object) {
    if (object->inherited) TEXT(&block->text, " ; " TERM_inherited " true");
    if (object->unlinked) TEXT(&block->text, " ; " TERM_unlinked " true");
    event_end(block);
}

// An opening without an access: the driver's own calls are counted on its own opening.
static void announce_file(struct thread *thread, provio_object *file, uint64_t serial, int function, uint64_t started,
                          uint64_t elapsed) {
    struct block block;
    if (!block_begin(thread, &block, 512 + FACTS_ROOM + name_room(file->text, file->length))) return;
    struct text *text = &block.text;
    text_subject(text, serial);
    TEXT(text, " a " TERM_FileVersion);
    if (file->length > 0) TEXT_NAME(text, path, file->text, file->length);
    if (!file->plain) TEXT(text, " ; " TERM_format " \"HDF5\"");
    if (file->object.facts.mode != 0) text_facts(text, &file->object.facts);
    TEXT_NUMBER(text, TERM_flags, file->object.flags);
    TEXT_NUMBER(text, TERM_openedNs, started);
    if (function >= 0) {
        text_counted_api(text, TERM_openApi, function);
        if (!filtered(CLASS_DURATION)) TEXT_NUMBER(text, TERM_openElapsed, elapsed);
    }
    text_found(&block, &file->object);
}

static void announce_member(struct thread *thread, provio_object *member, uint64_t serial, uint64_t file,
                            bool created) {
    static const char form[] =
        " <../o> a :NamedLink ; " TERM_inFile " <../o> ; " TERM_inherited " true ; " TERM_created " true .";
    struct block block;
    if (!block_begin(thread, &block, sizeof form + digits_at_most(serial) + digits_at_most(file) + member->length))
        return;
    struct text *text = &block.text;
    text_subject(text, serial);
    TEXT(text, " a ");
    text_string(text, member->object.kind);
    text_object(text, TERM_inFile, file);
    text_bytes(text, member->text, member->length);
    if (created) TEXT(text, " ; " TERM_created " true");
    text_found(&block, &member->object);
}

__attribute__((cold, noinline)) uint64_t announce_again(struct thread *thread, provio_object *object,
                                                        uint64_t parents) {
    uint64_t file = object->file == NULL ? 0 : serial_of(thread, object->file), serial = serial_next();
    if (!atomic_compare_exchange_strong(&object->object.serial, &parents, serial)) return parents;
    shim_enter(thread);
    object->object.inherited = true;
    atomic_store(&object->replaced, false);
    if (object->file != NULL)
        announce_member(thread, object, serial, file, false);
    else
        announce_file(thread, object, serial, -1, now(thread), 0);
    shim_leave(thread);
    return serial;
}

// ---- files

static provio_object *file_new(struct thread *thread, int function, const char *path, size_t length, unsigned flags,
                               const struct facts *facts, bool unlinked, uint64_t started, uint64_t ended) {
    provio_object *file = record_new(TERM_FileVersion, length + 1);
    if (file == NULL) return NULL;
    memcpy(file->text, path, length);
    file->text[length] = '\0';
    file->length = (uint32_t)length;
    file->object.facts = *facts;
    file->object.flags = flags & ~(unsigned)(PROVIO_NO_FILE | PROVIO_PLAIN_FILE);
    file->plain = flags & PROVIO_PLAIN_FILE;
    file->object.unlinked = unlinked;
    uint64_t serial = serial_next();
    started = clamped_start(thread, started, ended);
    shim_enter(thread);
    announce_file(thread, file, serial, function, started, ended - started);
    shim_leave(thread);
    atomic_store_explicit(&file->object.serial, serial, memory_order_release);
    return file;
}

// A name that is no path, such as a network address, stays unchanged.
size_t path_or_address(char *room, const char *path) {
    if (strstr(path, "://") == NULL) return path_join(room, AT_FDCWD, path);
    size_t length = strlen(path);
    if (length >= PATH_ROOM) return 0;
    memcpy(room, path, length + 1);
    return length;
}

provio_object *provio_file(int function, const char *path, unsigned flags, uint64_t started) {
    struct thread *thread = recording_thread();
    struct facts facts = {0};
    if (thread == NULL || path == NULL || !function_known(function) || filtered(CLASS_FILE)) return NULL;
    uint64_t ended = now(thread);
    char *room = pool_take(&scratches);
    if (room == NULL) return NULL;
    size_t length = path_or_address(room, path);
    provio_object *file = NULL;
    if (length > 0 && !path_ignored(room, length)) {
        if (!(flags & PROVIO_NO_FILE)) statx_facts(AT_FDCWD, path, 0, &facts);
        file = file_new(thread, function, room, length, flags, &facts, false, started, ended);
    }
    pool_give(&scratches, room);
    return file;
}

provio_object *provio_file_of(int function, int fd, unsigned flags, uint64_t started) {
    struct thread *thread = recording_thread();
    struct facts facts;
    if (thread == NULL || !function_known(function) || filtered(CLASS_FILE)) return NULL;
    uint64_t ended = now(thread);
    if (!statx_facts(fd, "", AT_EMPTY_PATH, &facts)) return NULL;
    char *room = pool_take(&scratches);
    if (room == NULL) return NULL;
    bool unlinked = facts.links == 0;
    size_t length = path_of_fd(fd, room, &unlinked);
    bool dropped = length > 0 && path_ignored(room, length);
    provio_object *file =
        dropped ? NULL : file_new(thread, function, room, length, flags, &facts, unlinked, started, ended);
    pool_give(&scratches, room);
    return file;
}

void provio_file_closed(provio_object *file, uint64_t time) {
    struct thread *thread = file == NULL ? NULL : recording_thread();
    uint64_t serial = thread == NULL ? 0 : serial_of(thread, file);
    if (serial == 0) return;
    const struct facts *opened = &file->object.facts;
    struct closing closing = {.object = &file->object};
    closing.known = opened->mode != 0 && file->length > 0 && statx_facts(AT_FDCWD, file->text, 0, &closing.facts) &&
                    is_same_file(&closing.facts, opened);
    shim_enter(thread);
    closing_write(thread, &closing, serial, clamped_start(thread, time, now(thread)));
    shim_leave(thread);
}

// ---- objects in files

static const char *kind_of(const char *word) {
    static const char kinds[][12] = {TERM_Group, TERM_Dataset, TERM_Attribute, TERM_Datatype, TERM_NamedLink};
    for (int i = 0; word != NULL && i < (int)(sizeof kinds / sizeof *kinds); i++)
        if (strcmp(kinds[i] + 1, word) == 0) return filtered(CLASS_GROUP + i) ? NULL : kinds[i];
    return NULL;
}

struct member_property {
    const char *property, *encoded, *value; // encoded: the property if the value is not UTF-8
    const char *beginning;                  // the text before a value that needs no escapes
    uint32_t begins;
    bool plain;
    size_t size;
};
#define PROPERTY(name, other, value)                                                                                   \
    { TERM_##name, TERM_##other, value, " ; " TERM_##name " \"", sizeof " ; " TERM_##name " \"" - 1, false, 0 }
enum { PROPERTIES = 10, LONGEST_TYPE = 2048 };

// The known properties; returns their number.
static int properties_of(struct member_property *found, const struct provio_member *member) {
    const struct member_property all[PROPERTIES] = {
        PROPERTY(path, pathEncoded, member->path),       PROPERTY(name, nameEncoded, member->name),
        PROPERTY(target, targetEncoded, member->target), PROPERTY(targetFile, targetFileEncoded, member->target_file),
        PROPERTY(shape, shape, member->shape),           PROPERTY(maxShape, maxShape, member->max_shape),
        PROPERTY(datatype, datatype, member->datatype),  PROPERTY(chunks, chunks, member->chunks),
        PROPERTY(filters, filters, member->filters),     PROPERTY(token, token, member->token),
    };
    int count = 0;
    for (int i = 0; i < PROPERTIES; i++) {
        if (all[i].value == NULL) continue;
        size_t size = strlen(all[i].value);
        if (all[i].value == member->datatype && size > LONGEST_TYPE) continue;
        found[count] = all[i];
        found[count].size = size;
        found[count++].plain = text_plain(all[i].value, size);
    }
    return count;
}

static void property_text(struct text *text, const struct member_property *member_property) {
    if (!member_property->plain) {
        text_name(text, member_property->property, member_property->encoded, member_property->value,
                  member_property->size);
        return;
    }
    text_bytes(text, member_property->beginning, member_property->begins);
    text_bytes(text, member_property->value, member_property->size);
    TEXT(text, "\"");
}

// Keep the properties of a member as text, in exactly the space that it needs.
static provio_object *member_new(const char *kind, const struct member_property *found, int count,
                                 uint64_t element_size) {
    size_t room = 64;
    for (int i = 0; i < count; i++) room += 32 + (found[i].plain ? 1 : 6) * found[i].size;
    bool large = room > PATH_ROOM;
    char *made = large ? arena_take(room) : pool_take(&scratches);
    if (made == NULL) return NULL;
    struct text text = {made, made + room};
    for (int i = 0; i < count; i++) property_text(&text, &found[i]);
    if (element_size != 0) TEXT_NUMBER(&text, TERM_elementSize, element_size);
    provio_object *member = record_new(kind, (size_t)(text.at - made));
    if (member != NULL) memcpy(member->text, made, member->length = member->room);
    if (!large) pool_give(&scratches, made);
    return member;
}

provio_object *provio_member(provio_object *file, const struct provio_member *described) {
    struct thread *thread = file == NULL ? NULL : recording_thread();
    uint64_t in = thread == NULL ? 0 : serial_of(thread, file);
    const char *kind = kind_of(described->kind);
    struct member_property found[PROPERTIES];
    if (in == 0 || kind == NULL || described->path == NULL) return NULL;
    int count = properties_of(found, described);
    provio_object *member = member_new(kind, found, count, described->element_size);
    if (member == NULL) return NULL;
    member->file = file;
    uint64_t serial = serial_next();
    shim_enter(thread);
    announce_member(thread, member, serial, in, described->created != 0);
    shim_leave(thread);
    atomic_store_explicit(&member->object.serial, serial, memory_order_release);
    return member;
}

// A separate record for each source, because a property has one value.
void provio_virtual(provio_object *dataset, provio_object *source) {
    struct thread *thread = dataset == NULL || source == NULL ? NULL : recording_thread();
    struct block block;
    if (thread == NULL) return;
    uint64_t serial = serial_of(thread, dataset), from = serial_of(thread, source);
    if (serial == 0 || from == 0 || !block_begin(thread, &block, 160)) return;
    TEXT(&block.text, " <../o");
    text_number(&block.text, serial);
    TEXT(&block.text, "/o");
    text_number(&block.text, from);
    TEXT(&block.text, "> " TERM_object " <../o");
    text_number(&block.text, serial);
    TEXT(&block.text, ">");
    text_object(&block.text, TERM_virtualSource, from);
    event_end(&block);
}

void provio_replaced(provio_object *object, uint64_t time) {
    struct thread *thread = object == NULL || relaxed(object->replaced) ? NULL : recording_thread();
    struct block block;
    uint64_t serial = thread == NULL ? 0 : serial_of(thread, object);
    if (serial == 0 || atomic_exchange(&object->replaced, true)) return;
    if (!block_begin(thread, &block, 96)) return;
    text_subject(&block.text, serial);
    TEXT(&block.text, " " TERM_replacedNs " ");
    text_number(&block.text, clamped_start(thread, time, now(thread)));
    event_end(&block);
}
