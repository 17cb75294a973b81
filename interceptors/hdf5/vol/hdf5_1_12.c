// The callbacks for HDF5 1.12, which passes its arguments as variable arguments.
#include "callbacks.h"

#define CALL(name)
#define CALL_AT(name)
#define PASS(name)                                                                                                     \
    static herr_t twelve_##name(void *object, int what, hid_t list, void **request, va_list more) {                    \
        struct library *library = LIBRARY;                                                                             \
        return library->twelve.name(object, library->native, what, list, request, more);                               \
    }
#define PASS_AT(name)                                                                                                  \
    static herr_t twelve_##name(void *object, const H5VL_loc_params_t *where, int what, hid_t list, void **request,    \
                                va_list more) {                                                                        \
        struct library *library = LIBRARY;                                                                             \
        return library->twelve.name(object, where, library->native, what, list, request, more);                        \
    }
#include "hdf5_1_12.def"

static herr_t twelve_dataset_read(void *dataset, hid_t type, hid_t memory, hid_t space, hid_t list, void *to,
                                  void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dread);
    herr_t result = library->twelve.dataset_read(dataset, library->native, type, memory, space, list, to, request);
    moved(&call, 1, &dataset, &memory, &space, true, result >= 0);
    return result;
}

static herr_t twelve_dataset_write(void *dataset, hid_t type, hid_t memory, hid_t space, hid_t list, const void *from,
                                   void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dwrite);
    herr_t result = library->twelve.dataset_write(dataset, library->native, type, memory, space, list, from, request);
    moved(&call, 1, &dataset, &memory, &space, false, result >= 0);
    return result;
}

static herr_t twelve_dataset_specific(void *dataset, int what, hid_t list, void **request, va_list more) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Dset_extent);
    herr_t result = library->twelve.dataset_specific(dataset, library->native, what, list, request, more);
    if (what == H5VL_DATASET_SET_EXTENT) resized(&call, dataset, result >= 0);
    return result;
}

static herr_t by_name(struct library *library, int what, hid_t list, void **request, ...) {
    va_list more;
    va_start(more, request);
    herr_t result = library->twelve.file_specific(NULL, library->native, what, list, request, more);
    va_end(more);
    return result;
}

static herr_t file_by_name(struct library *library, int what, hid_t list, void **request, va_list more) {
    hid_t access = native_access(library, va_arg(more, hid_t));
    const char *name = va_arg(more, const char *);
    herr_t result = by_name(library, what, list, request, access, name, va_arg(more, void *));
    access_end(library, access, result < 0);
    return result;
}

static herr_t twelve_file_specific(void *object, int what, hid_t list, void **request, va_list more) {
    struct library *library = LIBRARY;
    if (what == TWELVE_FILE_IS_ACCESSIBLE || what == TWELVE_FILE_DELETE)
        return file_by_name(library, what, list, request, more);
    va_list said;
    va_copy(said, more);
    struct call call = call_begin(library, list, FUNCTION_H5Fopen);
    herr_t result = library->twelve.file_specific(object, library->native, what, list, request, more);
    if (result >= 0 && listening()) {
        if (what == TWELVE_FILE_REOPEN) reopened(&call, object, *va_arg(said, void **));
        if (what == TWELVE_FILE_FLUSH) flushed(&call, object, (H5I_type_t)va_arg(said, int));
    }
    va_end(said);
    return result;
}

static herr_t twelve_attr_specific(void *object, const H5VL_loc_params_t *where, int what, hid_t list, void **request,
                                   va_list more) {
    struct library *library = LIBRARY;
    bool deleting = what == TWELVE_ATTR_DELETE;
    va_list said;
    va_copy(said, more);
    struct call call = call_begin(library, list, deleting ? FUNCTION_H5Adelete : FUNCTION_H5Arename);
    herr_t result = library->twelve.attr_specific(object, where, library->native, what, list, request, more);
    if (result >= 0 && listening() && (deleting || what == TWELVE_ATTR_RENAME)) {
        const char *name = va_arg(said, const char *);
        renamed(&call, object, where, name, deleting ? NULL : va_arg(said, const char *));
    }
    va_end(said);
    return result;
}

