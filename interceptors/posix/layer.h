// The face of libprovio.so to a layer above the C library, by which it says what it did, in the calling thread's file,
// among the calls that provio saw itself, by one clock; what programs may say is ../include/provio.h. For C and C++,
// found by dlsym("provio_recording") or linked weakly.
//
// Every function returns at once where nothing is recorded, and takes NULL for an object. None allocates with malloc,
// locks, prints or changes errno. Strings are copied where they are kept. Times are nanoseconds since 1970 as
// provio_now() gives them; `started` is when the call that is told of began, and it ends when the function is called.
// A call inside another is told of by whoever the outer one belongs to: nothing is counted twice.
#ifndef PROVIO_LAYER_H
#define PROVIO_LAYER_H

#ifndef PROVIO_H
#define PROVIO_PLAIN
#endif
#include "../include/provio.h"

#ifdef __cplusplus
extern "C" {
#endif

// An object of a file, or the file itself, as one process has it open. Any thread may use it, until it is released.
typedef struct provio_object provio_object;

// What there is to know of an object of a file; NULL and 0: nothing, and it is left out.
struct provio_member {
    const char *kind;        // "Group", "Dataset", "Attribute", "Datatype", "NamedLink"
    const char *path;        // from the root of its file; of an attribute, the path of the object that has it
    const char *name;        // of an attribute
    const char *target;      // of a link
    const char *target_file; // of an external link
    const char *shape;       // "100 200"; of a scalar ""
    const char *max_shape;   // "100 *"
    const char *datatype;    // "float64"
    const char *chunks;      // "10 10"
    const char *filters;     // "shuffle deflate"
    const char *token;       // its address, or its token without zeros at the end, in hexadecimal digits
    uint64_t element_size;   // in bytes
    int created;             // not 0: by the call that is told of
};

// How many calls of HDF5's reached the layer that stands before its libraries (interceptors/hdf5): whoever wants to
// know whether it stands before one makes a call of that one's and asks again.
uint64_t provio_hdf5_calls(void);
int provio_hdf5_inside(void); // whether a call that the layer in C tells of is going on in this thread

// A number for a function of a layer above, whose calls are of a class of the ontology: ("h5py.Dataset.__getitem__",
// "Read"). The same name has the same number; -1: there is no room, which every function takes and records nothing.
// The rows of interceptors/hdf5/calls.def have theirs already.
int provio_function(const char *name, const char *term);

// A file that a library opened or created, with flags as of open(2); its facts are asked for here. The driver's own
// open() is seen beside it. `path` may be relative; where it names no file, whether or not there is one of that name (a
// file in memory, an address of the network), PROVIO_NO_FILE is among the flags; where the library moves bytes of it
// and knows nothing of what they mean, PROVIO_PLAIN_FILE.
enum { PROVIO_NO_FILE = 1 << 30, PROVIO_PLAIN_FILE = 1 << 29 };
provio_object *provio_file(int function, const char *path, unsigned flags, uint64_t started);
provio_object *provio_file_of(int function, int fd, unsigned flags, uint64_t started); // the one behind a descriptor
void provio_file_closed(provio_object *file, uint64_t time);                           // when it really was closed

// An object of a file, once for each opening of the file; nothing is counted by it.
provio_object *provio_member(provio_object *file, const struct provio_member *member);
void provio_virtual(provio_object *dataset, provio_object *source); // a virtual dataset shows elements of the source

// One call that succeeded. Those of provio_counted() are of the class that the function was registered with.
void provio_read(provio_object *object, int function, uint64_t bytes, uint64_t started);
void provio_write(provio_object *object, int function, uint64_t bytes, uint64_t started);
void provio_counted(provio_object *object, int function, uint64_t started);
void provio_submitted(provio_object *object, int function, uint64_t bytes, uint64_t started); // it may take place later
void provio_copied(provio_object *source, provio_object *made, int function, uint64_t started);
void provio_replaced(provio_object *object, uint64_t time); // a write covered all; what counts is the first time

// Events: a block each. `path` NULL: a link is renamed; else the attribute `from` of the object there. `name` is that
// of a deleted attribute of the object at `path`, or NULL.
void provio_resized(provio_object *object, int function, const char *shape, uint64_t started);
void provio_renamed(provio_object *file, int function, const char *path, const char *from, const char *to,
                    uint64_t started);
void provio_deleted(provio_object *file, int function, const char *path, const char *name, uint64_t started);

// One call that failed; `error` is errno, or 0. NULL: on no object that is known.
void provio_failed(provio_object *object, int function, int error, uint64_t started);

// Nothing more will be said of it: its file was closed. Objects of a file are released before the file.
void provio_release(provio_object *object);

#ifdef __cplusplus
}
#endif

#endif
