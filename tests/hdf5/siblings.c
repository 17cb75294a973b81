// Every other form of a call in the installed HDF5: of older versions, by name, by index, with fields.
#include "expect.h"

static double data[10];
static int links, objects, attributes;

static herr_t on_link(hid_t group, const char *name, const H5L_info_t *info, void *unused) {
    return links++, 0;
}
static herr_t on_object(hid_t object, const char *name, const H5O_info_t *info, void *unused) {
    return objects++, 0;
}
static herr_t on_attribute(hid_t object, const char *name, const H5A_info_t *info, void *unused) {
    return attributes++, 0;
}
static herr_t on_old_attribute(hid_t object, const char *name, void *unused) {
    return attributes++, 0;
}
static herr_t on_old_link(hid_t group, const char *name, void *unused) {
    return links++, 0;
}

static void older(hid_t file) {
    hid_t space = line_of(10), one = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_NATIVE_INT), again;
    hid_t group = MUST(H5Gcreate1(file, "old", 0)), dataset = MUST(H5Dcreate1(group, "x", H5T_NATIVE_DOUBLE, space, 0));
    MUST(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
    MUST(H5Tclose(MUST(H5Dget_type(dataset))));
    MUST(H5Gclose(MUST(H5Gopen1(file, "old"))));
    MUST(H5Dread(again = MUST(H5Dopen1(file, "old/x")), H5T_NATIVE_DOUBLE, 0, 0, 0, data));
    MUST(H5Dclose(again));
    hid_t attribute = MUST(H5Acreate1(dataset, "a", H5T_NATIVE_INT, one, 0));
    MUST(H5Awrite(attribute, H5T_NATIVE_INT, data));
    MUST(H5Aclose(attribute));
    MUST(H5Aread(attribute = MUST(H5Aopen_name(dataset, "a")), H5T_NATIVE_INT, data));
    MUST(H5Aclose(attribute));
    MUST(H5Aread(attribute = MUST(H5Aopen_idx(dataset, 0)), H5T_NATIVE_INT, data));
    MUST(H5Aclose(attribute));
    puts("write a.h5 /old/x 1 80\nread a.h5 /old/x 1 80\nwrite a.h5 /old/x@a 1 4\nread a.h5 /old/x@a 2 8");
    MUST(H5Tcommit1(file, "type", type));
    MUST(H5Tflush(type));
    MUST(H5Tclose(MUST(H5Topen1(file, "type"))));
    MUST(H5Tclose(MUST(H5Topen2(file, "type", 0))));
    MUST(H5Glink(group, H5L_TYPE_HARD, "x", "y"));
    MUST(H5Glink2(file, "old/x", H5L_TYPE_SOFT, group, "z"));
    MUST(H5Gmove(group, "y", "w"));
    MUST(H5Gmove2(group, "w", file, "v"));
    MUST(H5Gunlink(file, "v"));
    MUST(H5Lcopy(group, "x", file, "u", 0, 0));
    puts("object Group a.h5 /old true\nobject Dataset a.h5 /old/x true\nobject Attribute a.h5 /old/x@a true");
    puts("object Datatype a.h5 /type true\nobject NamedLink a.h5 /old/y true\nobject NamedLink a.h5 /old/z true");
    puts("object NamedLink a.h5 /u true");
    puts("event Rename a.h5 - - /old/y /old/w\nevent Rename a.h5 - - /old/w /v\nevent Delete a.h5 /v - - -");
    MUST(H5Dclose(dataset));
    MUST(H5Gclose(group));
    MUST(H5Tclose(type));
}

static void elsewhere(hid_t file) {
    H5O_info_t info;
    hid_t dataset = MUST(H5Oopen(file, "old/x", 0));
    MUST(H5Oget_info(dataset, &info));
    MUST(H5Oclose(dataset));
    MUST(H5Oclose(MUST(H5Oopen_by_addr(file, info.addr))));
    MUST(H5Oclose(MUST(H5Oopen_by_idx(file, "/old", H5_INDEX_NAME, H5_ITER_INC, 0, 0))));
    hobj_ref_t reference;
    MUST(H5Rcreate(&reference, file, "/old/x", H5R_OBJECT, -1));
    MUST(H5Dclose(MUST(H5Rdereference1(file, H5R_OBJECT, &reference))));
    MUST(H5Tcommit_anon(file, dataset = H5Tcopy(H5T_NATIVE_INT), 0, 0));
    MUST(H5Tclose(dataset));
    MUST(H5Gclose(MUST(H5Gcreate_anon(file, 0, 0))));
    MUST(H5Arename_by_name(file, "old/x", "a", "b", 0));
    puts("event Rename a.h5 /old/x - a b");
    MUST(H5Adelete_by_name(file, "old/x", "b", 0));
    puts("event Delete a.h5 /old/x b - -");
    MUST(H5Fflush(file, H5F_SCOPE_GLOBAL));
    MUST(H5Gflush(dataset = MUST(H5Gopen2(file, "old", 0))));
    MUST(H5Oflush(dataset));
    MUST(H5Gclose(dataset));
    hsize_t size = 10, most = H5S_UNLIMITED, chunk = 5, more = 20;
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &size, &most);
    MUST(H5Pset_chunk(list, 1, &chunk));
    dataset = MUST(H5Dcreate2(file, "extended", H5T_NATIVE_INT, space, 0, list, 0));
    MUST(H5Dextend(dataset, &more));
    puts("object Dataset a.h5 /extended true\nevent Resize a.h5 /extended 20");
    MUST(H5Dflush(dataset));
    MUST(H5Drefresh(dataset));
    MUST(H5Orefresh(dataset));
    MUST(H5Dclose(dataset));
}

