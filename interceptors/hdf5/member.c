// Opened, created and encountered objects. Each object has one record for each opening of its file, under its path
// with all links followed. Another name that leads to it is recorded as a link.
#include "hdf5.h"

static const struct material lookups = {0, 0, -1};

static enum kind kind_of(const struct identity *identity, const struct call *call, hid_t hid) {
    static const enum kind kinds[] = {A_GROUP, A_DATASET, A_TYPE};
    if (identity->type >= 0 && identity->type < 3) return kinds[identity->type];
    int type = QUERY(call->hdf5, H5Iget_type, hid); // 2: group, 3: datatype, 5: dataset
    return type == 5 ? A_DATASET : type == 3 ? A_TYPE : A_GROUP;
}

// ---- files

static struct file *file_begin(const struct call *call, const char *path, int fd, unsigned flags, unsigned long number,
                               bool numbered) {
    struct file *file = file_new(call->hdf5, number, numbered);
    if (file == NULL) return NULL;
    file->flags = flags & ~(unsigned)(O_CREAT | O_EXCL | O_TRUNC);
    file->path = copy_text(path);
    file->object = fd >= 0 ? provio_file_of(function_number(call), fd, flags, call->started)
                           : provio_file(function_number(call), path, flags, call->started);
    return file;
}

static bool file_number(const struct call *call, hid_t hid, bool collective, unsigned long *number) {
    struct identity identity = {.known = false};
    if (function_of(call->hdf5, OWN_H5Fget_fileno) != NULL) return QUERY(call->hdf5, H5Fget_fileno, hid, number) >= 0;
    if (!collective) identify(call->hdf5, hid, NULL, &identity);
    *number = identity.number;
    return identity.known;
}

// A file that the library itself opened, behind an external link.
static struct file *file_behind(const struct call *call, hid_t hid, unsigned long number, unsigned flags) {
    char *room = pool_take(&scratches);
    struct file *file = NULL;
    ssize_t length = room == NULL ? -1 : QUERY(call->hdf5, H5Fget_name, hid, room, PATH_ROOM);
    if (length > 0 && length < PATH_ROOM) file = file_begin(call, room, -1, flags, number, true);
    if (room != NULL) pool_give(&scratches, room);
    return file;
}

enum { STRONG = 3, TRUNCATE = 2, EXCLUSIVE = 4, READ_WRITE = 1 };

static unsigned as_open(unsigned flags, bool created) {
    if (created) return O_RDWR | O_CREAT | (flags & TRUNCATE ? O_TRUNC : O_EXCL);
    return flags & READ_WRITE ? O_RDWR : O_RDONLY;
}

// True for a file in memory only. A file of the same name on disk, if there is one, is unrelated.
static bool in_memory(const struct call *call, hid_t access, bool created) {
    size_t increment;
    hbool_t stored = true;
    if (access <= 0 || !created) return false;
    return QUERY(call->hdf5, H5Pget_fapl_core, access, &increment, &stored) >= 0 && !stored;
}

void opened_file(const struct call *call, hid_t hid, const char *path, unsigned flags, hid_t access, bool created) {
    struct silence silence;
    struct library *library = call->hdf5;
    int degree = 0;
    hbool_t collective = false;
    unsigned long number = 0;
    silence_begin(&silence, library);
    if (access > 0) QUERY(library, H5Pget_fclose_degree, access, &degree);
    if (access > 0) QUERY(library, H5Pget_all_coll_metadata_ops, access, &collective);
    bool numbered = file_number(call, hid, collective, &number);
    struct file *file = numbered ? file_numbered(library, number) : NULL;
    unsigned mode = as_open(flags, created) | (in_memory(call, access, created) ? PROVIO_NO_FILE : 0);
    if (file != NULL)
        provio_counted(file->object, function_number(call), recorded_start(call));
    else
        file = file_begin(call, path, descriptor_behind(call, access), mode, number, numbered);
    if (file == NULL) unrecorded(call, MANY_FILES);
    if (file != NULL && collective) unrecorded(call, ALL_RANKS);
    if (file != NULL) {
        file->strong |= degree == STRONG;
        file->collective |= collective;
        handle_add(library, hid, &file->root);
    }
    silence_end(&silence);
}

