// Each rank reads a file of its own; all write one file together, the last rank with nothing of its own.
#include <mpi.h>
#include <stdio.h>

int main(int count, char **arguments) {
    int rank, size;
    char name[16], data[400];
    MPI_File file;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "in%d", rank);
    FILE *input = fopen(name, "r");
    size_t got = fread(data, 1, sizeof data, input);
    fclose(input);
    MPI_File_open(MPI_COMM_WORLD, arguments[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, (MPI_Offset)rank * 400, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, data, rank + 1 < size ? (int)got : 0, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
