// HDF5's errors as a program observes them: its stack, its printing, its own handlers, errno.
#include "expect.h"
#include <errno.h>

static int called;

static herr_t own(hid_t stack, void *data) {
    called++;
    printf("own handler: %d\n", (int)H5Eget_num(stack));
    return 0;
}

static void fail(hid_t file) {
    errno = 77;
    hid_t result = H5Dopen2(file, "nothing", 0);
    printf("%d errors %d errno %d\n", (int)result, (int)H5Eget_num(H5E_DEFAULT), errno);
}

int main(void) {
    hid_t file = MUST(H5Fcreate(file_name, H5F_ACC_TRUNC, 0, 0)), space = line_of(10);
    fail(file);                                    // printed by HDF5
    MUST(H5Eset_auto2(H5E_DEFAULT, own, &called)); // the program's own
    fail(file);
    hid_t dataset = MUST(H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, 0, 0, 0));
    printf("after success %d\n", (int)H5Eget_num(H5E_DEFAULT));
    hid_t gone = MUST(H5Dopen2(file, "x", 0));
    MUST(H5Dclose(gone));
    double data[10] = {0};
    printf("closed %d\n", (int)H5Dread(gone, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
    printf("closed twice %d\n", (int)H5Dclose(gone));
    H5E_auto2_t function;
    void *given;
    MUST(H5Eget_auto2(H5E_DEFAULT, &function, &given));
    printf("still the program's own %d %d\n", function == own, given == &called);
    MUST(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
    fail(file);
    H5Fopen("/nowhere/at/all.h5", H5F_ACC_RDONLY, 0);
    printf("errno %d\n", errno);
    H5Eprint2(H5E_DEFAULT, stderr);
    printf("no name %d\n", (int)H5Ldelete_by_idx(file, NULL, H5_INDEX_NAME, H5_ITER_INC, 0, 0));
    H5E_auto1_t first = NULL;
    MUST(H5Eset_auto1((H5E_auto1_t)H5Eprint1, stderr)); // the old kind of handler
    H5Dopen2(file, "nothing", 0);
    MUST(H5Gclose(MUST(H5Gcreate2(file, "g", 0, 0, 0))));
    MUST(H5Eget_auto1(&first, &given));
    printf("the older kind %d\n", first == (H5E_auto1_t)H5Eprint1);
    MUST(H5Dclose(dataset));
    MUST(H5Fclose(file));
    return 0;
}
