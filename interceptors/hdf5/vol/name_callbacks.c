// Callbacks of groups and committed datatypes, and of changes of names: links, copies, deleted and renamed attributes.
#include "callbacks.h"
#include <stdio.h>

// Resolve a name that is relative to an object.
bool place_of(struct call *call, void *object, const H5VL_loc_params_t *where, const char *name, char *path,
              size_t room) {
    if (name == NULL && where->type == H5VL_OBJECT_BY_NAME) name = where->loc_data.loc_by_name.name;
    if (where->type != H5VL_OBJECT_BY_SELF && where->type != H5VL_OBJECT_BY_NAME) return false;
    if (name != NULL && name[0] == '/') return (size_t)snprintf(path, room, "%s", name) < room;
    if (!path_of(call, object, where->obj_type, path, room)) return false;
    if (name == NULL || (name[0] == '.' && name[1] == '\0')) return true;
    size_t length = path[1] == '\0' ? 0 : __builtin_strlen(path);
    return length + (size_t)snprintf(path + length, room - length, "/%s", name) + 1 < room;
}

void *record_group_create(void *object, const H5VL_loc_params_t *where, const char *name, hid_t link, hid_t creation,
                          hid_t access, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Gcreate2);
    void *made = library->H5VLgroup_create(object, where, library->native, name, link, creation, access, list, request);
    opened(&call, made, H5I_GROUP, NULL, true);
    return made;
}

void *record_group_open(void *object, const H5VL_loc_params_t *where, const char *name, hid_t access, hid_t list,
                        void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Gopen2);
    void *made = library->H5VLgroup_open(object, where, library->native, name, access, list, request);
    opened(&call, made, H5I_GROUP, NULL, false);
    return made;
}

herr_t record_group_close(void *group, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Gclose);
    herr_t result = library->H5VLgroup_close(group, library->native, list, request);
    if (result >= 0) handle_close(&call, group);
    return result;
}

void *record_datatype_commit(void *object, const H5VL_loc_params_t *where, const char *name, hid_t type, hid_t link,
                             hid_t creation, hid_t access, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Tcommit2);
    void *made =
        library->H5VLdatatype_commit(object, where, library->native, name, type, link, creation, access, list, request);
    opened(&call, made, H5I_DATATYPE, NULL, true);
    return made;
}

void *record_datatype_open(void *object, const H5VL_loc_params_t *where, const char *name, hid_t access, hid_t list,
                           void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Topen2);
    void *made = library->H5VLdatatype_open(object, where, library->native, name, access, list, request);
    opened(&call, made, H5I_DATATYPE, NULL, false);
    return made;
}

herr_t record_datatype_close(void *type, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Tclose);
    herr_t result = library->H5VLdatatype_close(type, library->native, list, request);
    if (result >= 0) handle_close(&call, type);
    return result;
}

void *record_object_open(void *object, const H5VL_loc_params_t *where, H5I_type_t *type, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Oopen);
    void *made = library->H5VLobject_open(object, where, library->native, type, list, request);
    opened(&call, made, made == NULL ? H5I_BADID : *type, NULL, false);
    return made;
}

// ---- copies

static void close_object(struct call *call, void *object, H5I_type_t type) {
    struct library *library = call->hdf5;
    if (type == H5I_DATASET) library->H5VLdataset_close(object, library->native, call->list, NULL);
    if (type == H5I_GROUP) library->H5VLgroup_close(object, library->native, call->list, NULL);
    if (type == H5I_DATATYPE) library->H5VLdatatype_close(object, library->native, call->list, NULL);
}

static struct known *known_at(struct call *call, void *object, const H5VL_loc_params_t *where, const char *name,
                              bool created) {
    H5I_type_t type = H5I_BADID;
    H5VL_loc_params_t there = {.obj_type = where->obj_type, .type = H5VL_OBJECT_BY_NAME};
    there.loc_data.loc_by_name.name = name;
    there.loc_data.loc_by_name.lapl_id = H5P_DEFAULT;
    struct library *library = call->hdf5;
    void *found = library->H5VLobject_open(object, &there, library->native, &type, call->list, NULL);
    if (found == NULL) return NULL;
    struct known *known = object_known(call, found, type, NULL, created);
    close_object(call, found, type);
    return known;
}

