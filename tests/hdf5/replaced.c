// Writes that replace the whole content of an object, and others: prints the paths of the former.
#include "expect.h"

static double data[10];

static void put(hid_t file, const char *name, int from, int count) {
    hid_t dataset = MUST(H5Dopen2(file, name, 0)), space = H5Dget_space(dataset), memory = line_of(count);
    hsize_t start = from, some = count;
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &some, NULL));
    MUST(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, 0, data));
    MUST(H5Dclose(dataset));
}

static void points(hid_t file, const char *name) {
    hid_t dataset = MUST(H5Dopen2(file, name, 0)), space = H5Dget_space(dataset), memory = line_of(10);
    hsize_t same[10] = {0};
    MUST(H5Sselect_elements(space, H5S_SELECT_SET, 10, same));
    MUST(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, 0, data));
    MUST(H5Dclose(dataset));
}

int main(void) {
    static const char *const names[] = {"whole", "part", "halves", "points", "attributed"};
    hid_t file = MUST(H5Fcreate(file_name, H5F_ACC_TRUNC, 0, 0)), space = line_of(10), one = H5Screate(H5S_SCALAR);
    for (int i = 0; i < 5; i++) {
        hid_t dataset = MUST(H5Dcreate2(file, names[i], H5T_NATIVE_DOUBLE, space, 0, 0, 0));
        MUST(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, 0, 0, 0, data)); // there was no content before
        hid_t a = MUST(H5Acreate2(dataset, "a", H5T_NATIVE_DOUBLE, one, 0, 0));
        MUST(H5Awrite(a, H5T_NATIVE_DOUBLE, data));
        MUST(H5Aclose(a));
        MUST(H5Dclose(dataset));
    }
    MUST(H5Fclose(file));
    file = MUST(H5Fopen(file_name, H5F_ACC_RDWR, 0));
    put(file, "whole", 0, 10);
    put(file, "whole", 0, 10); // only the first time counts
    put(file, "part", 0, 5);
    put(file, "halves", 0, 5); // the elements written before are not tracked
    put(file, "halves", 5, 5);
    points(file, "points");
    hid_t last = MUST(H5Dopen2(file, "attributed", 0)), a = MUST(H5Aopen(last, "a", 0));
    MUST(H5Awrite(a, H5T_NATIVE_DOUBLE, data));
    MUST(H5Aclose(a));
    MUST(H5Dclose(last));
    MUST(H5Fclose(file));
    puts("/whole\n/attributed@a");
    return 0;
}
