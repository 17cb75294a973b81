// The private declarations of the MPI-IO interceptor, in the order in which the data of one call flows: library -> open
// file -> the record of a row.
//
// The rules of ../posix/raw.h are valid here, with one exception: MPI must not be called from signal handlers, so
// dlsym(3) is allowed at first use. The layer's own queries of the library (the size of a type, the number of bytes
// read) are local to the rank: no rank waits for another because of the record.
#ifndef PROVIO_MPIIO_H
#define PROVIO_MPIIO_H

#include "../posix/record.h"

typedef void *handle; // of a communicator, file, type …: a pointer in Open MPI, an int in MPICH, both in one register

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

void *mpi_function(int function); // NULL: the MPI in this process lacks the function
#define ROW(name) ((__typeof__(((struct mpi_types *)NULL)->row_##name))mpi_function(ROW_##name))

int open_flags(int mode); // flags of open(2)
uint64_t bytes_of(int64_t count, handle type);
uint64_t bytes_moved(int64_t count, handle type, const void *status);

#endif
