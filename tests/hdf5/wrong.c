// Wrong arguments in randomly chosen calls: closed and invalid identifiers, missing and impossible names. Prints the
// result of each; the error messages of HDF5 are written to the file `errors`.
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char big[100000];
static double data[200000];
static hid_t ids[17];
static const char *names[] = {NULL,    "",        ".",     "/",    "x", "g",  "g/x",
                              "/g/x/", "nothing", "g/x/y", "../g", big, "//", "./g/./x"};
static hsize_t ten = 10, many = 20000;
static FILE *errors;

#define CHANCE(list) list[rand() % (sizeof list / sizeof *list)]
#define SPACE(id) ((id) > 0 && (id) < 4 ? 0 : (id)) // 1, 2: special dataspaces in HDF5 from 1.14 on
#define POSITION rand() % 4 - 1, rand() % 5 - 1

static void prepare(void) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate("w.h5", H5F_ACC_TRUNC, 0, access), group = H5Gcreate2(file, "g", 0, 0, 0);
    hid_t space = H5Screate_simple(1, &ten, NULL), wide = H5Screate_simple(1, &many, NULL);
    hid_t set = H5Dcreate2(group, "x", H5T_NATIVE_DOUBLE, space, 0, 0, 0);
    hid_t closed = H5Dcreate2(group, "c", H5T_NATIVE_INT, space, 0, 0, 0), dead = H5Gcreate2(file, "dead", 0, 0, 0);
    H5Dclose(closed);
    H5Gclose(dead);
    hid_t large = H5Acreate2(set, "wide", H5T_NATIVE_DOUBLE, wide, 0, 0); // 160,000 bytes
    if (H5Awrite(large, H5T_NATIVE_DOUBLE, data) < 0) exit(1);
    hid_t named = H5Acreate2(set, big, H5T_NATIVE_DOUBLE, space, 0, 0);
    if (H5Awrite(named, H5T_NATIVE_DOUBLE, data) < 0) exit(1);
    H5Aclose(named);
    hid_t made[] = {-1,     0,     1,       2,   3,     1LL << 62,           closed,
                    dead,   file,  group,   set, space, H5Screate(H5S_NULL), H5T_NATIVE_INT,
                    access, large, 99999999};
    memcpy(ids, made, sizeof ids);
}

static long call(void) {
    hid_t group = ids[9], a = CHANCE(ids), b = CHANCE(ids), c = CHANCE(ids), d = CHANCE(ids);
    const char *n = CHANCE(names), *m = CHANCE(names);
    switch (rand() % 30) {
    case 0:
        return H5Dopen2(a, n, 0);
    case 1:
        return H5Gopen2(a, n, 0);
    case 2:
        return H5Oopen(a, n, 0);
    case 3:
        return H5Dread(a, b, SPACE(c), SPACE(d), 0, data);
    case 4:
        return H5Dwrite(a, b, SPACE(c), SPACE(d), 0, data);
    case 5:
        return H5Dcreate2(a, n, b, c, 0, 0, 0);
    case 6:
        return H5Gcreate2(a, n, 0, 0, 0);
    case 7:
        return H5Acreate2(a, n, b, c, 0, 0);
    case 8:
        return H5Aopen(a, n, 0);
    case 9:
        return H5Aopen_by_name(a, n, m, 0, 0);
    case 10:
        return H5Aopen_by_idx(a, n, POSITION, rand() % 3, 0, 0);
    case 11:
        return H5Aread(a, b, data);
    case 12:
        return H5Awrite(a, b, data);
    case 13:
        return H5Adelete(a, n);
    case 14:
        return H5Arename(a, n, m);
    case 15:
        return H5Lcreate_soft(n, a, m, 0, 0);
    case 16:
        return H5Lcreate_hard(a, n, b, m, 0, 0);
    case 17:
        return H5Lcreate_external(n, m, a, m, 0, 0);
    case 18:
        return H5Lmove(a, n, b, m, 0, 0);
    case 19:
        return H5Lcopy(a, n, b, m, 0, 0);
    case 20:
        return a == group || n == NULL || strcmp(n, "x") == 0 ? 0 : H5Ldelete(a, n, 0);
    case 21:
        return H5Ldelete_by_idx(a == group ? 0 : a, n, POSITION, 90 + rand() % 3, 0);
    case 22:
        return H5Ocopy(a, n, b, m, 0, 0);
    case 23:
        return H5Tcommit2(a, n, b, 0, 0, 0);
    case 24:
        return H5Dset_extent(a, rand() % 2 ? &ten : NULL);
    case 25:
        return H5Fmount(a, n, b, 0);
    case 26:
        return H5Funmount(a, n);
    case 27:
        return H5Fopen(n, rand() % 64, 0);
    case 28:
        return H5Iget_file_id(a);
    case 29:
        return H5Fflush(a, rand() % 4 - 1);
    }
    return 0;
}

int main(int argc, char **argv) {
    srand(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
    memset(big, 'n', 60000);
    errors = fopen("errors", "w");
    H5Eset_auto2(0, (H5E_auto2_t)H5Eprint2, errors);
    prepare();
    for (int i = 0; i < 20000; i++) {
        long result = call();
        fprintf(errors, "%d: %d\n", i, result < 0 ? -1 : result > 0);
    }
    return fclose(errors);
}
