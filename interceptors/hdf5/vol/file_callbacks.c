// Callbacks of files: open, close and queries. A file's access list names this connector; the native connector is
// called in its place.
#include "callbacks.h"
#include <fcntl.h>

static unsigned flags_of(unsigned flags, bool creating) {
    if (creating) return O_RDWR | O_CREAT | (flags & H5F_ACC_EXCL ? O_EXCL : O_TRUNC);
    return flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY;
}

hid_t native_access(struct library *library, hid_t access) {
    hid_t list = library->H5Pcopy(access);
    library->H5Pset_vol(list, library->native, NULL);
    return list;
}

// A function of the library needs an empty error stack: the errors of a failed call are saved during the call.
void access_end(struct library *library, hid_t list, bool failing) {
    hid_t errors = failing ? library->H5Eget_current_stack() : H5I_INVALID_HID;
    library->H5Pclose(list);
    if (failing) library->H5Eset_current_stack(errors);
}

void *record_file_create(const char *name, unsigned flags, hid_t creation, hid_t access, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Fcreate);
    hid_t under = native_access(library, access);
    void *made = library->H5VLfile_create(name, flags, creation, under, list, request);
    if (made == NULL)
        failed(&call, NULL);
    else if (is_recording())
        file_begin(&call, made, name, flags_of(flags, true));
    access_end(library, under, made == NULL);
    return made;
}

void *record_file_open(const char *name, unsigned flags, hid_t access, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Fopen);
    hid_t under = native_access(library, access);
    void *made = library->H5VLfile_open(name, flags, under, list, request);
    if (made == NULL)
        failed(&call, NULL);
    else if (is_recording())
        file_begin(&call, made, name, flags_of(flags, false));
    access_end(library, under, made == NULL);
    return made;
}

static herr_t specific_by_name(struct library *library, H5VL_file_specific_args_t *operation, hid_t *access, hid_t list,
                               void **request) {
    hid_t own = *access;
    *access = native_access(library, own);
    herr_t result = library->H5VLfile_specific(NULL, library->native, operation, list, request);
    access_end(library, *access, result < 0);
    *access = own;
    return result;
}

void reopened(struct call *call, void *object, void *again) {
    handle_open(again, file_of(call, object, H5I_FILE), NULL);
}

void flushed(struct call *call, void *object, H5I_type_t type) {
    struct file *file = file_of(call, object, type);
    if (file != NULL) recorder.provio_counted(file->record, functions[FUNCTION_H5Fflush], call->started);
}

herr_t record_file_specific(void *object, H5VL_file_specific_args_t *operation, hid_t list, void **request) {
    struct library *library = LIBRARY;
    if (operation->op_type == H5VL_FILE_IS_ACCESSIBLE)
        return specific_by_name(library, operation, &operation->args.is_accessible.fapl_id, list, request);
    if (operation->op_type == H5VL_FILE_DELETE)
        return specific_by_name(library, operation, &operation->args.del.fapl_id, list, request);
    struct call call = call_begin(library, list, FUNCTION_H5Fopen);
    herr_t result = library->H5VLfile_specific(object, library->native, operation, list, request);
    if (result < 0 || !is_recording()) return result;
    if (operation->op_type == H5VL_FILE_REOPEN) reopened(&call, object, *operation->args.reopen.file);
    if (operation->op_type == H5VL_FILE_FLUSH) flushed(&call, object, operation->args.flush.obj_type);
    return result;
}

herr_t record_file_close(void *file, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Fclose);
    herr_t result = library->H5VLfile_close(file, library->native, list, request);
    if (result >= 0) handle_close(&call, file);
    return result;
}