static herr_t twelve_link_create(int what, void *object, const H5VL_loc_params_t *where, hid_t creation, hid_t access,
                                 hid_t list, void **request, va_list more) {
    struct library *library = LIBRARY;
    va_list said;
    va_copy(said, more);
    struct call call = call_begin(library, list, FUNCTION_H5Lcreate_soft);
    herr_t result =
        library->twelve.link_create(what, object, where, library->native, creation, access, list, request, more);
    if (result >= 0 && listening() && what == H5VL_LINK_CREATE_SOFT)
        linked(&call, object, where, va_arg(said, const char *));
    va_end(said);
    return result;
}

static herr_t twelve_link_specific(void *object, const H5VL_loc_params_t *where, int what, hid_t list, void **request,
                                   va_list more) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Ldelete);
    herr_t result = library->twelve.link_specific(object, where, library->native, what, list, request, more);
    if (result >= 0 && listening() && what == H5VL_LINK_DELETE) renamed(&call, object, where, NULL, NULL);
    return result;
}

static herr_t twelve_blob_specific(void *object, void *id, int what, va_list more) {
    struct library *library = LIBRARY;
    return library->twelve.blob_specific(object, library->native, id, what, more);
}

static herr_t twelve_blob_optional(void *object, void *id, int what, va_list more) {
    struct library *library = LIBRARY;
    return library->twelve.blob_optional(object, library->native, id, what, more);
}

static herr_t connector_class(void *object, H5VL_get_conn_lvl_t level, const struct twelve_class **class) {
    struct library *library = LIBRARY;
    if (level != H5VL_GET_CONN_LVL_CURR)
        return library->H5VLintrospect_get_conn_cls(object, library->native, level, (const H5VL_class_t **)class);
    *class = &provio_class_of_twelve;
    return 0;
}

static herr_t supports(void *object, H5VL_subclass_t class, int operation, bool *supported) {
    struct library *library = LIBRARY;
    void *answer = supported; // one byte in 1.12, flags later
    return library->H5VLintrospect_opt_query(object, library->native, class, operation, answer);
}

const struct twelve_class provio_class_of_twelve = {
    .version = 0,
    .value = 21870, // as in provio_class
    .name = "provio",
    .initialize = initialize,
    .terminate = terminate,
    .information = {.from_str = information_from},
    .attribute = {watch_attr_create, watch_attr_open, watch_attr_read, watch_attr_write, twelve_attr_get,
                  twelve_attr_specific, twelve_attr_optional, watch_attr_close},
    .dataset = {watch_dataset_create, watch_dataset_open, twelve_dataset_read, twelve_dataset_write, twelve_dataset_get,
                twelve_dataset_specific, twelve_dataset_optional, watch_dataset_close},
    .datatype = {watch_datatype_commit, watch_datatype_open, twelve_datatype_get, twelve_datatype_specific,
                 twelve_datatype_optional, watch_datatype_close},
    .file = {watch_file_create, watch_file_open, twelve_file_get, twelve_file_specific, twelve_file_optional,
             watch_file_close},
    .group = {watch_group_create, watch_group_open, twelve_group_get, twelve_group_specific, twelve_group_optional,
              watch_group_close},
    .link = {twelve_link_create, pass_link_copy, watch_link_move, twelve_link_get, twelve_link_specific,
             twelve_link_optional},
    .object = {watch_object_open, watch_object_copy, twelve_object_get, twelve_object_specific, twelve_object_optional},
    .introspection = {connector_class, supports},
    .blob = {pass_blob_put, pass_blob_get, twelve_blob_specific, twelve_blob_optional},
    .token = {pass_token_cmp, pass_token_to_str, pass_token_from_str},
    .optional = twelve_optional,
};
