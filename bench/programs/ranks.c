// ranks INPUT OWN SHARED: each rank reads one input, writes a file of its own, OWN.<rank>, and its part of one HDF5 file
// that all ranks write together. Parallel HDF5.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 1024 };

static void failed(const char *call) {
    perror(call);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void read_input(const char *path, double *values) {
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%lf", values) != 1) failed(path);
    fclose(file);
}

static void write_own(const char *base, int rank, double value) {
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", base, rank);
    FILE *file = fopen(path, "w");
    if (file == NULL || fprintf(file, "%f\n", value) < 0) failed(path);
    fclose(file);
}

static void write_shared(const char *path, int rank, int ranks, const double *values) {
    hsize_t whole = (hsize_t)ranks * LENGTH, start = (hsize_t)rank * LENGTH, length = LENGTH;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t space = H5Screate_simple(1, &whole, NULL), memory = H5Screate_simple(1, &length, NULL);
    hid_t set = H5Dcreate2(file, "values", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &length, NULL);
    if (H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, transfer, values) < 0) failed(path);
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(transfer);
    H5Pclose(access);
    if (H5Fclose(file) < 0) failed(path);
}

int main(int count, char **words) {
    static double values[LENGTH];
    int rank, ranks;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count != 4) MPI_Abort(MPI_COMM_WORLD, 2);
    read_input(words[1], values);
    write_own(words[2], rank, values[0]);
    write_shared(words[3], rank, ranks, values);
    return MPI_Finalize();
}
