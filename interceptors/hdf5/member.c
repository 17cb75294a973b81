// Opened, created and encountered objects. Each object has one record for each opening of its file, under its path
// with all links followed. Another name that leads to it is recorded as a link.
#include "hdf5.h"

static const struct material asked = {0, 0, -1};

static enum kind kind_of(const struct identity *identity, const struct call *call, hid_t hid) {
    static const enum kind kinds[] = {A_GROUP, A_DATASET, A_TYPE};
    if (identity->type >= 0 && identity->type < 3) return kinds[identity->type];
    int type = ASK(call->hdf5, H5Iget_type, hid); // 2: group, 3: datatype, 5: dataset
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
    if (function_of(call->hdf5, OWN_H5Fget_fileno) != NULL) return ASK(call->hdf5, H5Fget_fileno, hid, number) >= 0;
    if (!collective) identify(call->hdf5, hid, NULL, &identity);
    *number = identity.number;
    return identity.known;
}

// A file that the library itself opened, behind an external link.
static struct file *file_behind(const struct call *call, hid_t hid, unsigned long number, unsigned flags) {
    char *room = pool_take(&scratches);
    struct file *file = NULL;
    ssize_t length = room == NULL ? -1 : ASK(call->hdf5, H5Fget_name, hid, room, PATH_ROOM);
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
    return ASK(call->hdf5, H5Pget_fapl_core, access, &increment, &stored) >= 0 && !stored;
}

void opened_file(const struct call *call, hid_t hid, const char *path, unsigned flags, hid_t access, bool created) {
    struct quiet quiet;
    struct library *library = call->hdf5;
    int degree = 0;
    hbool_t collective = false;
    unsigned long number = 0;
    quiet_begin(&quiet, library);
    if (access > 0) ASK(library, H5Pget_fclose_degree, access, &degree);
    if (access > 0) ASK(library, H5Pget_all_coll_metadata_ops, access, &collective);
    bool numbered = file_number(call, hid, collective, &number);
    struct file *file = numbered ? file_numbered(library, number) : NULL;
    unsigned mode = as_open(flags, created) | (in_memory(call, access, created) ? PROVIO_NO_FILE : 0);
    if (file != NULL)
        provio_counted(file->object, function_number(call), told_from(call));
    else
        file = file_begin(call, path, descriptor_behind(call, access), mode, number, numbered);
    if (file == NULL) lost(call, MANY_FILES);
    if (file != NULL && collective) lost(call, ALL_RANKS);
    if (file != NULL) {
        file->strong |= degree == STRONG;
        file->collective |= collective;
        handle_add(library, hid, &file->root);
    }
    quiet_end(&quiet);
}

void same_file(const struct call *call, hid_t hid, hid_t object, bool counted) {
    struct thing *thing = thing_of(call, object);
    struct handle *known = handle_find(call->hdf5, hid);
    if (thing == NULL) return;
    if (known != NULL)
        atomic_fetch_add(&known->references, 1);
    else
        handle_add(call->hdf5, hid, &thing->file->root);
    if (counted) provio_counted(thing->file->object, function_number(call), told_from(call));
}

// ---- objects

static struct file *file_of(const struct call *call, hid_t hid, struct thing *base, const struct identity *identity) {
    if (!identity->known) return base == NULL ? NULL : base->file;
    if (base != NULL && base->file->number == identity->number) return base->file;
    struct file *file = file_numbered(call->hdf5, identity->number);
    if (file == NULL)
        file = file_behind(call, hid, identity->number, base == NULL ? O_RDONLY : base->file->flags & O_ACCMODE);
    return file;
}

