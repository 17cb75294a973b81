// tell IN: at its end, the first rank prints the first line of IN, the others nothing.
#include <mpi.h>
#include <stdio.h>

int main(int count, char **arguments) {
    char text[64] = "";
    int rank;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        FILE *from = fopen(arguments[1], "r");
        if (from == NULL || fgets(text, sizeof text, from) == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
        fclose(from);
    }
    MPI_Finalize();
    fputs(text, stdout); // the launcher receives output of the rank after its read
    return 0;
}
