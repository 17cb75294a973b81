// Finds the descriptor of Python's file-like objects: h5py has its own driver for them, and only the object knows its
// descriptor.
#include "hdf5.h"

#include <dlfcn.h>

EXPORTED(H5FDregister, hid_t, (const void *driver))

// The driver's name is its first member, or, since 1.13, the member after two numbers.
static bool is_named(const struct call *call, const void *driver, const char *name) {
    unsigned major = 0, minor = 0, release = 0;
    if (driver == NULL || ROW(call->hdf5, H5get_libversion)(&major, &minor, &release) < 0) return false;
    const char *const *at = driver;
    const char *own = at[major > 1 || minor >= 13 ? 1 : 0];
    return own != NULL && strcmp(own, name) == 0;
}

hid_t provio_H5FDregister(const void *driver) {
    struct call call;
    const bool recorded = call_begin(&call, ROW_H5FDregister, __builtin_return_address(0), true, false);
    hid_t result = call.hdf5 == NULL ? -1 : ROW(call.hdf5, H5FDregister)(driver);
    if (recorded) call_end(&call, false);
    if (result > 0 && is_named(&call, driver, "fileobj")) atomic_store(&call.hdf5->file_like, result);
    return result;
}

struct python {
    int (*ensure)(void);
    void (*release)(int state);
    void (*fetch)(void **type, void **value, void **trace);
    void (*restore)(void *type, void *value, void *trace);
    int (*has)(void *object, const char *attribute);
    int (*descriptor)(void *object);
};

static bool python_find(struct python *python) {
    python->ensure = (int (*)(void))loaded_symbol(RTLD_DEFAULT, "PyGILState_Ensure");
    python->release = (void (*)(int))loaded_symbol(RTLD_DEFAULT, "PyGILState_Release");
    python->fetch = (void (*)(void **, void **, void **))loaded_symbol(RTLD_DEFAULT, "PyErr_Fetch");
    python->restore = (void (*)(void *, void *, void *))loaded_symbol(RTLD_DEFAULT, "PyErr_Restore");
    python->has = (int (*)(void *, const char *))loaded_symbol(RTLD_DEFAULT, "PyObject_HasAttrString");
    python->descriptor = (int (*)(void *))loaded_symbol(RTLD_DEFAULT, "PyObject_AsFileDescriptor");
    return python->ensure && python->release && python->fetch && python->restore && python->has && python->descriptor;
}

// The descriptor behind a file that was opened with that driver; -1: none.
int descriptor_behind(const struct call *call, hid_t access) {
    hid_t driver = relaxed(call->hdf5->file_like);
    struct python python;
    if (driver <= 0 || access <= 0 || QUERY(call->hdf5, H5Pget_driver, access) != driver) return -1;
    const void *(*lookups)(hid_t) = function_of(call->hdf5, OWN_H5Pget_driver_info);
    void *object = lookups == NULL ? NULL : (void *)lookups(access), *type, *value, *trace;
    if (object == NULL || !python_find(&python)) return -1;
    int kept = errno, state = python.ensure();
    python.fetch(&type, &value, &trace);
    // fileno() makes tempfile.SpooledTemporaryFile move from memory to disk.
    int fd = python.has(object, "rollover") ? -1 : python.descriptor(object);
    python.restore(type, value, trace); // drops the error of an object that has no descriptor
    python.release(state);
    errno = kept;
    return fd;
}
