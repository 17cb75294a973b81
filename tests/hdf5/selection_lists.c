// Selections in a property list, available since HDF5 1.14; compiled without its headers, for the library of h5py.
#include <stdint.h>
#include <stdio.h>

typedef int64_t hid_t;
enum { TRUNCATE = 2, IN_LIST = 2, BLOCK = 1, SET = 0 };
extern hid_t H5P_CLS_DATASET_XFER_ID_g, H5T_NATIVE_INT_g;
int H5open(void);
hid_t H5Fcreate(const char *, unsigned, hid_t, hid_t);
hid_t H5Screate_simple(int, const uint64_t *, const uint64_t *), H5Pcreate(hid_t);
hid_t H5Dcreate2(hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t);
int H5Pset_dataset_io_hyperslab_selection(hid_t, unsigned, int, const uint64_t *, const uint64_t *, const uint64_t *,
                                          const uint64_t *);
int H5Dwrite(hid_t, hid_t, hid_t, hid_t, hid_t, const void *);
int H5Dread(hid_t, hid_t, hid_t, hid_t, hid_t, void *);
int H5Dread_multi(size_t, hid_t *, hid_t *, hid_t *, hid_t *, hid_t, void **);
int H5Dclose(hid_t), H5Fclose(hid_t);

int main(void) {
    uint64_t ten = 10, one = 1, none = 0;
    int data[10] = {0};
    H5open();
    hid_t file = H5Fcreate("a.h5", TRUNCATE, 0, 0), space = H5Screate_simple(1, &ten, NULL);
    hid_t list = H5Pcreate(H5P_CLS_DATASET_XFER_ID_g);
    hid_t dataset = H5Dcreate2(file, "x", H5T_NATIVE_INT_g, space, 0, 0, 0);
    H5Pset_dataset_io_hyperslab_selection(list, 1, SET, &none, &one, &ten, &one);
    printf("%d\n", H5Dwrite(dataset, H5T_NATIVE_INT_g, space, IN_LIST, list, data));
    printf("%d\n", H5Dread(dataset, H5T_NATIVE_INT_g, BLOCK, IN_LIST, list, data));
    printf("%d\n", H5Dread_multi(1, NULL, NULL, NULL, NULL, 0, NULL)); // refused by the library
    H5Dclose(dataset);
    H5Fclose(file);
    return 0;
}
