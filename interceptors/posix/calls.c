// The rows of the tables of calls, as names and the classes of what they do.
#include "shim.h"

#define CHARACTER CALL
#define VARIADIC CALL
#define HAND CALL
#define FRESH CALL
#define SKIP(name, why)
#define SKIPS(...)
#define CALL(name, ...) #name,
#define HDF5_HAND HDF5
#define HDF5(name, ...) #name,
#define MPIIO_HAND MPIIO
#define MPIIO_LARGE(name, plain, ...) MPIIO(name, __VA_ARGS__)
#define MPIIO HDF5
const char api_names[][32] = {
#include "calls.def"
#include "../hdf5/calls.def"
#include "../mpiio/calls.def"
};
#undef HDF5
#undef CALL
#define CALL(name, ...) sizeof(#name) - 1,
#define HDF5(name, ...) sizeof(#name) - 1,
const unsigned char api_lengths[] = {
#include "calls.def"
#include "../hdf5/calls.def"
#include "../mpiio/calls.def"
};
#undef HDF5
#undef CALL
#undef CHARACTER
#undef VARIADIC
#undef HAND
#undef FRESH

#define CALL(name, type, parameters, arguments, Term, subject, outcome) TERM_##Term,
#define CHARACTER CALL
#define VARIADIC(name, type, parameters, last, sibling, arguments, Term, subject, outcome) TERM_##Term,
#define FIRST_TERM(first, ...) TERM_##first
#define HAND(name, type, parameters, ...) FIRST_TERM(__VA_ARGS__ __VA_OPT__(, ) IOActivity, ),
#define FRESH(name, ...) TERM_IOActivity,
#define HDF5(name, Term, ...) TERM_##Term,
const char api_terms[][16] = {
#include "calls.def"
#include "../hdf5/calls.def"
#include "../mpiio/calls.def"
};
