// More names and more open files than can be stored. Prints the expected counts of the rest.
#include "expect.h"

static char name[60001];

static void attribute(hid_t dataset, size_t length) {
    double value = 0;
    memset(name, 'n', sizeof name);
    name[length] = '\0';
    MUST(H5Aclose(MUST(H5Acreate2(dataset, name, H5T_NATIVE_DOUBLE, H5Screate(H5S_SCALAR), 0, 0))));
    hid_t found = MUST(H5Aopen_by_idx(dataset, ".", H5_INDEX_NAME, H5_ITER_INC, 0, 0, 0));
    MUST(H5Awrite(found, H5T_NATIVE_DOUBLE, &value));
    MUST(H5Aclose(found));
    MUST(H5Adelete(dataset, name));
}

int main(void) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), wide = H5Pcreate(H5P_FILE_ACCESS);
    MUST(H5Pset_libver_bounds(wide, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    hid_t file = MUST(H5Fcreate(file_name, H5F_ACC_TRUNC, 0, wide));
    hid_t dataset = MUST(H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, line_of(10), 0, 0, 0));
    attribute(dataset, 3000);
    printf("write a.h5 /x@%s 1 8\n", name);
    attribute(dataset, 60000);
    MUST(H5Pset_fapl_core(access, 1024, 0));
    for (int i = 0; i < 4100; i++) {
        snprintf(name, sizeof name, "memory%d", i);
        MUST(H5Fcreate(name, H5F_ACC_TRUNC, 0, access));
    }
    return 0;
}
