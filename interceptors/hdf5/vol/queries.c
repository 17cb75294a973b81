// The connector's own queries to the native connector, for both versions of the interface.
#include "vol.h"

static herr_t query_1_12(v1_12_call *function, struct library *library, void *object, int operation, hid_t list, ...) {
    va_list more;
    va_start(more, list);
    herr_t result = function(object, library->native, operation, list, NULL, more);
    va_end(more);
    return result;
}

static herr_t query_1_12_at(v1_12_call_at *function, struct library *library, void *object,
                            const H5VL_loc_params_t *where, int operation, hid_t list, ...) {
    va_list more;
    va_start(more, list);
    herr_t result = function(object, where, library->native, operation, list, NULL, more);
    va_end(more);
    return result;
}

hid_t query_dataset(struct library *library, void *dataset, H5VL_dataset_get_t operation, hid_t list) {
    hid_t found = H5I_INVALID_HID;
    H5VL_dataset_get_args_t get = {.op_type = operation};
    if (library->is_v1_12)
        return query_1_12(library->v1_12.dataset_get, library, dataset, operation, list, &found) < 0 ? -1 : found;
    if (library->H5VLdataset_get(dataset, library->native, &get, list, NULL) < 0) return -1;
    if (operation == H5VL_DATASET_GET_SPACE) return get.args.get_space.space_id;
    return operation == H5VL_DATASET_GET_TYPE ? get.args.get_type.type_id : get.args.get_dcpl.dcpl_id;
}

hid_t query_attribute(struct library *library, void *attribute, H5VL_attr_get_t operation, hid_t list) {
    hid_t found = H5I_INVALID_HID;
    H5VL_attr_get_args_t get = {.op_type = operation};
    if (library->is_v1_12)
        return query_1_12(library->v1_12.attr_get, library, attribute, operation, list, &found) < 0 ? -1 : found;
    if (library->H5VLattr_get(attribute, library->native, &get, list, NULL) < 0) return -1;
    return operation == H5VL_ATTR_GET_SPACE ? get.args.get_space.space_id : get.args.get_type.type_id;
}

void query_attribute_name(struct library *library, void *attribute, char *name, size_t room, hid_t list) {
    H5VL_loc_params_t self = {.obj_type = H5I_ATTR, .type = H5VL_OBJECT_BY_SELF};
    size_t length = 0;
    ssize_t found = 0;
    H5VL_attr_get_args_t get = {.op_type = H5VL_ATTR_GET_NAME, .args.get_name = {self, room, name, &length}};
    if (library->is_v1_12)
        query_1_12(library->v1_12.attr_get, library, attribute, H5VL_ATTR_GET_NAME, list, &self, room, name, &found);
    else
        library->H5VLattr_get(attribute, library->native, &get, list, NULL);
}

bool query_object(struct library *library, void *object, H5I_type_t type, H5O_info2_t *information, hid_t list) {
    H5VL_loc_params_t self = {.obj_type = type, .type = H5VL_OBJECT_BY_SELF};
    H5VL_object_get_args_t get = {.op_type = H5VL_OBJECT_GET_INFO, .args.get_info = {H5O_INFO_BASIC, information}};
    if (library->is_v1_12)
        return query_1_12_at(library->v1_12.object_get, library, object, &self, H5VL_OBJECT_GET_INFO, list, information,
                             H5O_INFO_BASIC) >= 0;
    return library->H5VLobject_get(object, &self, library->native, &get, list, NULL) >= 0;
}

bool query_path(struct library *library, void *object, H5I_type_t type, char *path, size_t room, hid_t list) {
    H5VL_loc_params_t self = {.obj_type = type, .type = H5VL_OBJECT_BY_SELF};
    size_t length = 0;
    ssize_t named = 0;
    H5VL_object_get_args_t get = {.op_type = H5VL_OBJECT_GET_NAME, .args.get_name = {room, path, &length}};
    if (library->is_v1_12)
        return query_1_12_at(library->v1_12.object_get, library, object, &self, H5VL_OBJECT_GET_NAME, list, &named,
                             path, room) >= 0 &&
               named > 0 && (size_t)named < room;
    return library->H5VLobject_get(object, &self, library->native, &get, list, NULL) >= 0 && length > 0 &&
           length < room;
}

bool query_file_number(struct library *library, void *file, unsigned long *number, hid_t list) {
    H5VL_file_get_args_t get = {.op_type = H5VL_FILE_GET_FILENO, .args.get_fileno.fileno = number};
    if (library->is_v1_12)
        return query_1_12(library->v1_12.file_get, library, file, H5VL_FILE_GET_FILENO, list, number) >= 0;
    return library->H5VLfile_get(file, library->native, &get, list, NULL) >= 0;
}