void same_file(const struct call *call, hid_t hid, hid_t object, bool counted) {
    struct h5object *h5object = h5object_of(call, object);
    struct handle *known = handle_find(call->hdf5, hid);
    if (h5object == NULL) return;
    if (known != NULL)
        atomic_fetch_add(&known->references, 1);
    else
        handle_add(call->hdf5, hid, &h5object->file->root);
    if (counted) provio_counted(h5object->file->object, function_number(call), recorded_start(call));
}

// ---- objects

static struct file *file_of(const struct call *call, hid_t hid, struct h5object *base,
                            const struct identity *identity) {
    if (!identity->known) return base == NULL ? NULL : base->file;
    if (base != NULL && base->file->number == identity->number) return base->file;
    struct file *file = file_numbered(call->hdf5, identity->number);
    if (file == NULL)
        file = file_behind(call, hid, identity->number, base == NULL ? O_RDONLY : base->file->flags & O_ACCMODE);
    return file;
}

// Query the path from the library, starting at the root of the file that contains the object.
static bool path_queried(const struct call *call, hid_t hid, struct file *file, char *room) {
    char *name = pool_take(&scratches);
    bool found = name != NULL && name_queried(call, hid, name);
    if (found) {
        const char *mount = relaxed(file->parent) == NULL ? NULL : file->mount, *own = name;
        size_t length = mount == NULL ? 0 : strlen(mount);
        bool mounted = length > 1 && strncmp(name, mount, length) == 0;
        if (mounted) own = name[length] == '\0' ? "/" : name + length;
        found = mounted ? name_join(room, "/", own) : name_follow(call, &file->root, hid, own, true, room);
    }
    if (name != NULL) pool_give(&scratches, name);
    return found;
}

// Find or create the record of an object that is not known yet, from the place and name that opened it.
static struct h5object *first_encounter(const struct call *call, hid_t hid, hid_t place, struct h5object *base,
                                        struct file *file, const char *name, bool created,
                                        const struct identity *identity, char *room) {
    const struct token *token = identity->known ? &identity->token : NULL;
    bool counted_here = name != NULL && base != NULL && base->file == file;
    if (name != NULL && base != NULL && !counted_here)
        name_follow(call, base, place, name, true, room); // records the links
    bool found = counted_here && name_follow(call, base, place, name, !created, room);
    if (!found && (name != NULL || token == NULL || place == -1 || !created))
        found = path_queried(call, hid, file, room);
    if (!found && token == NULL) return NULL;
    struct h5object *h5object =
        token == NULL && !created ? h5object_find(file, kind_of(identity, call, hid), NULL, room, NULL) : NULL;
    if (h5object != NULL) return h5object;
    h5object = h5object_new(file, kind_of(identity, call, hid), token, found ? room : NULL, NULL);
    if (h5object == NULL) unrecorded(call, LONG_NAMES);
    return h5object;
}

// Record a name that leads to an object with another path.
static void other_name(const struct call *call, hid_t place, struct h5object *base, const char *name,
                       const struct h5object *h5object, char *room) {
    if (base == NULL || base->text == NULL || h5object->text == NULL) return;
    if (!name_join(room, name[0] == '/' ? "/" : h5object_path(base), name) ||
        (base->file == h5object->file && strcmp(room, h5object_path(h5object)) == 0))
        return;
    if (h5object_find(base->file, A_LINK, NULL, room, NULL) != NULL) return;
    if (name_follow(call, base, place, name, true, room) && base->file == h5object->file &&
        strcmp(room, h5object_path(h5object)) != 0)
        link_record(call, base->file, room, h5object_path(h5object), NULL, false); // a hard link
}

struct h5object *encounter(const struct call *call, hid_t hid, hid_t place, const char *name,
                           const struct material *material, bool created) {
    struct h5object *base = place == -1 ? NULL : h5object_of(call, place), *h5object = NULL;
    struct identity identity = {.type = -1};
    if (base == NULL || !base->file->collective) identify(call->hdf5, hid, NULL, &identity);
    struct file *file = file_of(call, hid, base, &identity);
    char *room = file == NULL ? NULL : pool_take(&scratches);
    if (room == NULL) return NULL;
    if (identity.known) h5object = h5object_find(file, kind_of(&identity, call, hid), &identity.token, NULL, NULL);
    if (h5object != NULL && created) { // it belongs to an object that was deleted there
        atomic_store(&h5object->removed, true);
        h5object = NULL;
    }
    if (h5object != NULL && name != NULL) {
        other_name(call, place, base, name, h5object, room);
    } else if (h5object == NULL) {
        h5object = first_encounter(call, hid, place, base, file, name, created, &identity, room);
        if (h5object != NULL && h5object->object == NULL) {
            h5object->created = created;
            describe(call, hid, h5object, material);
        }
    }
    pool_give(&scratches, room);
    return h5object;
}

