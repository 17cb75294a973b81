// Declarations for the files of the connector: the calling HDF5 library, the known open objects, the recorder.
//
// Objects are passed through unwrapped: the library keeps the objects of the native connector. A callback finds its
// library by its return address, since one process may contain several libraries, and each of them loads this
// connector.
#ifndef VOL_H
#define VOL_H

#include <hdf5.h>
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <H5PLextern.h>
#include <stdbool.h>
#include <stdint.h>
#include "../../posix/layer.h"

#include "hdf5_1_12.h"

#if H5VL_VERSION != 3
#error "the connector is built with the headers of HDF5 1.14 or 2.0 (version 3 of HDF5's connector interface)"
#endif

// Some constants of the headers are macros that first call the library by name; that call is removed here.
#undef H5CHECK
#undef H5OPEN
#define H5CHECK
#define H5OPEN

struct library {
    uintptr_t begin, end; // the address range of its code
    hid_t native;
    bool is_v1_12; // HDF5 1.12: use `twelve` for the functions that are newer
    struct v1_12 v1_12;
#define FUNCTION(name) __typeof__(&name) name;
#define LATER FUNCTION
#include "functions.def"
#undef FUNCTION
#undef LATER
};

struct recorder {
#define RECORDER(name) __typeof__(&name) name;
#include "recorder.def"
#undef RECORDER
};

enum {
#define RECORDED(name, term) FUNCTION_##name,
#include "recorded.def"
#undef RECORDED
    FUNCTIONS
};

extern struct recorder recorder; // functions of the shim
extern int functions[FUNCTIONS]; // the numbers of the recorded functions in the shim

extern const H5VL_class_t provio_class;
herr_t initialize(hid_t list);
herr_t terminate(void);
herr_t information_from(const char *text, void **information);

bool library_found(const void *address);         // false: a library that this connector cannot serve
struct library *library_at(const void *address); // the library whose code contains the address
#define LIBRARY library_at(__builtin_return_address(0))

// An open file and its known objects, kept until the file is closed.
struct file {
    struct file *next;
    struct library *hdf5;
    unsigned long number; // in its library
    unsigned opens;       // handles of the file and of its objects
    provio_object *record;
    struct known *members;
};

struct known {
    struct known *next, *chain; // next: of its file; chain: of the same hash
    struct file *file;
    H5O_token_t token;
    provio_object *record;
    uint64_t element; // bytes of one element
    bool created;
    char *path, *name; // name: of an attribute, or NULL
};

// One callback that is recorded: the calling library, the property list, the start.
struct call {
    struct library *hdf5;
    hid_t list;
    int function, error; // error: the program's errno
    uint64_t started;
};
struct call call_begin(struct library *library, hid_t list, int function);
bool is_recording(void);

void file_begin(struct call *call, void *made, const char *path, unsigned flags);
struct known *object_known(struct call *call, void *object, H5I_type_t type, const char *attribute, bool created);
struct file *file_of(struct call *call, void *object, H5I_type_t type);
void handle_open(const void *handle, struct file *file, struct known *known);
struct known *handle_known(const void *handle);
void handle_close(struct call *call, const void *handle);
bool path_of(struct call *call, void *object, H5I_type_t type, char *path, size_t room);

// Queries to the native connector. They return a handle that the caller must close (negative: none), or whether the
// answer was found.
hid_t query_dataset(struct library *library, void *dataset, H5VL_dataset_get_t operation, hid_t list);
hid_t query_attribute(struct library *library, void *attribute, H5VL_attr_get_t operation, hid_t list);
void query_attribute_name(struct library *library, void *attribute, char *name, size_t room, hid_t list);
bool query_object(struct library *library, void *object, H5I_type_t type, H5O_info2_t *information, hid_t list);
bool query_path(struct library *library, void *object, H5I_type_t type, char *path, size_t room, hid_t list);
bool query_file_number(struct library *library, void *file, unsigned long *number, hid_t list);

// The properties of an object as texts in `room`.
struct description {
    char room[5][512], token[24];
    struct provio_member member;
};
void describe_dataset(struct library *library, void *dataset, hid_t list, struct description *to);
void describe_attribute(struct library *library, void *attribute, hid_t list, struct description *to);
void describe_token(const H5O_token_t *token, char *text, size_t room);

#endif
