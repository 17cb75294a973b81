// The callbacks of the connector.
#ifndef CALLBACKS_H
#define CALLBACKS_H

#include "vol.h"

// Unrecorded callbacks (connector.c).
#define PASS(name, parameters, arguments) herr_t pass_##name parameters;
#include "pass.def"
#undef PASS

// Recorded callbacks.

void *record_file_create(const char *, unsigned, hid_t, hid_t, hid_t, void **);
void *record_file_open(const char *, unsigned, hid_t, hid_t, void **);
herr_t record_file_specific(void *, H5VL_file_specific_args_t *, hid_t, void **);
herr_t record_file_close(void *, hid_t, void **);
void *record_group_create(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, hid_t, hid_t, void **);
void *record_group_open(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, void **);
herr_t record_group_close(void *, hid_t, void **);
void *record_datatype_commit(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, hid_t, hid_t, hid_t,
                             void **);
void *record_datatype_open(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, void **);
herr_t record_datatype_close(void *, hid_t, void **);
void *record_object_open(void *, const H5VL_loc_params_t *, H5I_type_t *, hid_t, void **);
herr_t record_object_copy(void *, const H5VL_loc_params_t *, const char *, void *, const H5VL_loc_params_t *,
                          const char *, hid_t, hid_t, hid_t, void **);
void *record_dataset_create(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, hid_t, hid_t, hid_t, hid_t,
                            void **);
void *record_dataset_open(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, void **);
herr_t record_dataset_read(size_t, void *[], hid_t[], hid_t[], hid_t[], hid_t, void *[], void **);
herr_t record_dataset_write(size_t, void *[], hid_t[], hid_t[], hid_t[], hid_t, const void *[], void **);
herr_t record_dataset_specific(void *, H5VL_dataset_specific_args_t *, hid_t, void **);
herr_t record_dataset_close(void *, hid_t, void **);
void *record_attr_create(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, hid_t, hid_t, hid_t, void **);
void *record_attr_open(void *, const H5VL_loc_params_t *, const char *, hid_t, hid_t, void **);
herr_t record_attr_read(void *, hid_t, void *, hid_t, void **);
herr_t record_attr_write(void *, hid_t, const void *, hid_t, void **);
herr_t record_attr_specific(void *, const H5VL_loc_params_t *, H5VL_attr_specific_args_t *, hid_t, void **);
herr_t record_attr_close(void *, hid_t, void **);
herr_t record_link_create(H5VL_link_create_args_t *, void *, const H5VL_loc_params_t *, hid_t, hid_t, hid_t, void **);
herr_t record_link_move(void *, const H5VL_loc_params_t *, void *, const H5VL_loc_params_t *, hid_t, hid_t, hid_t,
                        void **);
herr_t record_link_specific(void *, const H5VL_loc_params_t *, H5VL_link_specific_args_t *, hid_t, void **);

// Record the result of an open: the object, one count of the call, the handle. NULL: the call failed.
void opened(struct call *call, void *made, H5I_type_t type, const char *attribute, bool created);
void failed(struct call *call, struct known *known);
// Records made after a call returned.
void moved(struct call *call, size_t count, void *datasets[], hid_t memory[], hid_t spaces[], bool reading, bool done);
void resized(struct call *call, void *dataset, bool done);
void linked(struct call *call, void *object, const H5VL_loc_params_t *where, const char *target);
void renamed(struct call *call, void *object, const H5VL_loc_params_t *where, const char *name, const char *other);
void reopened(struct call *call, void *object, void *again);
void flushed(struct call *call, void *object, H5I_type_t type);

// Return a copy of an access list that names the native connector; close the copy, and keep the errors of a failed
// call.
hid_t native_access(struct library *library, hid_t access);
void access_end(struct library *library, hid_t list, bool failing);

bool place_of(struct call *call, void *object, const H5VL_loc_params_t *where, const char *name, char *path,
              size_t room);

#endif