// Query the path from the library, starting at the root of the file that contains the object.
static bool path_asked(const struct call *call, hid_t hid, struct file *file, char *room) {
    char *name = pool_take(&scratches);
    bool found = name != NULL && name_asked(call, hid, name);
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

// Find or create the thing of an object that has no known thing yet, from the place and name that opened it.
static struct thing *first_met(const struct call *call, hid_t hid, hid_t place, struct thing *base, struct file *file,
                               const char *name, bool created, const struct identity *identity, char *room) {
    const struct token *token = identity->known ? &identity->token : NULL;
    bool here = name != NULL && base != NULL && base->file == file;
    if (name != NULL && base != NULL && !here) name_follow(call, base, place, name, true, room); // records the links
    bool found = here && name_follow(call, base, place, name, !created, room);
    if (!found && (name != NULL || token == NULL || place == -1 || !created)) found = path_asked(call, hid, file, room);
    if (!found && token == NULL) return NULL;
    struct thing *thing =
        token == NULL && !created ? thing_find(file, kind_of(identity, call, hid), NULL, room, NULL) : NULL;
    if (thing != NULL) return thing;
    thing = thing_new(file, kind_of(identity, call, hid), token, found ? room : NULL, NULL);
    if (thing == NULL) lost(call, LONG_NAMES);
    return thing;
}

// Record a name that leads to an object with another path.
static void other_name(const struct call *call, hid_t place, struct thing *base, const char *name,
                       const struct thing *thing, char *room) {
    if (base == NULL || base->text == NULL || thing->text == NULL) return;
    if (!name_join(room, name[0] == '/' ? "/" : thing_path(base), name) ||
        (base->file == thing->file && strcmp(room, thing_path(thing)) == 0))
        return;
    if (thing_find(base->file, A_LINK, NULL, room, NULL) != NULL) return;
    if (name_follow(call, base, place, name, true, room) && base->file == thing->file &&
        strcmp(room, thing_path(thing)) != 0)
        link_say(call, base->file, room, thing_path(thing), NULL, false); // a hard link
}

struct thing *meet(const struct call *call, hid_t hid, hid_t place, const char *name, const struct material *material,
                   bool created) {
    struct thing *base = place == -1 ? NULL : thing_of(call, place), *thing = NULL;
    struct identity identity = {.type = -1};
    if (base == NULL || !base->file->collective) identify(call->hdf5, hid, NULL, &identity);
    struct file *file = file_of(call, hid, base, &identity);
    char *room = file == NULL ? NULL : pool_take(&scratches);
    if (room == NULL) return NULL;
    if (identity.known) thing = thing_find(file, kind_of(&identity, call, hid), &identity.token, NULL, NULL);
    if (thing != NULL && created) { // it belongs to an object that was deleted there
        atomic_store(&thing->gone, true);
        thing = NULL;
    }
    if (thing != NULL && name != NULL) {
        other_name(call, place, base, name, thing, room);
    } else if (thing == NULL) {
        thing = first_met(call, hid, place, base, file, name, created, &identity, room);
        if (thing != NULL && thing->object == NULL) {
            thing->created = created;
            describe(call, hid, thing, material);
        }
    }
    pool_give(&scratches, room);
    return thing;
}

// Return the known object of that name, if no link on the path can lead elsewhere; this needs no query.
static struct thing *met_before(const struct call *call, hid_t place, const char *name) {
    struct handle *handle = handle_find(call->hdf5, place);
    struct thing *base = handle == NULL ? NULL : handle->thing, *found = NULL;
    if (base == NULL || base->text == NULL || relaxed(base->gone) || relaxed(names_unsure)) return NULL;
    char *room = pool_take(&scratches);
    if (room == NULL) return NULL;
    if (name_join(room, name[0] == '/' ? "/" : thing_path(base), name) && name_plain(base->file, room))
        found = thing_at(base->file, room);
    pool_give(&scratches, room);
    return found;
}

void opened(const struct call *call, hid_t hid, hid_t place, const char *name, const struct material *material,
            bool created) {
    struct quiet quiet;
    struct thing *thing = created || name == NULL ? NULL : met_before(call, place, name);
    bool asking = thing == NULL;
    if (asking) {
        quiet_begin(&quiet, call->hdf5);
        thing = meet(call, hid, place, name, material, created);
    }
    if (thing != NULL) {
        handle_add(call->hdf5, hid, thing);
        provio_counted(thing->object, function_number(call), told_from(call));
    }
    if (asking) quiet_end(&quiet);
}

// A thing without a name gets its first one: announce it now, with the bytes written before.
void named(const struct call *call, hid_t object, hid_t place, const char *name) {
    struct quiet quiet;
    struct thing *thing = thing_of(call, object), *base = thing_of(call, place);
    if (thing == NULL || base == NULL) return;
    char *room = pool_take(&scratches);
    quiet_begin(&quiet, call->hdf5);
    if (room != NULL && name_follow(call, base, place, name, false, room)) {
        if (thing->text != NULL) {
            link_say(call, base->file, room, thing_path(thing), NULL, true);
        } else if (thing_rename(thing, room)) {
            describe(call, object, thing, &asked);
            if (thing->owed > 0) provio_write(thing->object, thing->owed_function, thing->owed, call->started);
        }
        provio_counted(thing->object, function_number(call), told_from(call));
    }
    quiet_end(&quiet);
    if (room != NULL) pool_give(&scratches, room);
}

// ---- attributes, found by the path of their object

// If the object is known, use its path; otherwise the path that its name leads to.
static struct file *owner_named(const struct call *call, hid_t place, struct thing *base, const char *object,
                                char *room) {
    static const enum kind kinds[] = {A_GROUP, A_DATASET, A_TYPE};
    struct identity identity = {.type = -1};
    if (!base->file->collective) identify(call->hdf5, place, object, &identity);
    struct file *file = identity.known ? file_numbered(call->hdf5, identity.number) : base->file;
    struct thing *owner = NULL;
    if (file != NULL && identity.known && identity.type >= 0 && identity.type < 3)
        owner = thing_find(file, kinds[identity.type], &identity.token, NULL, NULL);
    if (owner != NULL && owner->text != NULL) {
        text_put(room, thing_path(owner));
        return file;
    }
    return name_follow(call, base, place, object, true, room) ? base->file : NULL;
}

// Set the file and path of the object that owns an attribute; file NULL: unknown.
void attribute_of(const struct call *call, hid_t place, const char *object, struct file **file, char *room) {
    struct thing *base = thing_of(call, place);
    *file = base == NULL || base->text == NULL ? NULL : base->file;
    if (*file == NULL) return;
    if (object == NULL || strcmp(object, ".") == 0)
        text_put(room, thing_path(base));
    else
        *file = owner_named(call, place, base, object, room);
}

// Query the owner from the library, for an attribute that was found without a name or behind an external link.
static struct file *owner_asked(const struct call *call, hid_t hid, struct thing *base, char *room) {
    struct identity identity = {.type = -1};
    identify(call->hdf5, hid, NULL, &identity);
    struct file *file = file_of(call, hid, base, &identity);
    return file != NULL && path_asked(call, hid, file, room) ? file : NULL;
}

static struct thing *attribute_named(const struct call *call, hid_t hid, struct file *file, const char *object,
                                     const char *name, const struct material *material, bool created) {
    struct thing *thing = created ? NULL : thing_find(file, AN_ATTRIBUTE, NULL, object, name);
    if (thing != NULL) return thing;
    if (created) thing_gone(file, AN_ATTRIBUTE, object, name);
    thing = thing_new(file, AN_ATTRIBUTE, NULL, object, name);
    if (thing == NULL) {
        lost(call, LONG_NAMES);
        return NULL;
    }
    thing->created = created;
    describe(call, hid, thing, material);
    return thing;
}

static struct thing *attribute_met(const struct call *call, hid_t hid, hid_t place, const char *object,
                                   const char *name, const struct material *material, bool created, char *room) {
    struct file *file = NULL;
    struct thing *base = place == -1 ? NULL : thing_of(call, place);
    if (base != NULL) attribute_of(call, place, object, &file, room);
    if (file == NULL && (base == NULL || !base->file->collective)) file = owner_asked(call, hid, base, room);
    if (file == NULL) return NULL;
    char *own = name == NULL ? pool_take(&scratches) : NULL;
    struct thing *thing = NULL;
    ssize_t length = own == NULL ? 0 : ASK(call->hdf5, H5Aget_name, hid, PATH_ROOM, own);
    if (own != NULL && length >= 0 && length < PATH_ROOM) name = own;
    if (name != NULL)
        thing = attribute_named(call, hid, file, room, name, material, created);
    else
        lost(call, LONG_NAMES);
    if (own != NULL) pool_give(&scratches, own);
    return thing;
}

void attribute_opened(const struct call *call, hid_t hid, hid_t place, const char *object, const char *name,
                      const struct material *material, bool created) {
    struct quiet quiet;
    char *room = pool_take(&scratches);
    quiet_begin(&quiet, call->hdf5);
    struct thing *thing = room == NULL ? NULL : attribute_met(call, hid, place, object, name, material, created, room);
    if (thing != NULL) {
        handle_add(call->hdf5, hid, thing);
        provio_counted(thing->object, function_number(call), told_from(call));
    }
    quiet_end(&quiet);
    if (room != NULL) pool_give(&scratches, room);
}

// ---- handles from elsewhere: inherited, or made where this layer is not active

static struct thing *file_met(const struct call *call, hid_t hid) {
    unsigned long number;
    if (!file_number(call, hid, false, &number)) return NULL;
    struct file *file = file_numbered(call->hdf5, number);
    if (file == NULL) file = file_behind(call, hid, number, O_RDONLY);
    return file == NULL ? NULL : &file->root;
}

__attribute__((cold, noinline)) struct thing *thing_met(const struct call *call, hid_t hid) {
    struct quiet quiet;
    struct thing *thing = NULL;
    if (hid <= 0) return NULL;
    quiet_begin(&quiet, call->hdf5);
    int type = ASK(call->hdf5, H5Iget_type, hid);
    bool object = type == 2 || type == 5 || (type == 3 && ASK(call->hdf5, H5Tcommitted, hid) > 0);
    if (type == 1)
        thing = file_met(call, hid);
    else if (object)
        thing = meet(call, hid, -1, NULL, &asked, false);
    else if (type == 6 || type == 7) { // an attribute has one of these numbers, depending on the library's version
        char *room = pool_take(&scratches);
        if (room != NULL) thing = attribute_met(call, hid, -1, NULL, NULL, &asked, false, room);
        if (room != NULL) pool_give(&scratches, room);
    }
    if (thing != NULL) handle_add(call->hdf5, hid, thing);
    quiet_end(&quiet);
    return thing;
}