herr_t record_object_copy(void *from, const H5VL_loc_params_t *where, const char *name, void *to,
                          const H5VL_loc_params_t *there, const char *new_name, hid_t copying, hid_t link, hid_t list,
                          void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Ocopy);
    herr_t result =
        library->H5VLobject_copy(from, where, name, to, there, new_name, library->native, copying, link, list, request);
    if (result < 0) failed(&call, NULL);
    if (result < 0 || !is_recording()) return result;
    struct known *source = known_at(&call, from, where, name, false);
    struct known *made = known_at(&call, to, there, new_name, true);
    if (source != NULL && made != NULL)
        recorder.provio_copied(source->record, made->record, functions[FUNCTION_H5Ocopy], call.started);
    return result;
}

// ---- links and names of attributes

// A link that leads to a name.
void linked(struct call *call, void *object, const H5VL_loc_params_t *where, const char *target) {
    char path[4096];
    struct file *file = file_of(call, object, where->obj_type);
    if (file == NULL || !place_of(call, object, where, NULL, path, sizeof path)) return;
    struct provio_member link = {.kind = "NamedLink", .path = path, .target = target, .created = 1};
    provio_object *record = recorder.provio_member(file->record, &link);
    recorder.provio_counted(record, functions[call->function], call->started);
    recorder.provio_release(record);
}

// Record that a link, or (with a name) an attribute of the object there, has a new name; NULL: was deleted.
void renamed(struct call *call, void *object, const H5VL_loc_params_t *where, const char *name, const char *other) {
    char path[4096];
    struct file *file = file_of(call, object, where->obj_type);
    if (file == NULL || !place_of(call, object, where, NULL, path, sizeof path)) return;
    if (other == NULL)
        recorder.provio_deleted(file->record, functions[call->function], path, name, call->started);
    else
        recorder.provio_renamed(file->record, functions[call->function], path, name, other, call->started);
}

herr_t record_link_create(H5VL_link_create_args_t *operation, void *object, const H5VL_loc_params_t *where,
                          hid_t creation, hid_t access, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Lcreate_soft);
    herr_t result =
        library->H5VLlink_create(operation, object, where, library->native, creation, access, list, request);
    if (result >= 0 && is_recording() && operation->op_type == H5VL_LINK_CREATE_SOFT)
        linked(&call, object, where, operation->args.soft.target);
    return result;
}

herr_t record_link_move(void *from, const H5VL_loc_params_t *where, void *to, const H5VL_loc_params_t *there,
                        hid_t creation, hid_t access, hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Lmove);
    herr_t result = library->H5VLlink_move(from, where, to, there, library->native, creation, access, list, request);
    if (result < 0 || !is_recording()) return result;
    // If one side is the location of the other (H5L_SAME_LOC), it has no object, or no object type.
    H5VL_loc_params_t source = *where, target = *there;
    if (from == NULL || source.obj_type < H5I_FILE) source.obj_type = there->obj_type;
    if (to == NULL || target.obj_type < H5I_FILE) target.obj_type = where->obj_type;
    char old[4096], new[4096];
    struct file *file = file_of(&call, from == NULL ? to : from, source.obj_type);
    if (file != NULL && place_of(&call, from == NULL ? to : from, &source, NULL, old, sizeof old) &&
        place_of(&call, to == NULL ? from : to, &target, NULL, new, sizeof new))
        recorder.provio_renamed(file->record, functions[FUNCTION_H5Lmove], NULL, old, new, call.started);
    return result;
}

herr_t record_link_specific(void *object, const H5VL_loc_params_t *where, H5VL_link_specific_args_t *operation,
                            hid_t list, void **request) {
    struct library *library = LIBRARY;
    struct call call = call_begin(library, list, FUNCTION_H5Ldelete);
    herr_t result = library->H5VLlink_specific(object, where, library->native, operation, list, request);
    if (result >= 0 && is_recording() && operation->op_type == H5VL_LINK_DELETE)
        renamed(&call, object, where, NULL, NULL);
    return result;
}

herr_t record_attr_specific(void *object, const H5VL_loc_params_t *where, H5VL_attr_specific_args_t *operation,
                            hid_t list, void **request) {
    struct library *library = LIBRARY;
    bool deleting = operation->op_type == H5VL_ATTR_DELETE;
    struct call call = call_begin(library, list, deleting ? FUNCTION_H5Adelete : FUNCTION_H5Arename);
    herr_t result = library->H5VLattr_specific(object, where, library->native, operation, list, request);
    if (result < 0 || !is_recording()) return result;
    if (deleting) renamed(&call, object, where, operation->args.del.name, NULL);
    if (operation->op_type == H5VL_ATTR_RENAME)
        renamed(&call, object, where, operation->args.rename.old_name, operation->args.rename.new_name);
    return result;
}