// Return the known object of that name, if no link on the path can lead elsewhere; this needs no query.
static struct h5object *encountered_before(const struct call *call, hid_t place, const char *name) {
    struct handle *handle = handle_find(call->hdf5, place);
    struct h5object *base = handle == NULL ? NULL : handle->h5object, *found = NULL;
    if (base == NULL || base->text == NULL || relaxed(base->removed) || relaxed(names_unsure)) return NULL;
    char *room = pool_take(&scratches);
    if (room == NULL) return NULL;
    if (name_join(room, name[0] == '/' ? "/" : h5object_path(base), name) && name_plain(base->file, room))
        found = h5object_at(base->file, room);
    pool_give(&scratches, room);
    return found;
}

void opened(const struct call *call, hid_t hid, hid_t place, const char *name, const struct material *material,
            bool created) {
    struct silence silence;
    struct h5object *h5object = created || name == NULL ? NULL : encountered_before(call, place, name);
    bool querying = h5object == NULL;
    if (querying) {
        silence_begin(&silence, call->hdf5);
        h5object = encounter(call, hid, place, name, material, created);
    }
    if (h5object != NULL) {
        handle_add(call->hdf5, hid, h5object);
        provio_counted(h5object->object, function_number(call), recorded_start(call));
    }
    if (querying) silence_end(&silence);
}

// An object without a name gets its first one: record it now, with the bytes written before.
void named(const struct call *call, hid_t object, hid_t place, const char *name) {
    struct silence silence;
    struct h5object *h5object = h5object_of(call, object), *base = h5object_of(call, place);
    if (h5object == NULL || base == NULL) return;
    char *room = pool_take(&scratches);
    silence_begin(&silence, call->hdf5);
    if (room != NULL && name_follow(call, base, place, name, false, room)) {
        if (h5object->text != NULL) {
            link_record(call, base->file, room, h5object_path(h5object), NULL, true);
        } else if (h5object_rename(h5object, room)) {
            describe(call, object, h5object, &lookups);
            if (h5object->unrecorded_bytes > 0)
                provio_write(h5object->object, h5object->unrecorded_function, h5object->unrecorded_bytes,
                             call->started);
        }
        provio_counted(h5object->object, function_number(call), recorded_start(call));
    }
    silence_end(&silence);
    if (room != NULL) pool_give(&scratches, room);
}

// ---- attributes, found by the path of their object

// If the object is known, use its path; otherwise the path that its name leads to.
static struct file *owner_named(const struct call *call, hid_t place, struct h5object *base, const char *object,
                                char *room) {
    static const enum kind kinds[] = {A_GROUP, A_DATASET, A_TYPE};
    struct identity identity = {.type = -1};
    if (!base->file->collective) identify(call->hdf5, place, object, &identity);
    struct file *file = identity.known ? file_numbered(call->hdf5, identity.number) : base->file;
    struct h5object *owner = NULL;
    if (file != NULL && identity.known && identity.type >= 0 && identity.type < 3)
        owner = h5object_find(file, kinds[identity.type], &identity.token, NULL, NULL);
    if (owner != NULL && owner->text != NULL) {
        text_put(room, h5object_path(owner));
        return file;
    }
    return name_follow(call, base, place, object, true, room) ? base->file : NULL;
}

// Set the file and path of the object that owns an attribute; file NULL: unknown.
void attribute_of(const struct call *call, hid_t place, const char *object, struct file **file, char *room) {
    struct h5object *base = h5object_of(call, place);
    *file = base == NULL || base->text == NULL ? NULL : base->file;
    if (*file == NULL) return;
    if (object == NULL || strcmp(object, ".") == 0)
        text_put(room, h5object_path(base));
    else
        *file = owner_named(call, place, base, object, room);
}

