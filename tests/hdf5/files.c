// Files that are kept open, closed, mounted, linked and used as sources of virtual datasets. Prints the expected trace.
#include "expect.h"

static double data[10];

static hid_t file_with(const char *name, const char *dataset, hid_t access) {
    hid_t file = MUST(H5Fcreate(name, H5F_ACC_TRUNC, 0, access)), space = line_of(10);
    hid_t made = MUST(H5Dcreate2(file, dataset, H5T_NATIVE_DOUBLE, space, 0, 0, 0));
    MUST(H5Dwrite(made, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
    MUST(H5Dclose(made));
    MUST(H5Sclose(space));
    return file;
}

static void all_read(hid_t place, const char *name, const char *file, const char *path) {
    hid_t dataset = MUST(H5Dopen2(place, name, 0));
    MUST(H5Dread(dataset, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
    MUST(H5Dclose(dataset));
    printf("read %s %s 1 80\n", file, path);
}

static void external(void) {
    hid_t other = file_with("other.h5", "x", 0), file;
    MUST(H5Fclose(other));
    file = MUST(H5Fcreate("links.h5", H5F_ACC_TRUNC, 0, 0));
    MUST(H5Lcreate_external("other.h5", "/x", file, "far", 0, 0));
    all_read(file, "far", "other.h5", "/x");
    all_read(file, "far", "other.h5", "/x");
    puts("object NamedLink links.h5 /far true /x other.h5\nfiles other.h5 3\nfiles links.h5 1");
    MUST(H5Fclose(file));
}

static void mounted(void) {
    hid_t guest = file_with("guest.h5", "x", 0), host = file_with("host.h5", "y", 0);
    hid_t group = MUST(H5Gcreate2(host, "mnt", 0, 0, 0));
    MUST(H5Gclose(group));
    MUST(H5Fmount(host, "/mnt", guest, 0));
    MUST(H5Fclose(guest)); // it stays open while it is mounted
    all_read(host, "/mnt/x", "guest.h5", "/x");
    all_read(host, "y", "host.h5", "/y");
    MUST(H5Funmount(host, "/mnt"));
    MUST(H5Fclose(host));
    puts("files guest.h5 1\nfiles host.h5 1");
}

// The file is closed when its last object is.
static void weakly(void) {
    hid_t file = file_with("weak.h5", "x", 0), dataset = MUST(H5Dopen2(file, "x", 0)), again = MUST(H5Freopen(file));
    MUST(H5Fclose(file));
    MUST(H5Fclose(again));
    MUST(H5Dread(dataset, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
    file = MUST(H5Iget_file_id(dataset));
    all_read(file, "x", "weak.h5", "/x");
    MUST(H5Fclose(file));
    MUST(H5Dclose(dataset));
    puts("read weak.h5 /x 1 80\nfiles weak.h5 1");
    file = MUST(H5Fopen("weak.h5", H5F_ACC_RDONLY, 0)); // a second opening
    all_read(file, "x", "weak.h5", "/x");
    MUST(H5Fclose(file));
    puts("files weak.h5 1");
}

// Closing the file closes its objects.
static void strongly(void) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    MUST(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
    hid_t file = file_with("strong.h5", "x", access), dataset = MUST(H5Dopen2(file, "x", 0));
    MUST(H5Dread(dataset, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
    MUST(H5Fclose(file));
    puts("read strong.h5 /x 1 80\nfiles strong.h5 1");
}

static void in_parts(void) {
    hsize_t size = 10, start = 0, half = 5;
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = line_of(10), source = line_of(10);
    MUST(H5Fclose(file_with("part1.h5", "x", 0)));
    MUST(H5Fclose(file_with("part2.h5", "x", 0)));
    MUST(H5Sselect_hyperslab(source, H5S_SELECT_SET, &start, NULL, &half, NULL));
    for (int i = 0; i < 2; i++) {
        hsize_t at = i * half;
        MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &half, NULL));
        MUST(H5Pset_virtual(list, space, i ? "part2.h5" : "part1.h5", "x", source));
    }
    hid_t file = MUST(H5Fcreate("whole.h5", H5F_ACC_TRUNC, 0, 0)), all = H5Screate_simple(1, &size, NULL);
    hid_t dataset = MUST(H5Dcreate2(file, "v", H5T_NATIVE_DOUBLE, all, 0, list, 0));
    MUST(H5Dread(dataset, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
    MUST(H5Dclose(dataset));
    MUST(H5Fclose(file));
    puts("read whole.h5 /v 1 80\nsource whole.h5 /v part1.h5 /x\nsource whole.h5 /v part2.h5 /x");
}

int main(void) {
    external();
    mounted();
    weakly();
    strongly();
    in_parts();
    return 0;
}
