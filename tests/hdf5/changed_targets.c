// Opens names in one folder again and again while their targets change. Prints the expected counts.
#include "expect.h"

static double value;

static void put(hid_t place, const char *name) {
    hid_t dataset = MUST(H5Dcreate2(place, name, H5T_NATIVE_DOUBLE, H5Screate(H5S_SCALAR), 0, 0, 0));
    MUST(H5Dclose(dataset));
}

static void get(hid_t place, const char *name) {
    hid_t dataset = MUST(H5Oopen(place, name, 0));
    MUST(H5Dread(dataset, H5T_NATIVE_DOUBLE, 0, 0, 0, &value));
    MUST(H5Oclose(dataset));
}

static void get_numbered(hid_t place, const char *folder, int count) {
    char name[64];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/x%d", folder, i);
        get(place, name);
        get(place, name);
        printf("read a.h5 /%s 2 16\n", name);
    }
}

static void make(void) {
    char name[64];
    hid_t file = MUST(H5Fcreate(file_name, H5F_ACC_TRUNC, 0, 0));
    hid_t many = MUST(H5Gcreate2(file, "many", 0, 0, 0)), mixed = MUST(H5Gcreate2(file, "mixed", 0, 0, 0));
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "x%d", i);
        put(many, name);
        put(mixed, name);
    }
    MUST(H5Lcreate_soft("/many/x30", mixed, "soft", 0, 0));
    MUST(H5Gclose(many));
    MUST(H5Gclose(mixed));
    MUST(H5Fclose(file));
    file = MUST(H5Fcreate("b.h5", H5F_ACC_TRUNC, 0, 0));
    put(file, "x0");
    MUST(H5Fclose(file));
}

// The name of the object that is deleted by position is too long for this layer.
static void long_names(hid_t file) {
    static char folder[1015], name[1100];
    memset(folder, 'l', sizeof folder - 1);
    snprintf(name, sizeof name, "%s/and-a-name-in-it", folder);
    hid_t group = MUST(H5Gcreate2(file, folder, 0, 0, 0));
    put(group, "and-a-name-in-it");
    get(file, name);
    MUST(H5Ldelete_by_idx(file, folder, H5_INDEX_NAME, H5_ITER_INC, 0, 0));
    MUST(H5Lcreate_hard(file, "/many/x33", group, "and-a-name-in-it", 0, 0));
    get(file, name);
    MUST(H5Gclose(group));
    printf("read a.h5 /%s 1 8\n", name);
}

int main(void) {
    make();
    hid_t file = MUST(H5Fopen(file_name, H5F_ACC_RDWR, 0));
    get_numbered(file, "many", 30);
    get_numbered(file, "mixed", 30);
    get(file, "many/x32");
    get(file, "many/x33");
    get(file, "mixed/soft"); // existed before, in a folder that was iterated
    get_numbered(MUST(H5Gopen2(file, "/", 0)), "many", 1);
    MUST(H5Lcreate_soft("x31", file, "many/late", 0, 0));
    get(file, "many/late");
    MUST(H5Ldelete(file, "many/x1", 0));
    MUST(H5Lcreate_hard(file, "many/x32", file, "many/x1", 0, 0));
    get(file, "many/x1");
    MUST(H5Lmove(file, "many/x2", file, "many/moved", 0, 0));
    get(file, "many/moved");
    long_names(file);
    hid_t other = MUST(H5Fopen("b.h5", H5F_ACC_RDONLY, 0));
    get(file, "mixed/x39");
    MUST(H5Fmount(file, "mixed", other, 0));
    get(file, "mixed/x0");
    MUST(H5Funmount(file, "mixed"));
    puts("read a.h5 /many/x30 1 8\nread a.h5 /many/x31 1 8\nread a.h5 /many/x32 2 16\nread a.h5 /many/moved 1 8\n"
         "read a.h5 /many/x33 2 16\nread a.h5 /mixed/x39 1 8\nread b.h5 /x0 1 8");
    return 0;
}
