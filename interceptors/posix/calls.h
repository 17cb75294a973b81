// The calls that are wrapped: their numbers, names, terms and real functions.
#ifndef PROVIO_CALLS_H
#define PROVIO_CALLS_H

#include "raw.h"

// ---- calls.c: the rows of the table, as numbers, names and real functions

enum {
#define CALL(name, ...) API_##name,
#define CHARACTER CALL
#define VARIADIC CALL
#define HAND CALL
#define FRESH CALL
#define SKIP(name, why)
#define SKIPS(...)
#include "calls.def"
#undef CALL
    API_COUNT,
    API_LAST_OF_POSIX = API_COUNT - 1,
#define HDF5(name, ...) API_##name,
#define HDF5_HAND HDF5
#include "../hdf5/calls.def"
#undef HDF5
#undef HDF5_HAND
#define MPIIO(name, ...) API_##name,
#define MPIIO_HAND MPIIO
#define MPIIO_LARGE MPIIO
#include "../mpiio/calls.def"
#undef MPIIO
#undef MPIIO_HAND
#undef MPIIO_LARGE
    API_NAMED
};
extern const char api_names[][32];
extern const unsigned char api_lengths[];
extern const char api_terms[][16]; // the class of what a call does

// Functions of layers above, registered while the process runs (record.c): their numbers follow.
enum { REGISTERED = 256 };
struct function {
    _Atomic unsigned char length; // 0: not there, or not yet
    _Atomic bool taken;
    char name[62];
    const char *term;
};
extern struct function registered[REGISTERED];

static inline const char *api_name(int api) {
    return likely(api < API_NAMED) ? api_names[api] : registered[api - API_NAMED].name;
}
static inline size_t api_length(int api) {
    return likely(api < API_NAMED) ? api_lengths[api] : registered[api - API_NAMED].length;
}
static inline const char *api_term(int api) {
    return likely(api < API_NAMED) ? api_terms[api] : registered[api - API_NAMED].term;
}

typedef int (*visiting)(const char *, const void *, int, void *); // of nftw(3)

struct real {
#define CALL(name, type, parameters, ...) type(*real_##name) parameters;
#include "calls.def"
#undef CALL
#undef CHARACTER
#undef VARIADIC
#undef HAND
#undef FRESH
#undef SKIP
#undef SKIPS
};

// A real function is looked up when it is first called: a process pays for the few names that it uses. The first
// descriptors lie behind, on the same page: each process uses both, and a page costs it more than ten calls.
struct object;
extern struct tables {
    void *_Atomic functions[API_COUNT];
    struct object *_Atomic descriptors[1024];
} tables;
#define real_functions (tables.functions)
#define first_descriptors (tables.descriptors)
void *resolve(int api); // resolve.c
void resolve_begin(void);
void *real_named(const char *name); // of what is not in the table; NULL: there is none
bool at_home(void);                 // in a program of the C library that the shim is for

static inline void *real_function(int api) {
    void *known = relaxed(real_functions[api]);
    return likely(known != NULL) ? known : resolve(api);
}
#define REAL(name) ((__typeof__(((struct real *)NULL)->real_##name))real_function(API_##name))

// Where it was looked up before.
#define KNOWN(name) ((__typeof__(((struct real *)NULL)->real_##name))relaxed(real_functions[API_##name]))

#define EXPORTED(name, type, parameters, ...)                                                                          \
    __attribute__((visibility("default"))) type provio_##name parameters __asm__(#name);

int mode_flags(const char *mode); // intercept.c

#endif
