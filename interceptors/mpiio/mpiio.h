// The private face of the MPI-IO interceptor, its sections in the order in which one call's data flows:
// library -> open file -> what a row records.
//
// The rules of ../posix/raw.h hold but for one: MPI may not be called from signal handlers, so dlsym(3) is allowed at
// first use. All that is asked of the library for itself (how large a type is, how much was read) is local to the rank:
// no rank waits for another because it is watched.
#ifndef PROVIO_MPIIO_H
#define PROVIO_MPIIO_H

#include "../posix/record.h"

typedef void
    *handle; // of a communicator, file, type …: a pointer of Open MPI's, an int of MPICH's in the same register

// ---- library.c: the functions of the program's MPI

enum {
#define MPIIO(name, ...) ROW_##name, ROW_P##name,
#define MPIIO_HAND MPIIO
#define MPIIO_LARGE MPIIO
#define SKIPS(...)
#include "calls.def"
#undef MPIIO
#undef MPIIO_LARGE
    OWN_PMPI_Type_size,
    OWN_PMPI_Get_count,
    FUNCTION_COUNT
};

struct mpi_types {
#define MPIIO(name, Term, parameters, ...) int(*row_##name) parameters, (*row_P##name)parameters;
#define MPIIO_LARGE(name, plain, ...) MPIIO(name, __VA_ARGS__)
#include "calls.def"
#undef MPIIO
#undef MPIIO_LARGE
#undef MPIIO_HAND
#undef SKIPS
};

void *mpi_function(int function); // NULL: the MPI in this process has none of that name
#define ROW(name) ((__typeof__(((struct mpi_types *)NULL)->row_##name))mpi_function(ROW_##name))

int open_flags(int mode); // as of open(2)
uint64_t bytes_of(int64_t count, handle type);
uint64_t bytes_moved(int64_t count, handle type, const void *status);

#endif
