// Each rank reads a file of its own, sends its content to all others, and writes its own content into another file.
#include <mpi.h>
#include <stdio.h>

enum { SIZE = 64, MOST = 64 };

int main(int count, char **arguments) {
    int rank;
    char name[16], own[SIZE] = {0}, all[SIZE * MOST];
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "in.%d", rank);
    FILE *file = fopen(name, "r");
    size_t got = fread(own, 1, sizeof own, file);
    fclose(file);
    MPI_Allgather(own, SIZE, MPI_CHAR, all, SIZE, MPI_CHAR, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "out.%d", rank);
    file = fopen(name, "w");
    fwrite(own, 1, got, file);
    fclose(file);
    MPI_Finalize();
    return 0;
}
