// make OUT.h5: the datasets /raw (100 doubles, with the attribute `units`) and /other (50 integers), one write each.
#include <hdf5.h>

static hid_t dataset(hid_t file, const char *name, hid_t type, hsize_t length)
{
    hid_t space = H5Screate_simple(1, &length, NULL);
    hid_t made = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(space);
    return made;
}

int main(int count, char **arguments)
{
    double raw[100], units = 0.5;
    int other[50];
    for (int i = 0; i < 100; i++) raw[i] = i;
    for (int i = 0; i < 50; i++) other[i] = 2 * i;
    hid_t file = H5Fcreate(count > 1 ? arguments[1] : "made.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t first = dataset(file, "/raw", H5T_IEEE_F64LE, 100);
    H5Dwrite(first, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw);
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(first, "units", H5T_IEEE_F64LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_DOUBLE, &units);
    H5Aclose(attribute);
    H5Dclose(first);
    hid_t second = dataset(file, "/other", H5T_STD_I32LE, 50);
    H5Dwrite(second, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, other);
    H5Dclose(second);
    return H5Fclose(file) < 0;
}
