// Each recorded call of MPI-IO, by every rank; rank 0 prints its figures: NAME CALLS BYTES.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 100, BYTES = COUNT * sizeof(int) };

static int rank, size;
static MPI_File file;
static MPI_Status status;
static MPI_Request request;
static int data[COUNT];
static MPI_Offset part;

static void report(const char *name, int calls, int bytes) {
    if (rank == 0) printf("%s %d %d\n", name, calls, bytes);
}

// A part of the file that no other call has, for all ranks.
static MPI_Offset place(void) {
    part += (MPI_Offset)size * BYTES;
    return part + rank * BYTES;
}

#define DO(name, ...)                                                                                                  \
    if (name(file, __VA_ARGS__) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
#define TWICE(name, ...)                                                                                               \
    DO(name, __VA_ARGS__, &status)                                                                                     \
    DO(name, __VA_ARGS__, MPI_STATUS_IGNORE)                                                                           \
    report(#name, 2, 2 * BYTES);
#define LATER(name, ...)                                                                                               \
    DO(name, __VA_ARGS__, &request)                                                                                    \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                             \
    report(#name, 1, BYTES);
#define HALVES(name, ...)                                                                                              \
    DO(name##_begin, __VA_ARGS__)                                                                                      \
    DO(name##_end, data, MPI_STATUS_IGNORE)                                                                            \
    report(#name "_end", 1, BYTES);

#define ALL(verb)                                                                                                      \
    MPI_File_seek(file, place(), MPI_SEEK_SET);                                                                        \
    TWICE(MPI_File_##verb, data, COUNT, MPI_INT)                                                                       \
    MPI_File_seek(file, place(), MPI_SEEK_SET);                                                                        \
    TWICE(MPI_File_##verb##_all, data, COUNT, MPI_INT)                                                                 \
    TWICE(MPI_File_##verb##_at, place(), data, COUNT, MPI_INT)                                                         \
    TWICE(MPI_File_##verb##_at_all, place(), data, COUNT, MPI_INT)                                                     \
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);                                                                       \
    TWICE(MPI_File_##verb##_shared, data, COUNT, MPI_INT)                                                              \
    MPI_Barrier(MPI_COMM_WORLD);                                                                                       \
    TWICE(MPI_File_##verb##_ordered, data, COUNT, MPI_INT)                                                             \
    LATER(MPI_File_i##verb, data, COUNT, MPI_INT)                                                                      \
    LATER(MPI_File_i##verb##_all, data, COUNT, MPI_INT)                                                                \
    LATER(MPI_File_i##verb##_at, place(), data, COUNT, MPI_INT)                                                        \
    LATER(MPI_File_i##verb##_at_all, place(), data, COUNT, MPI_INT)                                                    \
    MPI_Barrier(MPI_COMM_WORLD);                                                                                       \
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);                                                                       \
    LATER(MPI_File_i##verb##_shared, data, COUNT, MPI_INT)                                                             \
    MPI_Barrier(MPI_COMM_WORLD);                                                                                       \
    HALVES(MPI_File_##verb##_all, data, COUNT, MPI_INT)                                                                \
    HALVES(MPI_File_##verb##_at_all, place(), data, COUNT, MPI_INT)                                                    \
    HALVES(MPI_File_##verb##_ordered, data, COUNT, MPI_INT)

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(data, 1 + rank, sizeof data);
    if (MPI_File_open(MPI_COMM_WORLD, "nowhere/at-all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS) return 4;
    if (MPI_File_open(MPI_COMM_WORLD, arguments[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return 5;
    ALL(write)
    if (MPI_File_sync(file) != MPI_SUCCESS) return 6;
    report("MPI_File_sync", 1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    part = 0;
    ALL(read)
    // After the end fewer bytes than requested are read, or none; and a rank may take part without data.
    MPI_Offset end;
    MPI_File_get_size(file, &end);
    DO(PMPI_File_read_at, end - 8, data, COUNT, MPI_INT, MPI_STATUS_IGNORE)
    DO(PMPI_File_read_at, end, data, COUNT, MPI_INT, &status)
    report("MPI_File_read_at", 2, 8);
    DO(MPI_File_write_at_all, end + rank * BYTES, data, rank == 1 ? COUNT : 0, MPI_INT, &status)
    if (MPI_File_close(&file) != MPI_SUCCESS || file != MPI_FILE_NULL) return 7;
    report("MPI_File_close", 1, 0);
    MPI_Finalize();
    return 0;
}
