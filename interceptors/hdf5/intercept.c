// Makes a wrapper from each row of calls.def.
#include "hdf5.h"

static THREAD_LOCAL int depth; // inside a recorded call: the library's own nested calls belong to it
static _Atomic uint64_t calls;

uint64_t provio_hdf5_calls(void) {
    return relaxed(calls);
}

int provio_hdf5_inside(void) {
    return depth > 0;
}

enum { UNKNOWN, ON, OFF };
static _Atomic int state;

// HDF5 is left to the Python layer for h5py ("h5py"), or not recorded ("off").
static __attribute__((cold, noinline)) bool state_read(void) {
    const char *set = getenv("PROVIO_HDF5");
    bool off = set != NULL && (strcmp(set, "off") == 0 || strcmp(set, "h5py") == 0);
    atomic_store(&state, off ? OFF : ON);
    return !off;
}

static inline bool on(void) {
    int known = relaxed(state);
    return likely(known == ON) || (known == UNKNOWN && state_read());
}

bool call_begin(struct call *call, int row, const void *caller, bool wanted, bool calls_back) {
    atomic_store_explicit(&calls, relaxed(calls) + 1, memory_order_relaxed);
    call->hdf5 = library_find(caller);
    if (!wanted || depth > 0 || call->hdf5 == NULL || !on() || !provio_recording()) return false;
    call->row = row;
    call->inside = !calls_back;
    call->error = errno;
    errno = 0;
    depth += call->inside;
    call->started = provio_now();
    return true;
}

// The program finds in errno the library's value, or the previous value if the library left 0.
void call_end(struct call *call, bool timed) {
    int error = errno;
    depth -= call->inside;
    if (error == 0) errno = call->error;
    call->error = error;
    if (timed) call->ended = provio_now();
}

// ---- subjects: the object of a failure, and the record of a success

#define FAILED_CREATED_FILE(path, flags, access) -1
#define DONE_CREATED_FILE(path, flags, access) opened_file(&call, result, path, flags, access, true)
#define FAILED_OPENED_FILE(path, flags, access) -1
#define DONE_OPENED_FILE(path, flags, access) opened_file(&call, result, path, flags, access, false)
#define FAILED_SAME_FILE(object) object
#define DONE_SAME_FILE(object) same_file(&call, result, object, true)
#define FAILED_CLOSED(object) object
#define DONE_CLOSED(object) closed(&call, object)
#define FAILED_HERE(object) object
#define DONE_HERE(object) counted_here(&call, object)

#define NO_MATERIAL                                                                                                    \
    (struct material) {                                                                                                \
        0, 0, -1                                                                                                       \
    }
#define MADE_OF(...)                                                                                                   \
    (struct material) {                                                                                                \
        __VA_ARGS__                                                                                                    \
    }
#define FAILED_MEMBER(place, name) place
#define DONE_MEMBER(place, name) opened(&call, result, place, name, &NO_MATERIAL, false)
#define FAILED_SOME(place) place
#define DONE_SOME(place) opened(&call, result, place, NULL, &NO_MATERIAL, false)
#define FAILED_GROUP(place, name) place
#define DONE_GROUP(place, name) opened(&call, result, place, name, &NO_MATERIAL, true)
#define FAILED_NAMELESS_GROUP(place) place
#define DONE_NAMELESS_GROUP(place) opened(&call, result, place, NULL, &NO_MATERIAL, true)
#define FAILED_DATASET(place, name, type, space, creation) place
#define DONE_DATASET(place, name, type, space, creation)                                                               \
    opened(&call, result, place, name, &MADE_OF(type, space, creation), true)
#define FAILED_NAMELESS_DATASET(place, type, space, creation) place
#define DONE_NAMELESS_DATASET(place, type, space, creation)                                                            \
    opened(&call, result, place, NULL, &MADE_OF(type, space, creation), true)
#define FAILED_TYPE_COMMITTED(place, name, type) place
#define DONE_TYPE_COMMITTED(place, name, type) opened(&call, type, place, name, &NO_MATERIAL, true)
#define FAILED_NAMELESS_TYPE(place, type) place
#define DONE_NAMELESS_TYPE(place, type) opened(&call, type, place, NULL, &NO_MATERIAL, true)
#define FAILED_ATTRIBUTE_MADE(place, object, name, type, space) place
#define DONE_ATTRIBUTE_MADE(place, object, name, type, space)                                                          \
    attribute_opened(&call, result, place, object, name, &MADE_OF(type, space, 0), true)
#define FAILED_ATTRIBUTE(place, object, name) place
#define DONE_ATTRIBUTE(place, object, name) attribute_opened(&call, result, place, object, name, &NO_MATERIAL, false)

