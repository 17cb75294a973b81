// Callbacks of datasets and attributes: create, open, read, write, close.
#include "callbacks.h"
#include <stdio.h>

void *record_dataset_create(void *object, const H5VL_loc_params_t *where, const char *name, hid_t link, hid_t type,
                            hid_t space, hid_t creation, hid_t access, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dcreate2);
    void *made = library->H5VLdataset_create(object, where, library->native, name, link, type, space, creation, access,
                                             list, request);
    opened(&call, made, H5I_DATASET, NULL, true);
    return made;
}

void *record_dataset_open(void *object, const H5VL_loc_params_t *where, const char *name, hid_t access, hid_t list,
                          void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dopen2);
    void *made = library->H5VLdataset_open(object, where, library->native, name, access, list, request);
    opened(&call, made, H5I_DATASET, NULL, false);
    return made;
}

// The number of elements of a dataset.
static hssize_t elements_of(struct call *call, void *dataset) {
    hid_t space = query_dataset(call->hdf5, dataset, H5VL_DATASET_GET_SPACE, call->list);
    if (space < 0) return 0;
    hssize_t found = call->hdf5->H5Sget_simple_extent_npoints(space);
    call->hdf5->H5Sclose(space);
    return found < 0 ? 0 : found;
}

// The size of the selection in the file; equal to that in memory if a property list defines the selection.
static hid_t selection(hid_t memory, hid_t space) {
    if (space != H5S_PLIST) return space;
    return memory > H5S_PLIST ? memory : H5S_ALL;
}

void moved(struct call *call, size_t count, void *datasets[], hid_t memory[], hid_t spaces[], bool reading, bool done) {
    for (size_t i = 0; i < count; i++) {
        struct known *known = handle_known(datasets[i]);
        if (known == NULL) continue;
        if (!done) {
            failed(call, known);
            continue;
        }
        hid_t space = selection(memory[i], spaces[i]);
        hssize_t all = space > 0 && reading ? 0 : elements_of(call, datasets[i]);
        hssize_t chosen = space > 0 ? call->hdf5->H5Sget_select_npoints(space) : all;
        int function = functions[call->function];
        uint64_t bytes = (uint64_t)(chosen < 0 ? 0 : chosen) * known->element;
        (reading ? recorder.provio_read : recorder.provio_write)(known->record, function, bytes, call->started);
        if (!reading && !known->created && chosen == all) recorder.provio_replaced(known->record, call->started);
    }
}

herr_t record_dataset_read(size_t count, void *datasets[], hid_t types[], hid_t memory[], hid_t spaces[], hid_t list,
                           void *to[], void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dread);
    herr_t result =
        library->H5VLdataset_read(count, datasets, library->native, types, memory, spaces, list, to, request);
    moved(&call, count, datasets, memory, spaces, true, result >= 0);
    return result;
}

herr_t record_dataset_write(size_t count, void *datasets[], hid_t types[], hid_t memory[], hid_t spaces[], hid_t list,
                            const void *from[], void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dwrite);
    herr_t result =
        library->H5VLdataset_write(count, datasets, library->native, types, memory, spaces, list, from, request);
    moved(&call, count, datasets, memory, spaces, false, result >= 0);
    return result;
}

void resized(struct call *call, void *dataset, bool done) {
    struct description description = {0};
    struct known *known = handle_known(dataset);
    if (known == NULL) return;
    if (!done) {
        failed(call, known);
        return;
    }
    describe_dataset(call->hdf5, dataset, call->list, &description);
    if (description.member.shape != NULL)
        recorder.provio_resized(known->record, functions[FUNCTION_H5Dset_extent], description.member.shape,
                                call->started);
}

herr_t record_dataset_specific(void *dataset, H5VL_dataset_specific_args_t *operation, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dset_extent);
    herr_t result = library->H5VLdataset_specific(dataset, library->native, operation, list, request);
    if (operation->op_type == H5VL_DATASET_SET_EXTENT) resized(&call, dataset, result >= 0);
    return result;
}

herr_t record_dataset_close(void *dataset, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dclose);
    herr_t result = library->H5VLdataset_close(dataset, library->native, list, request);
    if (result >= 0) handle_close(&call, dataset);
    return result;
}

// ---- attributes

void *record_attr_create(void *object, const H5VL_loc_params_t *where, const char *name, hid_t type, hid_t space,
                         hid_t creation, hid_t access, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Acreate2);
    void *made =
        library->H5VLattr_create(object, where, library->native, name, type, space, creation, access, list, request);
    opened(&call, made, H5I_ATTR, name, true);
    return made;
}

void *record_attr_open(void *object, const H5VL_loc_params_t *where, const char *name, hid_t access, hid_t list,
                       void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Aopen);
    void *made = library->H5VLattr_open(object, where, library->native, name, access, list, request);
    char own[1024] = "";
    // the name of an attribute opened by its position
    if (made != NULL && name == NULL) query_attribute_name(library, made, own, sizeof own, list);
    opened(&call, made, H5I_ATTR, name == NULL ? own : name, false);
    return made;
}

static uint64_t size_of(struct call *call, void *attribute, uint64_t element) {
    hid_t space = query_attribute(call->hdf5, attribute, H5VL_ATTR_GET_SPACE, call->list);
    if (space < 0) return 0;
    hssize_t elements = call->hdf5->H5Sget_simple_extent_npoints(space);
    call->hdf5->H5Sclose(space);
    return (uint64_t)(elements < 0 ? 0 : elements) * element;
}

static void attribute_moved(struct call *call, void *attribute, bool reading, bool done) {
    struct known *known = handle_known(attribute);
    if (known == NULL) return;
    if (!done) {
        failed(call, known);
        return;
    }
    uint64_t bytes = size_of(call, attribute, known->element);
    int function = functions[call->function];
    (reading ? recorder.provio_read : recorder.provio_write)(known->record, function, bytes, call->started);
    if (!reading && !known->created) recorder.provio_replaced(known->record, call->started);
}

herr_t record_attr_read(void *attribute, hid_t type, void *to, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Aread);
    herr_t result = library->H5VLattr_read(attribute, library->native, type, to, list, request);
    attribute_moved(&call, attribute, true, result >= 0);
    return result;
}

herr_t record_attr_write(void *attribute, hid_t type, const void *from, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Awrite);
    herr_t result = library->H5VLattr_write(attribute, library->native, type, from, list, request);
    attribute_moved(&call, attribute, false, result >= 0);
    return result;
}

herr_t record_attr_close(void *attribute, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Aclose);
    herr_t result = library->H5VLattr_close(attribute, library->native, list, request);
    if (result >= 0) handle_close(&call, attribute);
    return result;
}
