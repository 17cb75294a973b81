// The interface of libprovio.so for a layer above the C library. The layer records its calls in the calling thread's
// file, between the calls that provio intercepts, with the same clock. The interface for programs is
// ../include/provio.h. For C and C++; found with dlsym("provio_recording") or linked weakly.
//
// Every function returns immediately if nothing is recorded, and accepts NULL for an object. None allocates with
// malloc, locks, prints or changes errno. Strings are copied. Times are nanoseconds since 1970 from provio_now();
// `started` is the start of the recorded call, and the call ends when the function is called. A call inside another
// call belongs to the outer one: nothing is counted twice.
#ifndef PROVIO_LAYER_H
#define PROVIO_LAYER_H

#ifndef PROVIO_H
#define PROVIO_PLAIN
#endif
#include "../include/provio.h"

#ifdef __cplusplus
extern "C" {
#endif

// An object in a file, or the file itself, as opened by one process. Any thread may use it until it is released.
typedef struct provio_object provio_object;

// The properties of an object in a file; NULL and 0: unknown, and omitted.
struct provio_member {
    const char *kind;        // "Group", "Dataset", "Attribute", "Datatype", "NamedLink"
    const char *path;        // from the root of its file; of an attribute, the path of its object
    const char *name;        // of an attribute
    const char *target;      // of a link
    const char *target_file; // of an external link
    const char *shape;       // "100 200"; of a scalar ""
    const char *max_shape;   // "100 *"
    const char *datatype;    // "float64"
    const char *chunks;      // "10 10"
    const char *filters;     // "shuffle deflate"
    const char *token;       // its address, or its token without trailing zeros, in hexadecimal digits
    uint64_t element_size;   // in bytes
    int created;             // not 0: created by the recorded call
};

// The number of HDF5 calls that reached the HDF5 interceptor (interceptors/hdf5). A client that needs to know whether a
// library is intercepted calls a function of that library and compares this number before and after.
uint64_t provio_hdf5_calls(void);
int provio_hdf5_inside(void); // whether this thread is inside a call that the C layer records

// Outside of Tasks, the sockets of this thread carry messages of a framework that is followed otherwise: their turns
// are not recorded.
void provio_messages(void);

// Return a number for a function of a layer above whose calls are of a class of the ontology:
// ("h5py.Dataset.__getitem__", "Read"). The same name has the same number. -1: no space; every function accepts it and
// records nothing. The rows of interceptors/hdf5/calls.def are already registered.
int provio_function(const char *name, const char *term);

// A file that a library opened or created, with flags of open(2); its facts are read here. The driver's own open() is
// recorded, too. `path` may be relative. If it names no file, even if a file of that name exists (a file in memory, a
// network address), the flags contain PROVIO_NO_FILE. If the library moves bytes without interpreting them, they
// contain PROVIO_PLAIN_FILE.
enum { PROVIO_NO_FILE = 1 << 30, PROVIO_PLAIN_FILE = 1 << 29 };
provio_object *provio_file(int function, const char *path, unsigned flags, uint64_t started);
provio_object *provio_file_of(int function, int fd, unsigned flags, uint64_t started); // the file of a descriptor
void provio_file_closed(provio_object *file, uint64_t time);                           // the time of the actual close

// An object in a file, once for each opening of the file. Counts nothing.
provio_object *provio_member(provio_object *file, const struct provio_member *member);
void provio_virtual(provio_object *dataset, provio_object *source); // a virtual dataset shows elements of the source

// One successful call. Calls of provio_counted() are of the registered class of the function.
void provio_read(provio_object *object, int function, uint64_t bytes, uint64_t started);
void provio_write(provio_object *object, int function, uint64_t bytes, uint64_t started);
void provio_counted(provio_object *object, int function, uint64_t started);
// the transfer may happen later
void provio_submitted(provio_object *object, int function, uint64_t bytes, uint64_t started);
void provio_copied(provio_object *source, provio_object *made, int function, uint64_t started);
void provio_replaced(provio_object *object, uint64_t time); // a write replaced everything; only the first time counts

// Events, a block each. `path` NULL: a link is renamed; otherwise the attribute `from` of the object at `path`. `name`:
// the deleted attribute of the object at `path`, or NULL.
void provio_resized(provio_object *object, int function, const char *shape, uint64_t started);
void provio_renamed(provio_object *file, int function, const char *path, const char *from, const char *to,
                    uint64_t started);
void provio_deleted(provio_object *file, int function, const char *path, const char *name, uint64_t started);

// One failed call; `error` is errno, or 0. `object` NULL: unknown.
void provio_failed(provio_object *object, int function, int error, uint64_t started);

// No more calls on the object follow: its file was closed. Release the objects of a file before the file.
void provio_release(provio_object *object);

#ifdef __cplusplus
}
#endif

#endif
