// A pass-through connector of HDF5's virtual object layer: it records the library's requests to the native connector.
//
// It serves where the functions of HDF5 cannot be intercepted: a library that binds its symbols internally, or one
// inside an executable that exports its functions to plug-ins. HDF5 finds the connector through HDF5_PLUGIN_PATH and
// HDF5_VOL_CONNECTOR=provio. Where the functions are intercepted, or nothing is recorded, it only passes calls
// through.
#define _GNU_SOURCE
#include "callbacks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Unrecorded callbacks: each calls the native connector's callback in the calling library.
#define PASS(name, parameters, arguments)                                                                              \
    herr_t pass_##name parameters {                                                                                    \
        struct library *library = LIBRARY;                                                                             \
        return library->H5VL##name arguments;                                                                          \
    }
#include "pass.def"
#undef PASS

struct recorder recorder;
int functions[FUNCTIONS];
static bool usable;

static void recorder_find(void) {
    const char *way = getenv("PROVIO_HDF5");
    usable = way == NULL || (strcmp(way, "off") != 0 && strcmp(way, "h5py") != 0);
#define RECORDER(name)                                                                                                 \
    recorder.name = (__typeof__(&name))dlsym(RTLD_DEFAULT, #name);                                                     \
    usable = usable && recorder.name != NULL;
#include "recorder.def"
#undef RECORDER
    if (!usable) return;
#define RECORDED(name, term) functions[FUNCTION_##name] = recorder.provio_function(#name, #term);
#include "recorded.def"
#undef RECORDED
}

bool is_recording(void) {
    return usable && !recorder.provio_hdf5_inside() && recorder.provio_recording();
}

struct call call_begin(struct library *library, hid_t list, int function) {
    return (struct call){library, list, function, errno, usable ? recorder.provio_now() : 0};
}

void failed(struct call *call, struct known *known) {
    int error = errno, number = error == call->error ? 0 : error;
    if (is_recording())
        recorder.provio_failed(known == NULL ? NULL : known->record, functions[call->function], number, call->started);
    errno = error;
}

void opened(struct call *call, void *made, H5I_type_t type, const char *attribute, bool created) {
    if (!is_recording()) return;
    if (made == NULL) {
        failed(call, NULL);
        return;
    }
    struct known *known = object_known(call, made, type, attribute, created);
    if (known == NULL) return;
    recorder.provio_counted(known->record, functions[call->function], call->started);
    handle_open(made, known->file, known);
}

herr_t initialize(hid_t list) {
    struct library *library = LIBRARY;
    (void)list;
    library->native = library->H5VLget_connector_id_by_value(H5_VOL_NATIVE);
    return library->native < 0 ? -1 : 0;
}

herr_t terminate(void) {
    return 0; // the library releases the native connector itself
}

static herr_t connector_class(void *object, H5VL_get_conn_lvl_t level, const H5VL_class_t **class) {
    struct library *library = LIBRARY;
    if (level != H5VL_GET_CONN_LVL_CURR)
        return library->H5VLintrospect_get_conn_cls(object, library->native, level, class);
    *class = &provio_class;
    return 0;
}

herr_t information_from(const char *text, void **information) {
    (void)text;
    *information = NULL; // there is nothing to configure
    return 0;
}

const H5VL_class_t provio_class = {
    .version = H5VL_VERSION,
    .value = 21870, // "Un" as a number, in the range for tests: not registered
    .name = "provio",
    .conn_version = 1,
    .cap_flags = (H5VL_CAP_FLAG_FILL_VALUES << 1) - 1 - H5VL_CAP_FLAG_THREADSAFE - H5VL_CAP_FLAG_ASYNC -
                 H5VL_CAP_FLAG_MAP_BASIC - H5VL_CAP_FLAG_MAP_MORE, // all flags of the native connector
    .initialize = initialize,
    .terminate = terminate,
    .info_cls = {.from_str = information_from},
    .attr_cls = {record_attr_create, record_attr_open, record_attr_read, record_attr_write, pass_attr_get,
                 record_attr_specific, pass_attr_optional, record_attr_close},
    .dataset_cls = {record_dataset_create, record_dataset_open, record_dataset_read, record_dataset_write,
                    pass_dataset_get, record_dataset_specific, pass_dataset_optional, record_dataset_close},
    .datatype_cls = {record_datatype_commit, record_datatype_open, pass_datatype_get, pass_datatype_specific,
                     pass_datatype_optional, record_datatype_close},
    .file_cls = {record_file_create, record_file_open, pass_file_get, record_file_specific, pass_file_optional,
                 record_file_close},
    .group_cls = {record_group_create, record_group_open, pass_group_get, pass_group_specific, pass_group_optional,
                  record_group_close},
    .link_cls = {record_link_create, pass_link_copy, record_link_move, pass_link_get, record_link_specific,
                 pass_link_optional},
    .object_cls = {record_object_open, record_object_copy, pass_object_get, pass_object_specific, pass_object_optional},
    .introspect_cls = {connector_class, pass_introspect_get_cap_flags, pass_introspect_opt_query},
    .blob_cls = {pass_blob_put, pass_blob_get, pass_blob_specific, pass_blob_optional},
    .token_cls = {pass_token_cmp, pass_token_to_str, pass_token_from_str},
    .optional = pass_optional,
};

__attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) {
    return H5PL_TYPE_VOL;
}

__attribute__((visibility("default"))) const void *H5PLget_plugin_info(void) {
    static bool searched;
    if (!searched) recorder_find();
    searched = true;
    const void *address = __builtin_return_address(0);
    if (!library_found(address)) return NULL;
    return library_at(address)->is_v1_12 ? (const void *)&provio_class_of_v1_12 : &provio_class;
}
