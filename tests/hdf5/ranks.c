// Four ranks write one dataset together, then each reads its part independently; prints rank 0's view of all calls.
#include <mpi.h>

#include "expect.h"

int main(int argc, char **argv) {
    int rank, size, metadata = argc > 1;
    double data[100] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    MUST(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    if (metadata) MUST(H5Pset_all_coll_metadata_ops(access, 1));
    MUST(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
    hid_t file = MUST(H5Fcreate("ranks.h5", H5F_ACC_TRUNC, 0, access));
    hid_t group = MUST(H5Gcreate2(file, "g", 0, 0, 0)), space = line_of(100 * size), memory = line_of(100);
    hid_t dataset = MUST(H5Dcreate2(group, "x", H5T_NATIVE_DOUBLE, space, 0, 0, 0));
    MUST(H5Lcreate_soft("/g/x", file, "soft", 0, 0));
    hsize_t start = 100 * rank, count = 100;
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL));
    MUST(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, data));
    MUST(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, 0, data));
    MUST(H5Dclose(dataset));
    MUST(H5Gclose(group));
    MUST(H5Fclose(file));
    file = MUST(H5Fopen("ranks.h5", H5F_ACC_RDONLY, access));
    if (rank % 2 == 0 || metadata) { // only some ranks: the layer's own queries must not need the others
        dataset = MUST(H5Dopen2(file, metadata ? "/g/x" : "soft", 0));
        MUST(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, 0, data));
        MUST(H5Dclose(dataset));
    }
    MUST(H5Fclose(file));
    MPI_Finalize();
    return 0;
}