#define FAILED_SELECTION(dataset, memory, space) dataset
#define DONE_SELECTION(dataset, memory, space) moved_data(&call, dataset, memory, space, side, call.started)
#define FAILED_SELECTIONS(count, datasets, memories, spaces) (count) > 0 && (datasets) != NULL ? *(datasets) : -1
#define DONE_SELECTIONS(count, datasets, memories, spaces) moved_many(&call, count, datasets, memories, spaces, side)
#define FAILED_WHOLE(attribute) attribute
#define DONE_WHOLE(attribute) moved_data(&call, attribute, 0, 0, side, call.started)
#define FAILED_CHUNK(dataset, data) dataset
#define DONE_CHUNK(dataset, data)                                                                                      \
    if ((data) != NULL) moved_chunk(&call, dataset, side)
#define FAILED_EXTENT(dataset) dataset
#define DONE_EXTENT(dataset) extent_changed(&call, dataset, true)

#define FAILED_SOFT_LINK(target, place, name) place
#define DONE_SOFT_LINK(target, place, name) linked(&call, SOFT, place, target, NULL, place, name)
#define FAILED_HARD_LINK(place, target, other, name) place
#define DONE_HARD_LINK(place, target, other, name) linked(&call, HARD, place, target, NULL, other, name)
#define FAILED_EXTERNAL_LINK(file, target, place, name) place
#define DONE_EXTERNAL_LINK(file, target, place, name) linked(&call, EXTERNAL, place, target, file, place, name)
#define FAILED_OLD_LINK(kind, place, target, other, name) place
#define DONE_OLD_LINK(kind, place, target, other, name)                                                                \
    linked(&call, (kind) == 1 ? SOFT : HARD, place, target, NULL, other, name)
#define FAILED_LINK_COPIED(place, from, other, to) place
#define DONE_LINK_COPIED(place, from, other, to) link_copied(&call, place, from, other, to)
#define FAILED_LINK_MOVED(place, from, other, to) place
#define DONE_LINK_MOVED(place, from, other, to) link_moved(&call, place, from, other, to)
#define FAILED_LINK_REMOVED(place, name) place
#define DONE_LINK_REMOVED(place, name) link_removed(&call, place, name)
#define FAILED_ATTRIBUTE_REMOVED(place, object, name) place
#define DONE_ATTRIBUTE_REMOVED(place, object, name) attribute_removed(&call, place, object, name)
#define FAILED_ATTRIBUTE_MOVED(place, object, from, to) place
#define DONE_ATTRIBUTE_MOVED(place, object, from, to) attribute_moved(&call, place, object, from, to)
#define FAILED_NAMED(object, place, name) object
#define DONE_NAMED(object, place, name) named(&call, object, place, name)
#define FAILED_COPIED(place, from, other, to) place
#define DONE_COPIED(place, from, other, to) copied(&call, place, from, other, to)

// ---- one call

#define SIDE_Read READING
#define SIDE_Write WRITING
#define SIDE_Create READING
#define SIDE_Open READING
#define SIDE_Close READING
#define SIDE_Flush READING
#define SIDE_Delete READING
#define SIDE_Rename READING
#define SIDE_Link READING
#define SIDE_Copy READING
#define SIDE_Resize READING
#define SIDE_Stat READING
#define SIDE_List READING

#define TIMED_Read false
#define TIMED_Write false
#define TIMED_Create true
#define TIMED_Open true
#define TIMED_Close false
#define TIMED_Flush true
#define TIMED_Delete true
#define TIMED_Rename true
#define TIMED_Link true
#define TIMED_Copy true
#define TIMED_Resize true
#define TIMED_Stat true
#define TIMED_List true

#define WANTED_Read true, false
#define WANTED_Write true, false
#define WANTED_Create true, false
#define WANTED_Open true, false
#define WANTED_Close true, false
#define WANTED_Flush true, false
#define WANTED_Delete true, false
#define WANTED_Rename true, false
#define WANTED_Link true, false
#define WANTED_Copy true, false
#define WANTED_Resize true, false
#define WANTED_Stat settings.stat, false
#define WANTED_List settings.list, true // the program's callbacks make calls of their own

#define HDF5(name, Term, type, parameters, arguments, subject)                                                         \
    EXPORTED(name, type, parameters)                                                                                   \
    type provio_##name parameters {                                                                                    \
        struct call call;                                                                                              \
        const bool recorded = call_begin(&call, ROW_##name, __builtin_return_address(0), WANTED_##Term);               \
        type(*real) parameters = call.hdf5 == NULL ? NULL : ROW(call.hdf5, name);                                      \
        type result = real == NULL ? -1 : real arguments;                                                              \
        if (!recorded) return result;                                                                                  \
        const enum side side = SIDE_##Term;                                                                            \
        (void)side;                                                                                                    \
        call_end(&call, TIMED_##Term);                                                                                 \
        if (unlikely(result < 0))                                                                                      \
            failed(&call, FAILED_##subject);                                                                           \
        else                                                                                                           \
            DONE_##subject;                                                                                            \
        return result;                                                                                                 \
    }
#define HDF5_HAND(...)
#define SKIP(...)
#define SKIPS(...)
#include "calls.def"
