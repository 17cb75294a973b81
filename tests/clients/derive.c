// derive IN.h5 OUT.h5: /scaled from /raw and its units, then /few (the first 10) from /other, in one process.
#include <hdf5.h>

static void write_whole(hid_t file, const char *name, hid_t type, hsize_t length, const void *values)
{
    hid_t space = H5Screate_simple(1, &length, NULL);
    hid_t made = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(made);
    H5Sclose(space);
}

static void scale(hid_t from, hid_t to)
{
    double raw[100], units;
    hid_t dataset = H5Dopen2(from, "/raw", H5P_DEFAULT), attribute = H5Aopen(dataset, "units", H5P_DEFAULT);
    H5Aread(attribute, H5T_NATIVE_DOUBLE, &units);
    H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw);
    for (int i = 0; i < 100; i++) raw[i] *= units;
    write_whole(to, "/scaled", H5T_NATIVE_DOUBLE, 100, raw);
    H5Aclose(attribute);
    H5Dclose(dataset);
}

static void take(hid_t from, hid_t to)
{
    int few[10];
    hsize_t start = 0, length = 10;
    hid_t dataset = H5Dopen2(from, "/other", H5P_DEFAULT), space = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(1, &length, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &length, NULL);
    H5Dread(dataset, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, few);
    write_whole(to, "/few", H5T_NATIVE_INT, 10, few);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
}

int main(int count, char **arguments)
{
    if (count < 3) return 2;
    hid_t from = H5Fopen(arguments[1], H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t to = H5Fcreate(arguments[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    scale(from, to);
    take(from, to);
    H5Fclose(from);
    return H5Fclose(to) < 0;
}
