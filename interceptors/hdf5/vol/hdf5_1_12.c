// The callbacks for HDF5 1.12, which passes its arguments as variable arguments.
#include "callbacks.h"

#define CALL(name)
#define CALL_AT(name)
#define PASS(name)                                                                                                     \
    static herr_t v1_12_##name(void *object, int operation, hid_t list, void **request, va_list more) {                \
        struct library *library = LIBRARY;                                                                             \
        return library->v1_12.name(object, library->native, operation, list, request, more);                           \
    }
#define PASS_AT(name)                                                                                                  \
    static herr_t v1_12_##name(void *object, const H5VL_loc_params_t *where, int operation, hid_t list,                \
                               void **request, va_list more) {                                                         \
        struct library *library = LIBRARY;                                                                             \
        return library->v1_12.name(object, where, library->native, operation, list, request, more);                    \
    }
#include "hdf5_1_12.def"

static herr_t v1_12_dataset_read(void *dataset, hid_t type, hid_t memory, hid_t space, hid_t list, void *to,
                                 void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dread);
    herr_t result = library->v1_12.dataset_read(dataset, library->native, type, memory, space, list, to, request);
    moved(&call, 1, &dataset, &memory, &space, true, result >= 0);
    return result;
}

static herr_t v1_12_dataset_write(void *dataset, hid_t type, hid_t memory, hid_t space, hid_t list, const void *from,
                                  void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dwrite);
    herr_t result = library->v1_12.dataset_write(dataset, library->native, type, memory, space, list, from, request);
    moved(&call, 1, &dataset, &memory, &space, false, result >= 0);
    return result;
}

static herr_t v1_12_dataset_specific(void *dataset, int operation, hid_t list, void **request, va_list more) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dset_extent);
    herr_t result = library->v1_12.dataset_specific(dataset, library->native, operation, list, request, more);
    if (operation == H5VL_DATASET_SET_EXTENT) resized(&call, dataset, result >= 0);
    return result;
}

static herr_t by_name(struct library *library, int operation, hid_t list, void **request, ...) {
    va_list more;
    va_start(more, request);
    herr_t result = library->v1_12.file_specific(NULL, library->native, operation, list, request, more);
    va_end(more);
    return result;
}

static herr_t file_by_name(struct library *library, int operation, hid_t list, void **request, va_list more) {
    hid_t access = native_access(library, va_arg(more, hid_t));
    const char *name = va_arg(more, const char *);
    herr_t result = by_name(library, operation, list, request, access, name, va_arg(more, void *));
    access_end(library, access, result < 0);
    return result;
}

static herr_t v1_12_file_specific(void *object, int operation, hid_t list, void **request, va_list more) {
    struct library *library = LIBRARY;
    if (operation == V1_12_FILE_IS_ACCESSIBLE || operation == V1_12_FILE_DELETE)
        return file_by_name(library, operation, list, request, more);
    va_list arguments;
    va_copy(arguments, more);
    struct call call = call_begin(library, list, FUNCTION_H5Fopen);
    herr_t result = library->v1_12.file_specific(object, library->native, operation, list, request, more);
    if (result >= 0 && is_recording()) {
        if (operation == V1_12_FILE_REOPEN) reopened(&call, object, *va_arg(arguments, void **));
        if (operation == V1_12_FILE_FLUSH) flushed(&call, object, (H5I_type_t)va_arg(arguments, int));
    }
    va_end(arguments);
    return result;
}

static herr_t v1_12_attr_specific(void *object, const H5VL_loc_params_t *where, int operation, hid_t list,
                                  void **request, va_list more) {
    struct library *library = LIBRARY;
    bool deleting = operation == V1_12_ATTR_DELETE;
    va_list arguments;
    va_copy(arguments, more);
    struct call call = call_begin(library, list, deleting ? FUNCTION_H5Adelete : FUNCTION_H5Arename);
    herr_t result = library->v1_12.attr_specific(object, where, library->native, operation, list, request, more);
    if (result >= 0 && is_recording() && (deleting || operation == V1_12_ATTR_RENAME)) {
        const char *name = va_arg(arguments, const char *);
        renamed(&call, object, where, name, deleting ? NULL : va_arg(arguments, const char *));
    }
    va_end(arguments);
    return result;
}