// Calls recorded only on request.
static void asking(hid_t file) {
    char name[64];
    hsize_t count, from = 0;
    unsigned first = 0;
    int place = 0;
    H5O_info_t object;
    H5L_info_t link;
    H5A_info_t attribute;
    H5G_info_t group;
    H5G_stat_t old;
    hid_t one = H5Screate(H5S_SCALAR);
    MUST(H5Aclose(MUST(H5Acreate2(file, "t", H5T_NATIVE_INT, one, 0, 0))));
    puts("object Attribute a.h5 /@t true");
    MUST(H5Gget_info(file, &group));
    MUST(H5Gget_info_by_name(file, "old", &group, 0));
    MUST(H5Gget_info_by_idx(file, "/", H5_INDEX_NAME, H5_ITER_INC, 1, &group, 0));
    MUST(H5Gget_num_objs(file, &count));
    MUST(H5Gget_objname_by_idx(file, 0, name, sizeof name));
    MUST(H5Gget_objtype_by_idx(file, 0));
    MUST(H5Gget_objinfo(file, "old", 1, &old));
    MUST(H5Gget_linkval(file, "old/z", sizeof name, name));
    MUST(H5Giterate(file, "old", &place, on_old_link, NULL));
    MUST(H5Aexists(file, "t"));
    MUST(H5Aexists_by_name(file, "old", "t", 0));
    MUST(H5Aget_info_by_name(file, ".", "t", &attribute, 0));
    MUST(H5Aget_info_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, &attribute, 0));
    MUST(H5Aget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, name, sizeof name, 0));
    hid_t root = MUST(H5Gopen2(file, "/", 0));
    MUST(H5Aget_num_attrs(root));
    MUST(H5Aiterate1(root, &first, on_old_attribute, NULL));
    MUST(H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, &from, on_attribute, NULL));
    MUST(H5Aiterate_by_name(file, ".", H5_INDEX_NAME, H5_ITER_INC, NULL, on_attribute, NULL, 0));
    MUST(H5Lexists(file, "old", 0));
    MUST(H5Lget_info(file, "old", &link, 0));
    MUST(H5Lget_info_by_idx(file, "/", H5_INDEX_NAME, H5_ITER_INC, 0, &link, 0));
    MUST(H5Lget_val(file, "old/z", name, sizeof name, 0));
    MUST(H5Lget_val_by_idx(file, "old", H5_INDEX_NAME, H5_ITER_INC, 1, name, sizeof name, 0));
    MUST(H5Lget_name_by_idx(file, "/", H5_INDEX_NAME, H5_ITER_INC, 0, name, sizeof name, 0));
    MUST(H5Literate_by_name(file, "old", H5_INDEX_NAME, H5_ITER_INC, NULL, on_link, NULL, 0));
    MUST(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, on_link, NULL));
    MUST(H5Lvisit_by_name(file, "old", H5_INDEX_NAME, H5_ITER_INC, on_link, NULL, 0));
    MUST(H5Oget_info1(file, &object));
    MUST(H5Oget_info2(file, &object, H5O_INFO_BASIC));
    MUST((H5Oget_info_by_name)(file, "old", &object, 0));
    MUST(H5Oget_info_by_name1(file, "old", &object, 0));
    MUST(H5Oget_info_by_name2(file, "old", &object, H5O_INFO_BASIC, 0));
    MUST((H5Oget_info_by_idx)(file, "/", H5_INDEX_NAME, H5_ITER_INC, 1, &object, 0));
    MUST(H5Oget_info_by_idx1(file, "/", H5_INDEX_NAME, H5_ITER_INC, 1, &object, 0));
    MUST(H5Oget_info_by_idx2(file, "/", H5_INDEX_NAME, H5_ITER_INC, 1, &object, H5O_INFO_BASIC, 0));
    MUST(H5Oexists_by_name(file, "old", 0));
    MUST((H5Ovisit)(file, H5_INDEX_NAME, H5_ITER_INC, on_object, NULL));
    MUST(H5Ovisit1(file, H5_INDEX_NAME, H5_ITER_INC, on_object, NULL));
    MUST(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, on_object, NULL, H5O_INFO_BASIC));
    MUST((H5Ovisit_by_name)(file, "old", H5_INDEX_NAME, H5_ITER_INC, on_object, NULL, 0));
    MUST(H5Ovisit_by_name1(file, "old", H5_INDEX_NAME, H5_ITER_INC, on_object, NULL, 0));
    MUST(H5Ovisit_by_name2(file, "old", H5_INDEX_NAME, H5_ITER_INC, on_object, NULL, H5O_INFO_BASIC, 0));
    MUST(H5Gclose(root));
    puts("object Group a.h5 / -");
    fprintf(stderr, "%d links %d objects %d attributes\n", links, objects, attributes);
}

int main(void) {
    unsigned version;
    MUST(H5get_libversion(&version, &version, &version));
    hid_t file = MUST(H5Fcreate(file_name, H5F_ACC_TRUNC, 0, 0));
    older(file);
    elsewhere(file);
    asking(file);
    MUST(H5Fclose(file));
    return H5close();
}
