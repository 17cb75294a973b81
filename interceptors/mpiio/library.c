// Finds the functions of the program's MPI: after this layer in the global scope, or in a privately loaded library.
#include "mpiio.h"

#include <dlfcn.h>

static const char names[FUNCTION_COUNT][36] = {
#define MPIIO(name, ...) #name, "P" #name,
#define MPIIO_HAND MPIIO
#define MPIIO_LARGE MPIIO
#define SKIPS(...)
#include "calls.def"
    "PMPI_Type_size",
    "PMPI_Get_count",
};

enum { LACKING = 1 };
static void *_Atomic functions[FUNCTION_COUNT];

static __attribute__((cold, noinline)) void *function_new(int function) {
    int kept = errno;
    void *found = loaded_symbol(RTLD_NEXT, names[function]);
    if (found == NULL) found = loaded_function(names[function]);
    errno = kept;
    atomic_store(&functions[function], found == NULL ? (void *)LACKING : found);
    return found;
}

void *mpi_function(int function) {
    void *known = relaxed(functions[function]);
    if (likely((uintptr_t)known > LACKING)) return known;
    return known == NULL ? function_new(function) : NULL;
}

// ---- open modes: the numbers of Open MPI and MPICH, and those of the ABI of MPI 5

struct modes {
    int create, exclusive, read_only, read_write, write_only, append;
};

int open_flags(int mode) {
    static const struct modes common = {2, 8, 16, 32, 256, 1}, usual = {1, 64, 2, 8, 4, 128};
    const struct modes *modes = loaded_as("libmpi_abi.so") ? &common : &usual;
    int flags = mode & modes->read_write ? O_RDWR : mode & modes->write_only ? O_WRONLY : O_RDONLY;
    if (mode & modes->create) flags |= O_CREAT;
    if (mode & modes->exclusive) flags |= O_EXCL;
    if (mode & modes->append) flags |= O_APPEND;
    return flags;
}

// ---- sizes

uint64_t bytes_of(int64_t count, handle type) {
    int (*type_size)(handle, int *) = mpi_function(OWN_PMPI_Type_size), size = 0;
    if (count <= 0 || type_size == NULL || type_size(type, &size) != 0 || size <= 0) return 0;
    return (uint64_t)count * (uint64_t)size;
}

// Less than requested at the end of a file.
uint64_t bytes_moved(int64_t count, handle type, const void *status) {
    int (*get_count)(const void *, handle, int *) = mpi_function(OWN_PMPI_Get_count), moved = -1;
    bool known = count <= INT_MAX && get_count != NULL && get_count(status, type, &moved) == 0;
    return bytes_of(known && moved >= 0 && moved < count ? moved : count, type);
}