static herr_t v1_12_link_create(int operation, void *object, const H5VL_loc_params_t *where, hid_t creation,
                                hid_t access, hid_t list, void **request, va_list more) {
    struct library *library = LIBRARY;
    va_list arguments;
    va_copy(arguments, more);
    struct call call = call_begin(library, list, FUNCTION_H5Lcreate_soft);
    herr_t result =
        library->v1_12.link_create(operation, object, where, library->native, creation, access, list, request, more);
    if (result >= 0 && is_recording() && operation == H5VL_LINK_CREATE_SOFT)
        linked(&call, object, where, va_arg(arguments, const char *));
    va_end(arguments);
    return result;
}

static herr_t v1_12_link_specific(void *object, const H5VL_loc_params_t *where, int operation, hid_t list,
                                  void **request, va_list more) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Ldelete);
    herr_t result = library->v1_12.link_specific(object, where, library->native, operation, list, request, more);
    if (result >= 0 && is_recording() && operation == H5VL_LINK_DELETE) renamed(&call, object, where, NULL, NULL);
    return result;
}

static herr_t v1_12_blob_specific(void *object, void *id, int operation, va_list more) {
    struct library *library = LIBRARY;
    return library->v1_12.blob_specific(object, library->native, id, operation, more);
}

static herr_t v1_12_blob_optional(void *object, void *id, int operation, va_list more) {
    struct library *library = LIBRARY;
    return library->v1_12.blob_optional(object, library->native, id, operation, more);
}

static herr_t connector_class(void *object, H5VL_get_conn_lvl_t level, const struct v1_12_class **class) {
    struct library *library = LIBRARY;
    if (level != H5VL_GET_CONN_LVL_CURR)
        return library->H5VLintrospect_get_conn_cls(object, library->native, level, (const H5VL_class_t **)class);
    *class = &provio_class_of_v1_12;
    return 0;
}

static herr_t supports(void *object, H5VL_subclass_t class, int operation, bool *supported) {
    struct library *library = LIBRARY;
    void *answer = supported; // one byte in 1.12, flags later
    return library->H5VLintrospect_opt_query(object, library->native, class, operation, answer);
}

const struct v1_12_class provio_class_of_v1_12 = {
    .version = 0,
    .value = 21870, // as in provio_class
    .name = "provio",
    .initialize = initialize,
    .terminate = terminate,
    .information = {.from_str = information_from},
    .attribute = {record_attr_create, record_attr_open, record_attr_read, record_attr_write, v1_12_attr_get,
                  v1_12_attr_specific, v1_12_attr_optional, record_attr_close},
    .dataset = {record_dataset_create, record_dataset_open, v1_12_dataset_read, v1_12_dataset_write, v1_12_dataset_get,
                v1_12_dataset_specific, v1_12_dataset_optional, record_dataset_close},
    .datatype = {record_datatype_commit, record_datatype_open, v1_12_datatype_get, v1_12_datatype_specific,
                 v1_12_datatype_optional, record_datatype_close},
    .file = {record_file_create, record_file_open, v1_12_file_get, v1_12_file_specific, v1_12_file_optional,
             record_file_close},
    .group = {record_group_create, record_group_open, v1_12_group_get, v1_12_group_specific, v1_12_group_optional,
              record_group_close},
    .link = {v1_12_link_create, pass_link_copy, record_link_move, v1_12_link_get, v1_12_link_specific,
             v1_12_link_optional},
    .object = {record_object_open, record_object_copy, v1_12_object_get, v1_12_object_specific, v1_12_object_optional},
    .introspection = {connector_class, supports},
    .blob = {pass_blob_put, pass_blob_get, v1_12_blob_specific, v1_12_blob_optional},
    .token = {pass_token_cmp, pass_token_to_str, pass_token_from_str},
    .optional = v1_12_optional,
};
