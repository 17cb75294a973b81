// together FILE: all ranks create a group, two datasets and an attribute, as collective calls; only ranks 1 and 2
// write.
#include <hdf5.h>
#include <mpi.h>

int main(int argc, char **argv) {
    int rank;
    double data[100] = {0};
    hsize_t all = 200, count = 100;
    if (argc < 2) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), space = H5Screate_simple(1, &all, NULL);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t empty = H5Dcreate2(group, "empty", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t written = H5Dcreate2(group, "written", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose(H5Acreate2(written, "units", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), H5P_DEFAULT, H5P_DEFAULT));
    if (rank == 1 || rank == 2) {
        hsize_t start = 100 * (hsize_t)(rank - 1);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
        if (H5Dwrite(written, H5T_NATIVE_DOUBLE, H5Screate_simple(1, &count, NULL), space, H5P_DEFAULT, data) < 0)
            return 1;
    }
    H5Dclose(empty);
    H5Dclose(written);
    H5Gclose(group);
    herr_t closed = H5Fclose(file);
    MPI_Finalize();
    return closed < 0;
}
