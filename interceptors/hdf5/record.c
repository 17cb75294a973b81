// Records the calls of the table's subjects: successful calls other than opening, and failed calls.
#include "hdf5.h"

// The start of the call, plus the time that this layer has spent since the call ended: queries for the record do not
// count as the call's time.
uint64_t recorded_start(const struct call *call) {
    return call->started + (provio_now() - call->ended);
}

void unrecorded(const struct call *call, enum unrecorded reason) {
    static const char *const reasons[] = {
        [MANY_FILES] = "has more HDF5 files open at once than can be followed: calls on the others are not recorded",
        [LONG_NAMES] = "names an object of an HDF5 file in more bytes than can be stored: calls on it are not recorded",
        [ALL_RANKS] = ("has all ranks read the metadata of an HDF5 file together: copies in it, targets of links and "
                       "deletions by position are not recorded")};
    static _Atomic bool reported[sizeof reasons / sizeof *reasons];
    if (!atomic_exchange(&reported[reason], true)) event_gap(function_number(call), reasons[reason], NULL);
}

void failed(const struct call *call, hid_t hid) {
    struct handle *handle = hid <= 0 ? NULL : handle_find(call->hdf5, hid);
    struct h5object *h5object = handle == NULL ? NULL : handle->h5object;
    provio_object *object = h5object == NULL ? NULL : h5object->object;
    if (h5object != NULL && object == NULL) object = h5object->file->object;
    provio_failed(object, function_number(call), call->error, call->started);
}

static provio_object *counted_object(struct h5object *h5object) {
    return h5object == NULL ? NULL : h5object->kind == A_FILE ? h5object->file->object : h5object->object;
}

void counted_here(const struct call *call, hid_t hid) {
    provio_counted(counted_object(h5object_of(call, hid)), function_number(call), recorded_start(call));
}

void closed(const struct call *call, hid_t hid) {
    struct handle *handle = handle_find(call->hdf5, hid);
    if (handle == NULL) return;
    provio_counted(counted_object(handle->h5object), function_number(call), call->started);
    handle_drop(handle);
}

// ---- content

enum { H5S_PLIST = 2, H5S_SEL_POINTS = 1 };

static uint64_t elements_of(const struct call *call, const struct h5object *h5object, hid_t memory, hid_t space) {
    if (space == H5S_PLIST) space = memory > H5S_PLIST ? memory : 0;
    if (space <= H5S_PLIST) return relaxed(h5object->elements);
    hssize_t count = QUERY(call->hdf5, H5Sget_select_npoints, space);
    return count < 0 ? 0 : (uint64_t)count;
}

static void moved(const struct call *call, struct h5object *h5object, uint64_t elements, enum side side, bool each,
                  uint64_t started) {
    uint64_t bytes = elements * h5object->element_size;
    if (h5object->text == NULL && side == WRITING) {
        h5object->unrecorded_bytes += bytes;
        h5object->unrecorded_function = function_number(call);
    } else if (side == READING) {
        provio_read(h5object->object, function_number(call), bytes, started);
    } else {
        provio_write(h5object->object, function_number(call), bytes, started);
        bool all = each && elements > 0 && elements >= relaxed(h5object->elements);
        if (unlikely(all) && !h5object->created && !atomic_exchange(&h5object->replaced, true))
            provio_replaced(h5object->object, started);
    }
}

void moved_data(const struct call *call, hid_t dataset, hid_t memory, hid_t space, enum side side, uint64_t started) {
    struct h5object *h5object = h5object_of(call, dataset);
    if (h5object == NULL) return;
    uint64_t elements = elements_of(call, h5object, memory, space);
    bool each = h5object->kind == AN_ATTRIBUTE || space <= H5S_PLIST || elements < relaxed(h5object->elements) ||
                QUERY(call->hdf5, H5Sget_select_type, space) != H5S_SEL_POINTS; // points may repeat
    moved(call, h5object, elements, side, each, started);
}

// The duration of the call is recorded for the first dataset.
void moved_many(const struct call *call, size_t count, const hid_t *datasets, const hid_t *memories,
                const hid_t *spaces, enum side side) {
    for (size_t i = 0; i < count; i++)
        moved_data(call, datasets[i], memories[i], spaces[i], side, i == 0 ? call->started : provio_now());
}

void moved_chunk(const struct call *call, hid_t dataset, enum side side) {
    struct h5object *h5object = h5object_of(call, dataset);
    if (h5object != NULL && h5object->chunk == 0) describe_chunk(call, dataset, h5object);
    if (h5object != NULL) moved(call, h5object, h5object->chunk, side, true, call->started);
}

void extent_changed(const struct call *call, hid_t dataset, bool reported) {
    struct h5object *h5object = h5object_of(call, dataset);
    struct silence silence;
    char shape[SHAPE], most[SHAPE];
    if (h5object == NULL || h5object->kind != A_DATASET) return;
    silence_begin(&silence, call->hdf5);
    hid_t space = QUERY(call->hdf5, H5Dget_space, dataset);
    if (space > 0) {
        describe_extent(call, h5object, space, shape, most);
        if (reported) provio_resized(h5object->object, function_number(call), shape, recorded_start(call));
        QUERY(call->hdf5, H5Sclose, space);
    }
    silence_end(&silence);
}

// ---- names

enum { SAME_PLACE = 0 }; // H5L_SAME_LOC

struct naming { // buffers for the names of one call
    const struct call *call;
    struct silence silence;
    char *from, *to;
    bool ready;
};

