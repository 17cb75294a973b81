// Each kind of object and each kind of change; prints the expected trace.
#include "expect.h"

static double data[200];

static void written(hid_t dataset, const char *path, int bytes) {
    MUST(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    printf("write a.h5 %s 1 %d\n", path, bytes);
}

static void read_(hid_t dataset, const char *path, int bytes) {
    MUST(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    printf("read a.h5 %s 1 %d\n", path, bytes);
}

static hid_t made(hid_t place, const char *name, const char *path) {
    hid_t space = line_of(10), dataset = MUST(H5Dcreate2(place, name, H5T_NATIVE_DOUBLE, space, 0, 0, 0));
    MUST(H5Sclose(space));
    printf("object Dataset a.h5 %s true\n", path);
    return dataset;
}

static void selections(hid_t file) {
    hsize_t size[2] = {10, 20}, chunk[2] = {5, 4}, start[2] = {1, 2}, count[2] = {3, 4}, points[6] = {0, 0, 1, 1, 1, 1};
    hid_t space = H5Screate_simple(2, size, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    MUST(H5Pset_chunk(list, 2, chunk));
    hid_t dataset = MUST(H5Dcreate2(file, "selected", H5T_NATIVE_DOUBLE, space, 0, list, 0));
    printf("object Dataset a.h5 /selected true\n");
    written(dataset, "/selected", 1600);
    hid_t memory = line_of(12), three = line_of(3);
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    MUST(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, 0, data)); // counted with its size in the file
    printf("write a.h5 /selected 1 96\n");
    MUST(H5Sselect_elements(space, H5S_SELECT_SET, 3, points));
    MUST(H5Dread(dataset, H5T_NATIVE_DOUBLE, three, space, 0, data));
    printf("read a.h5 /selected 1 24\n");
    MUST(H5Sselect_none(space));
    MUST(H5Dread(dataset, H5T_NATIVE_DOUBLE, space, space, 0, data));
    printf("read a.h5 /selected 1 0\n");
    hsize_t corner[2] = {0, 0};
    uint32_t mask;
    MUST(H5Dwrite_chunk(dataset, 0, 0, corner, 160, data));
    printf("write a.h5 /selected 1 160\n");
    MUST(H5Dread_chunk(dataset, 0, corner, &mask, data));
    printf("read a.h5 /selected 1 160\n");
    MUST(H5Dclose(dataset));
}

static void sizes(hid_t file) {
    hsize_t size = 10, most = H5S_UNLIMITED, chunk = 5, more = 30;
    hid_t space = H5Screate_simple(1, &size, &most), list = H5Pcreate(H5P_DATASET_CREATE);
    MUST(H5Pset_chunk(list, 1, &chunk));
    hid_t dataset = MUST(H5Dcreate2(file, "grown", H5T_NATIVE_DOUBLE, space, 0, list, 0)), twin;
    printf("object Dataset a.h5 /grown true\n");
    twin = MUST(H5Dopen2(file, "/grown", 0));
    MUST(H5Dset_extent(twin, &more));
    printf("event Resize a.h5 /grown 30\n");
    written(dataset, "/grown", 240);
    more = 5;
    MUST(H5Dset_extent(dataset, &more));
    printf("event Resize a.h5 /grown 5\n");
    read_(twin, "/grown", 40);
    MUST(H5Dclose(dataset));
    read_(twin, "/grown", 40);
    MUST(H5Dclose(twin));
}

static void names(hid_t file) {
    hid_t group = MUST(H5Gcreate2(file, "g", 0, 0, 0)), dataset = made(group, "x", "/g/x");
    printf("object Group a.h5 /g true\n");
    written(dataset, "/g/x", 80);
    MUST(H5Dclose(dataset));
    MUST(H5Lcreate_soft("g/x", file, "soft", 0, 0));
    MUST(H5Lcreate_soft("/g", file, "folder", 0, 0));
    MUST(H5Lcreate_hard(group, "x", file, "hard", 0, 0));
    printf("object NamedLink a.h5 /soft true\nobject NamedLink a.h5 /folder true\nobject NamedLink a.h5 /hard true\n");
    const char *all[] = {"/soft", "folder/x", "hard", "//g/./x", "/folder/x"};
    for (int i = 0; i < 5; i++) {
        dataset = MUST(H5Dopen2(file, all[i], 0));
        read_(dataset, "/g/x", 80);
        MUST(H5Dclose(dataset));
    }
    MUST(H5Lmove(file, "hard", group, "y", 0, 0));
    printf("event Rename a.h5 - - /hard /g/y\n");
    MUST(H5Ldelete(group, "y", 0));
    printf("event Delete a.h5 /g/y - - -\n");
    MUST(H5Ldelete_by_idx(file, "/", H5_INDEX_NAME, H5_ITER_INC, 0, 0));
    printf("event Delete a.h5 /folder - - -\n");
    dataset = made(file, "folder", "/folder"); // the name is free again
    written(dataset, "/folder", 80);
    MUST(H5Dclose(dataset));
    MUST(H5Ocopy(file, "g", file, "copy", 0, 0));
    printf("event Copy a.h5 /g a.h5 /copy\nobject Group a.h5 /copy true\n");
    dataset = MUST(H5Oopen(file, "copy/x", 0));
    printf("object Dataset a.h5 /copy/x -\n");
    read_(dataset, "/copy/x", 80);
    MUST(H5Oclose(dataset));
    MUST(H5Gclose(group));
}

static void attributes(hid_t file) {
    hid_t one = H5Screate(H5S_SCALAR), three = line_of(3), dataset = made(file, "d", "/d");
    int values[3] = {1, 2, 3};
    hid_t a = MUST(H5Acreate2(dataset, "units", H5T_NATIVE_INT, three, 0, 0));
    MUST(H5Awrite(a, H5T_NATIVE_INT, values));
    MUST(H5Aclose(a));
    a = MUST(H5Acreate_by_name(file, "d", "scale", H5T_NATIVE_DOUBLE, one, 0, 0, 0));
    MUST(H5Awrite(a, H5T_NATIVE_DOUBLE, data));
    MUST(H5Aclose(a));
    a = MUST(H5Acreate2(file, "title", H5T_NATIVE_INT, one, 0, 0));
    MUST(H5Awrite(a, H5T_NATIVE_INT, values));
    MUST(H5Aclose(a));
    puts(
        "object Attribute a.h5 /d@units true\nobject Attribute a.h5 /d@scale true\nobject Attribute a.h5 /@title true");
    puts("write a.h5 /d@units 1 12\nwrite a.h5 /d@scale 1 8\nwrite a.h5 /@title 1 4");
    a = MUST(H5Aopen_by_idx(file, "d", H5_INDEX_NAME, H5_ITER_INC, 1, 0, 0));
    MUST(H5Aread(a, H5T_NATIVE_INT, values));
    MUST(H5Aclose(a));
    MUST(H5Lcreate_hard(file, "d", file, "e", 0, 0));
    puts("object NamedLink a.h5 /e true");
    for (int i = 0; i < 2; i++) {
        a = MUST(H5Aopen_by_name(file, i ? "e" : "d", "scale", 0, 0));
        MUST(H5Aread(a, H5T_NATIVE_DOUBLE, data));
        MUST(H5Aclose(a));
    }
    puts("read a.h5 /d@units 1 12\nread a.h5 /d@scale 2 16");
    MUST(H5Arename(dataset, "scale", "factor"));
    puts("event Rename a.h5 /d - scale factor");
    MUST(H5Adelete_by_idx(file, "d", H5_INDEX_NAME, H5_ITER_INC, 0, 0));
    MUST(H5Adelete(dataset, "units"));
    puts("event Delete a.h5 /d factor - -\nevent Delete a.h5 /d units - -");
    MUST(H5Dclose(dataset));
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *unused) {
    if (strcmp(name, "d") != 0) return 0;
    hid_t dataset = MUST(H5Dopen2(group, name, 0)); // the program's own call, inside another
    read_(dataset, "/d", 80);
    return H5Dclose(dataset);
}

static void others(hid_t file) {
    hid_t type = MUST(H5Tcreate(H5T_COMPOUND, 16));
    MUST(H5Tinsert(type, "a", 0, H5T_NATIVE_DOUBLE));
    MUST(H5Tcommit2(file, "type", type, 0, 0, 0));
    MUST(H5Tclose(type));
    puts("object Datatype a.h5 /type true");
    hid_t space = line_of(10), nameless = MUST(H5Dcreate_anon(file, H5T_NATIVE_DOUBLE, space, 0, 0));
    written(nameless, "/named", 80);
    MUST(H5Olink(nameless, file, "named", 0, 0));
    read_(nameless, "/named", 80);
    MUST(H5Dclose(nameless));
    puts("object Dataset a.h5 /named true");
    puts("object Group a.h5 / -"); // the library makes its handle for each visit
    MUST(H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, NULL));
    hobj_ref_t reference;
    MUST(H5Rcreate(&reference, file, "/d", H5R_OBJECT, -1));
    hid_t dataset = MUST(H5Rdereference2(file, 0, H5R_OBJECT, &reference));
    read_(dataset, "/d", 80);
    MUST(H5Iinc_ref(dataset));
    MUST(H5Dclose(dataset));
    read_(dataset, "/d", 80); // its last reference still exists
    MUST(H5Idec_ref(dataset));
}

int main(void) {
    hid_t file = MUST(H5Fcreate(file_name, H5F_ACC_TRUNC, 0, 0));
    selections(file);
    sizes(file);
    names(file);
    attributes(file);
    others(file);
    MUST(H5Fclose(file));
    return 0;
}
