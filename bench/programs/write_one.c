// `write_one FILE COUNT`: nanoseconds for one H5Dwrite of one element into an open dataset.
#include "timing.h"

#include <hdf5.h>

int main(int count, char **arguments) {
    if (count != 3) return 2;
    hsize_t size = 1000, at = 3, one = 1;
    double value = 1, best = 0;
    hid_t file = H5Fcreate(arguments[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &size, NULL), memory = H5Screate_simple(1, &one, NULL);
    hid_t set = H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (set < 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &one, NULL) < 0) return 1;
    WARM_UP(if (H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, &value) < 0) return 1);
    TIMED(best, atol(arguments[2]),
          if (H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, &value) < 0) return 1);
    printf("%.2f\n", best);
    return H5Dclose(set) < 0 || H5Fclose(file) < 0;
}
