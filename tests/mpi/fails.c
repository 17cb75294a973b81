// [abort|kill]: each rank reads `input` and writes `part.<rank>`; when all have, rank 1 aborts or is killed.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **words) {
    char name[16], line[16] = "";
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *file = fopen("input", "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) return 1;
    fclose(file);
    snprintf(name, sizeof name, "part.%d", rank);
    file = fopen(name, "w");
    fprintf(file, "%d %s", rank, line);
    fclose(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (count > 1 && rank == 1 && strcmp(words[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (count > 1 && rank == 1 && strcmp(words[1], "kill") == 0) raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
