// Implements layer.h: the calls of a layer above the C library, counted or as events.
#include "record.h"

// ---- counted

// At detail `call`, a transfer also has a line; its offset is unknown.
static inline void move_timed(struct thread *thread, struct object *object, uint64_t serial, enum side side,
                              int function, uint64_t bytes, uint64_t started) {
    shim_enter(thread);
    struct counters *counters = relaxed(object->hint[side]);
    if (unlikely(!counters_fit(counters, thread, serial, function)))
        counters = access_find(thread, object, serial, side, function);
    if (likely(counters != NULL)) {
        uint64_t ended = now(thread), left = SIXTEEN_PLACES - 1 - counters->values[BYTES];
        started = clamped_start(thread, started, ended);
        uint64_t count = counters_add(thread, counters, counters->next, bytes < left ? bytes : left, started, ended,
                                      side == READING ? ended : started, !filtered(CLASS_DURATION));
        if (unlikely(detailed(DETAIL_CALL))) call_line(thread, counters, count, 0, bytes, started, ended - started, 0);
    }
    shim_leave(thread);
}

static inline void move(provio_object *object, enum side side, int function, uint64_t bytes, uint64_t started) {
    struct thread *thread = object == NULL || !function_known(function) ? NULL : recording_thread();
    uint64_t serial = thread == NULL ? 0 : serial_of(thread, object);
    if (serial == 0) return;
    if (likely(!detailed(DETAIL_FILE)))
        move_timed(thread, &object->object, serial, side, function, bytes, started);
    else if (!touched(&object->object, serial, side)) {
        uint64_t time = now(thread);
        access_touched(thread, &object->object, serial, side, function,
                       side == READING ? time : clamped_start(thread, started, time));
    }
}

void provio_read(provio_object *object, int function, uint64_t bytes, uint64_t started) {
    move(object, READING, function, bytes, started);
}

void provio_write(provio_object *object, int function, uint64_t bytes, uint64_t started) {
    move(object, WRITING, function, bytes, started);
}

// Closes of objects are counted once for all objects of a file; which object was closed is recorded only at detail
// `call`.
static inline bool of_all(const provio_object *object, const char *term) {
    return object->file != NULL && strcmp(term, TERM_Close) == 0 && !detailed(DETAIL_CALL);
}

void provio_counted(provio_object *object, int function, uint64_t started) {
    struct thread *thread = object == NULL || !function_known(function) ? NULL : recording_thread();
    if (thread == NULL || serial_of(thread, object) == 0 || detailed(DETAIL_FILE)) return;
    const char *term = api_term(function);
    bool all = of_all(object, term);
    struct object *counted = all ? &object->file->object : &object->object;
    started = clamped_start(thread, started, now(thread));
    shim_enter(thread);
    struct counters *counters = access_counted(thread, counted, term, function, all ? &within : NULL);
    if (counters != NULL) operation_add(thread, counters, 0, started);
    shim_leave(thread);
}

void provio_submitted(provio_object *object, int function, uint64_t bytes, uint64_t started) {
    struct thread *thread = object == NULL || !function_known(function) ? NULL : recording_thread();
    if (thread == NULL || serial_of(thread, object) == 0) return;
    count_change(thread, &object->object, api_term(function), function, bytes,
                 clamped_start(thread, started, now(thread)));
}

void provio_copied(provio_object *source, provio_object *made, int function, uint64_t started) {
    struct thread *thread = source == NULL || made == NULL || !function_known(function) ? NULL : recording_thread();
    if (thread == NULL || serial_of(thread, source) == 0 || serial_of(thread, made) == 0) return;
    event_copy(thread, function, &source->object, &made->object, 0, clamped_start(thread, started, now(thread)));
}

void provio_failed(provio_object *object, int function, int error, uint64_t started) {
    struct thread *thread = function_known(function) ? recording_thread() : NULL;
    if (thread == NULL) return;
    bool known = object != NULL && serial_of(thread, object) != 0;
    access_failed_with(thread, known ? &object->object : NULL, function, error < 0 ? 0 : error,
                       clamped_start(thread, started, now(thread)));
}

// ---- events

// Begin an event on an object that is in use; `names` is the space for the rest.
static bool object_event_begin(struct thread **thread, struct block *block, const char *term, provio_object *object,
                               const char *property, int function, uint64_t started, size_t names) {
    *thread = object == NULL || !function_known(function) ? NULL : recording_thread();
    uint64_t serial = *thread == NULL ? 0 : serial_of(*thread, object);
    if (serial == 0) return false;
    started = clamped_start(*thread, started, now(*thread));
    if (event_begin(*thread, block, term, function, started, 64 + names) == 0) return false;
    text_object(&block->text, property, serial);
    return true;
}

static size_t room_of(const char *name) {
    return name == NULL ? 0 : name_room(name, strlen(name));
}

#define TEXT_OPTIONAL(text, name, value)                                                                               \
    if ((value) != NULL) TEXT_NAME(text, name, value, strlen(value))

void provio_resized(provio_object *object, int function, const char *shape, uint64_t started) {
    struct thread *thread;
    struct block block;
    if (!object_event_begin(&thread, &block, TERM_Resize, object, TERM_object, function, started, room_of(shape)))
        return;
    if (shape != NULL) text_name(&block.text, TERM_shape, TERM_shape, shape, strlen(shape));
    event_end(&block);
}

void provio_renamed(provio_object *file, int function, const char *path, const char *from, const char *to,
                    uint64_t started) {
    struct thread *thread;
    struct block block;
    size_t names = room_of(path) + room_of(from) + room_of(to);
    if (!object_event_begin(&thread, &block, TERM_Rename, file, TERM_inFile, function, started, names)) return;
    TEXT_OPTIONAL(&block.text, path, path);
    TEXT_OPTIONAL(&block.text, from, from);
    TEXT_OPTIONAL(&block.text, to, to);
    event_end(&block);
}

void provio_deleted(provio_object *file, int function, const char *path, const char *name, uint64_t started) {
    struct thread *thread;
    struct block block;
    size_t names = room_of(path) + room_of(name);
    if (!object_event_begin(&thread, &block, TERM_Delete, file, TERM_inFile, function, started, names)) return;
    TEXT_OPTIONAL(&block.text, path, path);
    TEXT_OPTIONAL(&block.text, name, name);
    event_end(&block);
}

void provio_messages(void) {
    struct thread *thread = recording_thread();
    if (thread != NULL) thread->messages = true;
}
