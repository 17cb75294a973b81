// The connector interface of HDF5 1.12 (its version 0), as far as it differs from version 3.
#ifndef HDF5_1_12_H
#define HDF5_1_12_H

#include <hdf5.h>
#include <H5VLconnector.h>
#include <stdarg.h>
#include <stdbool.h>

typedef herr_t v1_12_call(void *object, hid_t connector, int operation, hid_t list, void **request, va_list more);
typedef herr_t v1_12_call_at(void *object, const H5VL_loc_params_t *where, hid_t connector, int operation, hid_t list,
                             void **request, va_list more);

// Functions of the library, found by name; each name has the prefix H5VL.
struct v1_12 {
#define PASS(name) v1_12_call *name;
#define PASS_AT(name) v1_12_call_at *name;
#define CALL PASS
#define CALL_AT PASS_AT
#include "hdf5_1_12.def"
#undef PASS
#undef PASS_AT
#undef CALL
#undef CALL_AT
    herr_t (*dataset_read)(void *dataset, hid_t connector, hid_t type, hid_t memory, hid_t space, hid_t list, void *to,
                           void **request);
    herr_t (*dataset_write)(void *dataset, hid_t connector, hid_t type, hid_t memory, hid_t space, hid_t list,
                            const void *from, void **request);
    herr_t (*link_create)(int operation, void *object, const H5VL_loc_params_t *where, hid_t connector, hid_t creation,
                          hid_t access, hid_t list, void **request, va_list more);
    herr_t (*blob_specific)(void *object, hid_t connector, void *id, int operation, va_list more);
    herr_t (*blob_optional)(void *object, hid_t connector, void *id, int operation, va_list more);
};

// Operation numbers that differ from version 3.
enum { V1_12_ATTR_DELETE = 0, V1_12_ATTR_RENAME = 3 };
enum { V1_12_FILE_FLUSH = 0, V1_12_FILE_REOPEN = 1, V1_12_FILE_IS_ACCESSIBLE = 4, V1_12_FILE_DELETE = 5 };

// A callback of the classes below, without and with a location.
typedef herr_t v1_12_operation(void *object, int operation, hid_t list, void **request, va_list more);
typedef herr_t v1_12_operation_at(void *object, const H5VL_loc_params_t *where, int operation, hid_t list,
                                  void **request, va_list more);

// The callbacks of a connector, in the order of 1.12. Types that are the same in both versions are taken from version
// 3.
struct v1_12_class {
    unsigned version;
    H5VL_class_value_t value;
    const char *name;
    unsigned capabilities;
    herr_t (*initialize)(hid_t list);
    herr_t (*terminate)(void);
    H5VL_info_class_t information;
    H5VL_wrap_class_t wrapping;
    struct {
        __typeof__(((H5VL_attr_class_t *)0)->create) create;
        __typeof__(((H5VL_attr_class_t *)0)->open) open;
        __typeof__(((H5VL_attr_class_t *)0)->read) read;
        __typeof__(((H5VL_attr_class_t *)0)->write) write;
        v1_12_operation *get;
        v1_12_operation_at *specific;
        v1_12_operation *optional;
        __typeof__(((H5VL_attr_class_t *)0)->close) close;
    } attribute;
    struct {
        __typeof__(((H5VL_dataset_class_t *)0)->create) create;
        __typeof__(((H5VL_dataset_class_t *)0)->open) open;
        herr_t (*read)(void *dataset, hid_t type, hid_t memory, hid_t space, hid_t list, void *to, void **request);
        herr_t (*write)(void *dataset, hid_t type, hid_t memory, hid_t space, hid_t list, const void *from,
                        void **request);
        v1_12_operation *get, *specific, *optional;
        __typeof__(((H5VL_dataset_class_t *)0)->close) close;
    } dataset;
    struct {
        __typeof__(((H5VL_datatype_class_t *)0)->commit) commit;
        __typeof__(((H5VL_datatype_class_t *)0)->open) open;
        v1_12_operation *get, *specific, *optional;
        __typeof__(((H5VL_datatype_class_t *)0)->close) close;
    } datatype;
    struct {
        __typeof__(((H5VL_file_class_t *)0)->create) create;
        __typeof__(((H5VL_file_class_t *)0)->open) open;
        v1_12_operation *get, *specific, *optional;
        __typeof__(((H5VL_file_class_t *)0)->close) close;
    } file;
    struct {
        __typeof__(((H5VL_group_class_t *)0)->create) create;
        __typeof__(((H5VL_group_class_t *)0)->open) open;
        v1_12_operation *get, *specific, *optional;
        __typeof__(((H5VL_group_class_t *)0)->close) close;
    } group;
    struct {
        herr_t (*create)(int operation, void *object, const H5VL_loc_params_t *where, hid_t creation, hid_t access,
                         hid_t list, void **request, va_list more);
        __typeof__(((H5VL_link_class_t *)0)->copy) copy;
        __typeof__(((H5VL_link_class_t *)0)->move) move;
        v1_12_operation_at *get, *specific;
        v1_12_operation *optional;
    } link;
    struct {
        __typeof__(((H5VL_object_class_t *)0)->open) open;
        __typeof__(((H5VL_object_class_t *)0)->copy) copy;
        v1_12_operation_at *get, *specific;
        v1_12_operation *optional;
    } object;
    struct {
        herr_t (*connector)(void *object, H5VL_get_conn_lvl_t level, const struct v1_12_class **class);
        herr_t (*supported)(void *object, H5VL_subclass_t class, int operation, bool *supported);
    } introspection;
    void (*request[6])(void); // of asynchronous calls; the native connector has none
    struct {
        __typeof__(((H5VL_blob_class_t *)0)->put) put;
        __typeof__(((H5VL_blob_class_t *)0)->get) get;
        herr_t (*specific)(void *object, void *id, int operation, va_list more);
        herr_t (*optional)(void *object, void *id, int operation, va_list more);
    } blob;
    H5VL_token_class_t token;
    v1_12_operation *optional;
};

extern const struct v1_12_class provio_class_of_v1_12;

#endif