static void naming_begin(struct naming *naming, const struct call *call) {
    *naming = (struct naming){.call = call, .from = pool_take(&scratches), .to = pool_take(&scratches)};
    naming->ready = naming->from != NULL && naming->to != NULL;
    silence_begin(&naming->silence, call->hdf5);
}

static void naming_end(struct naming *naming) {
    silence_end(&naming->silence);
    if (naming->from != NULL) pool_give(&scratches, naming->from);
    if (naming->to != NULL) pool_give(&scratches, naming->to);
}

static struct file *link_at(const struct naming *naming, hid_t place, const char *name, bool last, char *room) {
    struct h5object *base = naming->ready ? h5object_of(naming->call, place) : NULL;
    return base != NULL && name_follow(naming->call, base, place, name, last, room) ? base->file : NULL;
}

static void soft(const struct naming *naming, struct file *file, const char *target) {
    char *folder = pool_take(&scratches);
    if (folder == NULL) return;
    text_put(folder, naming->to);
    name_parent(folder);
    if (name_join(naming->from, folder, target)) link_record(naming->call, file, naming->to, naming->from, NULL, true);
    pool_give(&scratches, folder);
}

void linked(const struct call *call, enum link kind, hid_t place, const char *target, const char *other_file,
            hid_t other, const char *name) {
    struct naming naming;
    if (place == SAME_PLACE) place = other;
    if (other == SAME_PLACE) other = place;
    struct h5object *base = kind == HARD ? h5object_of(call, place) : NULL;
    if (base != NULL && base->text == NULL) { // it had no name
        named(call, place, other, name);
        return;
    }
    naming_begin(&naming, call);
    struct file *file = link_at(&naming, other, name, false, naming.to);
    if (file != NULL && kind == SOFT)
        soft(&naming, file, target);
    else if (file != NULL && kind == EXTERNAL)
        link_record(call, file, naming.to, target, other_file, true);
    else if (file != NULL && link_at(&naming, place, target, true, naming.from) != NULL)
        link_record(call, file, naming.to, naming.from, NULL, true);
    if (file != NULL)
        provio_counted(file->object, function_number(call), recorded_start(call));
    else
        atomic_store(&names_unsure, true);
    naming_end(&naming);
}

// A copied hard link is another name of the same object. A copied soft link has the same target, resolved from its
// new place.
void link_copied(const struct call *call, hid_t place, const char *from, hid_t other, const char *to) {
    linked(call, HARD, place, from, NULL, other, to);
}

void link_moved(const struct call *call, hid_t place, const char *from, hid_t other, const char *to) {
    struct naming naming;
    if (place == SAME_PLACE) place = other;
    if (other == SAME_PLACE) other = place;
    naming_begin(&naming, call);
    struct file *file = link_at(&naming, place, from, false, naming.from);
    if (file != NULL && link_at(&naming, other, to, false, naming.to) != NULL) {
        provio_renamed(file->object, function_number(call), NULL, naming.from, naming.to, recorded_start(call));
        h5objects_removed(file, naming.from);
    } else {
        atomic_store(&names_unsure, true);
    }
    naming_end(&naming);
}

void link_removed(const struct call *call, hid_t place, const char *name) {
    struct naming naming;
    naming_begin(&naming, call);
    struct file *file = link_at(&naming, place, name, false, naming.from);
    if (file != NULL) {
        provio_deleted(file->object, function_number(call), naming.from, NULL, recorded_start(call));
        h5objects_removed(file, naming.from);
    } else {
        atomic_store(&names_unsure, true);
    }
    naming_end(&naming);
}

void attribute_removed(const struct call *call, hid_t place, const char *object, const char *name) {
    struct naming naming;
    struct file *file = NULL;
    naming_begin(&naming, call);
    if (naming.ready) attribute_of(call, place, object, &file, naming.from);
    if (file != NULL) {
        provio_deleted(file->object, function_number(call), naming.from, name, recorded_start(call));
        h5object_removed(file, AN_ATTRIBUTE, naming.from, name);
    }
    naming_end(&naming);
}

void attribute_moved(const struct call *call, hid_t place, const char *object, const char *from, const char *to) {
    struct naming naming;
    struct file *file = NULL;
    naming_begin(&naming, call);
    if (naming.ready) attribute_of(call, place, object, &file, naming.from);
    if (file != NULL) {
        provio_renamed(file->object, function_number(call), naming.from, from, to, recorded_start(call));
        h5object_removed(file, AN_ATTRIBUTE, naming.from, from);
    }
    naming_end(&naming);
}

// ---- copies

static struct h5object *look(const struct call *call, hid_t place, const char *name, bool created) {
    static const struct material lookups = {0, 0, -1};
    hid_t hid = QUERY(call->hdf5, H5Oopen, place, name, 0);
    if (hid <= 0) return NULL;
    struct h5object *h5object = encounter(call, hid, place, name, &lookups, created);
    QUERY(call->hdf5, H5Oclose, hid);
    return h5object;
}

void copied(const struct call *call, hid_t place, const char *from, hid_t other, const char *to) {
    struct silence silence;
    struct h5object *base = h5object_of(call, place), *target = h5object_of(call, other);
    if (base == NULL || target == NULL || base->file->collective || target->file->collective) return;
    silence_begin(&silence, call->hdf5);
    struct h5object *source = look(call, place, from, false), *made = look(call, other, to, true);
    if (source != NULL && made != NULL)
        provio_copied(source->object, made->object, function_number(call), recorded_start(call));
    silence_end(&silence);
}