// Query the owner from the library, for an attribute that was found without a name or behind an external link.
static struct file *owner_queried(const struct call *call, hid_t hid, struct h5object *base, char *room) {
    struct identity identity = {.type = -1};
    identify(call->hdf5, hid, NULL, &identity);
    struct file *file = file_of(call, hid, base, &identity);
    return file != NULL && path_queried(call, hid, file, room) ? file : NULL;
}

static struct h5object *attribute_named(const struct call *call, hid_t hid, struct file *file, const char *object,
                                        const char *name, const struct material *material, bool created) {
    struct h5object *h5object = created ? NULL : h5object_find(file, AN_ATTRIBUTE, NULL, object, name);
    if (h5object != NULL) return h5object;
    if (created) h5object_removed(file, AN_ATTRIBUTE, object, name);
    h5object = h5object_new(file, AN_ATTRIBUTE, NULL, object, name);
    if (h5object == NULL) {
        unrecorded(call, LONG_NAMES);
        return NULL;
    }
    h5object->created = created;
    describe(call, hid, h5object, material);
    return h5object;
}

static struct h5object *attribute_encountered(const struct call *call, hid_t hid, hid_t place, const char *object,
                                              const char *name, const struct material *material, bool created,
                                              char *room) {
    struct file *file = NULL;
    struct h5object *base = place == -1 ? NULL : h5object_of(call, place);
    if (base != NULL) attribute_of(call, place, object, &file, room);
    if (file == NULL && (base == NULL || !base->file->collective)) file = owner_queried(call, hid, base, room);
    if (file == NULL) return NULL;
    char *own = name == NULL ? pool_take(&scratches) : NULL;
    struct h5object *h5object = NULL;
    ssize_t length = own == NULL ? 0 : QUERY(call->hdf5, H5Aget_name, hid, PATH_ROOM, own);
    if (own != NULL && length >= 0 && length < PATH_ROOM) name = own;
    if (name != NULL)
        h5object = attribute_named(call, hid, file, room, name, material, created);
    else
        unrecorded(call, LONG_NAMES);
    if (own != NULL) pool_give(&scratches, own);
    return h5object;
}

void attribute_opened(const struct call *call, hid_t hid, hid_t place, const char *object, const char *name,
                      const struct material *material, bool created) {
    struct silence silence;
    char *room = pool_take(&scratches);
    silence_begin(&silence, call->hdf5);
    struct h5object *h5object =
        room == NULL ? NULL : attribute_encountered(call, hid, place, object, name, material, created, room);
    if (h5object != NULL) {
        handle_add(call->hdf5, hid, h5object);
        provio_counted(h5object->object, function_number(call), recorded_start(call));
    }
    silence_end(&silence);
    if (room != NULL) pool_give(&scratches, room);
}

// ---- handles from elsewhere: inherited, or made where this layer is not active

static struct h5object *file_encountered(const struct call *call, hid_t hid) {
    unsigned long number;
    if (!file_number(call, hid, false, &number)) return NULL;
    struct file *file = file_numbered(call->hdf5, number);
    if (file == NULL) file = file_behind(call, hid, number, O_RDONLY);
    return file == NULL ? NULL : &file->root;
}

__attribute__((cold, noinline)) struct h5object *h5object_encountered(const struct call *call, hid_t hid) {
    struct silence silence;
    struct h5object *h5object = NULL;
    if (hid <= 0) return NULL;
    silence_begin(&silence, call->hdf5);
    int type = QUERY(call->hdf5, H5Iget_type, hid);
    bool object = type == 2 || type == 5 || (type == 3 && QUERY(call->hdf5, H5Tcommitted, hid) > 0);
    if (type == 1)
        h5object = file_encountered(call, hid);
    else if (object)
        h5object = encounter(call, hid, -1, NULL, &lookups, false);
    else if (type == 6 || type == 7) { // an attribute has one of these numbers, depending on the library's version
        char *room = pool_take(&scratches);
        if (room != NULL) h5object = attribute_encountered(call, hid, -1, NULL, NULL, &lookups, false, room);
        if (room != NULL) pool_give(&scratches, room);
    }
    if (h5object != NULL) handle_add(call->hdf5, hid, h5object);
    silence_end(&silence);
    return h5object;
}
