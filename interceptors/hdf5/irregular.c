// Calls that a row of the table cannot express.
#include "hdf5.h"

#define HDF5(...)
#define HDF5_HAND(name, Term, type, parameters) EXPORTED(name, type, parameters)
#define SKIP(...)
#define SKIPS(...)
#include "calls.def"

// The start of each wrapper: the call and the real function.
#define BEGIN(name)                                                                                                    \
    struct call call;                                                                                                  \
    const bool recorded = call_begin(&call, ROW_##name, __builtin_return_address(0), true, false);                     \
    __typeof__(((struct hdf5_types *)NULL)->row_##name) real = call.hdf5 == NULL ? NULL : ROW(call.hdf5, name);

// ---- reference counts of handles

int provio_H5Iinc_ref(hid_t object) {
    BEGIN(H5Iinc_ref)
    int result = real == NULL ? -1 : real(object);
    if (recorded) call_end(&call, false);
    struct handle *handle = recorded && result > 0 ? handle_find(call.hdf5, object) : NULL;
    if (handle != NULL) atomic_fetch_add(&handle->references, 1);
    return result;
}

int provio_H5Idec_ref(hid_t object) {
    struct call call;
    struct library *library = library_find(__builtin_return_address(0));
    if (library == NULL) return -1;
    if (handle_find(library, object) == NULL)
        return ROW(library, H5Idec_ref)(object); // h5py releases every handle this way
    const bool recorded = call_begin(&call, ROW_H5Idec_ref, __builtin_return_address(0), true, false);
    int result = ROW(library, H5Idec_ref)(object);
    if (recorded) call_end(&call, false);
    struct handle *handle = recorded && result >= 0 ? handle_find(call.hdf5, object) : NULL;
    if (handle == NULL) return result;
    atomic_store(&handle->references, result + 1);
    if (result == 0)
        closed(&call, object);
    else
        handle_drop(handle);
    return result;
}

hid_t provio_H5Iget_file_id(hid_t object) {
    BEGIN(H5Iget_file_id)
    hid_t result = real == NULL ? -1 : real(object);
    if (recorded) call_end(&call, false);
    if (recorded && result >= 0) same_file(&call, result, object, false);
    return result;
}

// ---- datasets: the first query of most programs, so that an invalid handle is recorded as a failure here

#define QUERY_WRAPPER(name, parameters, arguments)                                                                     \
    hid_t provio_##name parameters {                                                                                   \
        BEGIN(name)                                                                                                    \
        hid_t result = real == NULL ? -1 : real arguments;                                                             \
        if (recorded) call_end(&call, false);                                                                          \
        if (unlikely(result < 0) && recorded) failed(&call, dataset);                                                  \
        return result;                                                                                                 \
    }
QUERY_WRAPPER(H5Dget_space, (hid_t dataset), (dataset))
QUERY_WRAPPER(H5Dget_space_async, (const char *source, const char *caller, unsigned line, hid_t dataset, hid_t events),
              (source, caller, line, dataset, events))
QUERY_WRAPPER(H5Dget_type, (hid_t dataset), (dataset))

// ---- the library

herr_t provio_H5close(void) {
    BEGIN(H5close)
    herr_t result = real == NULL ? -1 : real();
    if (recorded) call_end(&call, false);
    if (recorded && result >= 0) files_close(call.hdf5);
    return result;
}

// Recorded for no object. The wrapper lets one harmless call show whether this layer is active in front of a library.
herr_t provio_H5get_libversion(unsigned *major, unsigned *minor, unsigned *release) {
    BEGIN(H5get_libversion)
    herr_t result = real == NULL ? -1 : real(major, minor, release);
    if (recorded) call_end(&call, false);
    return result;
}

// ---- mounted files

// Where a metadata lookup needs all ranks, a recording rank would wait for the ranks that do not record.
static bool is_queryable(const struct call *call, hid_t place) {
    const struct h5object *base = h5object_of(call, place);
    return base != NULL && !base->file->collective;
}

static struct file *mounted_at(const struct call *call, hid_t place, const char *name) {
    struct identity identity;
    struct silence silence;
    if (!is_queryable(call, place)) return NULL;
    silence_begin(&silence, call->hdf5);
    identify(call->hdf5, place, name, &identity);
    silence_end(&silence);
    return identity.known ? file_numbered(call->hdf5, identity.number) : NULL;
}

herr_t provio_H5Fmount(hid_t place, const char *name, hid_t child, hid_t access) {
    BEGIN(H5Fmount)
    herr_t result = real == NULL ? -1 : real(place, name, child, access);
    if (!recorded) return result;
    call_end(&call, true);
    struct h5object *base = h5object_of(&call, place), *guest = h5object_of(&call, child);
    if (result < 0) {
        failed(&call, place);
    } else if (base != NULL && guest != NULL) {
        char *room = pool_take(&scratches);
        if (room != NULL && name_join(room, h5object_path(base), name)) guest->file->mount = copy_text(room);
        if (room != NULL) pool_give(&scratches, room);
        atomic_fetch_add(&guest->file->mounts, 1);
        atomic_store(&guest->file->parent, base->file);
        atomic_store(&names_unsure, true);
        provio_counted(guest->file->object, function_number(&call), recorded_start(&call));
    }
    return result;
}

herr_t provio_H5Funmount(hid_t place, const char *name) {
    BEGIN(H5Funmount)
    struct file *guest = recorded ? mounted_at(&call, place, name) : NULL;
    herr_t result = real == NULL ? -1 : real(place, name);
    if (!recorded) return result;
    call_end(&call, true);
    if (result < 0) {
        failed(&call, place);
    } else if (guest != NULL && atomic_exchange(&guest->parent, NULL) != NULL) {
        provio_counted(guest->object, function_number(&call), recorded_start(&call));
        atomic_fetch_sub(&guest->mounts, 1);
        file_closed_if_unused(guest);
    }
    return result;
}

// ---- refresh: the state that another process left

herr_t provio_H5Drefresh(hid_t dataset) {
    BEGIN(H5Drefresh)
    herr_t result = real == NULL ? -1 : real(dataset);
    if (!recorded) return result;
    call_end(&call, false);
    if (result >= 0) extent_changed(&call, dataset, false);
    return result;
}

herr_t provio_H5Orefresh(hid_t object) {
    BEGIN(H5Orefresh)
    herr_t result = real == NULL ? -1 : real(object);
    if (!recorded) return result;
    call_end(&call, false);
    if (result >= 0) extent_changed(&call, object, false);
    return result;
}

herr_t provio_H5Orefresh_async(const char *source, const char *caller, unsigned line, hid_t object, hid_t events) {
    BEGIN(H5Orefresh_async)
    herr_t result = real == NULL ? -1 : real(source, caller, line, object, events);
    if (!recorded) return result;
    call_end(&call, false);
    if (result >= 0) extent_changed(&call, object, false);
    return result;
}

// ---- deletion by position in an order: the name is queried before the object is removed

struct deletion {
    struct silence silence;
    char name[NAME];
    bool known;
};

static void deletion_look_up(struct deletion *deletion, const struct call *call, hid_t place, const char *group,
                             int index, int order, hsize_t n, hid_t access) {
    size_t length = group == NULL ? NAME : strlen(group);
    deletion->known = false;
    if (length + 2 > NAME || !is_queryable(call, place)) return;
    silence_begin(&deletion->silence, call->hdf5);
    memcpy(deletion->name, group, length);
    deletion->name[length] = '/';
    ssize_t size = QUERY(call->hdf5, H5Lget_name_by_idx, place, group, index, order, n, deletion->name + length + 1,
                         NAME - length - 1, access);
    deletion->known = size > 0 && (size_t)size < NAME - length - 1;
    silence_end(&deletion->silence);
}

herr_t provio_H5Ldelete_by_idx(hid_t place, const char *name, int index, int order, hsize_t n, hid_t access) {
    struct deletion deletion;
    BEGIN(H5Ldelete_by_idx)
    if (recorded) deletion_look_up(&deletion, &call, place, name, index, order, n, access);
    herr_t result = real == NULL ? -1 : real(place, name, index, order, n, access);
    if (!recorded) return result;
    call_end(&call, true);
    if (result < 0)
        failed(&call, place);
    else if (deletion.known)
        link_removed(&call, place, deletion.name);
    else
        atomic_store(&names_unsure, true);
    return result;
}

herr_t provio_H5Ldelete_by_idx_async(const char *source, const char *caller, unsigned line, hid_t place,
                                     const char *name, int index, int order, hsize_t n, hid_t access, hid_t events) {
    struct deletion deletion;
    BEGIN(H5Ldelete_by_idx_async)
    if (recorded) deletion_look_up(&deletion, &call, place, name, index, order, n, access);
    herr_t result = real == NULL ? -1 : real(source, caller, line, place, name, index, order, n, access, events);
    if (!recorded) return result;
    call_end(&call, true);
    if (result < 0)
        failed(&call, place);
    else if (deletion.known)
        link_removed(&call, place, deletion.name);
    else
        atomic_store(&names_unsure, true);
    return result;
}

herr_t provio_H5Adelete_by_idx(hid_t place, const char *object, int index, int order, hsize_t n, hid_t linking) {
    struct deletion deletion = {.known = false};
    BEGIN(H5Adelete_by_idx)
    if (recorded && is_queryable(&call, place)) {
        silence_begin(&deletion.silence, call.hdf5);
        ssize_t size =
            QUERY(call.hdf5, H5Aget_name_by_idx, place, object, index, order, n, deletion.name, NAME, linking);
        deletion.known = size > 0 && size < NAME;
        silence_end(&deletion.silence);
    }
    herr_t result = real == NULL ? -1 : real(place, object, index, order, n, linking);
    if (!recorded) return result;
    call_end(&call, true);
    if (result < 0)
        failed(&call, place);
    else if (deletion.known)
        attribute_removed(&call, place, object, deletion.name);
    return result;
}
