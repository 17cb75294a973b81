// Resolves names of objects inside their file. Each soft link on the path is followed, and recorded once.
#include "hdf5.h"

enum { FOLLOWED = 16 }; // most links in one name; the library has the same limit

// Join a folder and a name to a path, without `.` and empty parts.
bool name_join(char *room, const char *folder, const char *name) {
    struct text text = {room, room + PATH_ROOM - 1};
    for (const char *from = name[0] == '/' ? name : folder; from != NULL; from = from == name ? NULL : name) {
        for (const char *at = from; *at != '\0';) {
            size_t length = (size_t)(strchrnul(at, '/') - at);
            if (length > 0 && !(length == 1 && *at == '.')) {
                TEXT(&text, "/");
                text_bytes(&text, at, length);
            }
            at += length + (at[length] == '/');
        }
    }
    if (text.at == room) TEXT(&text, "/");
    *text.at = '\0';
    return text.at < text.end;
}

void name_parent(char *path) {
    char *slash = strrchr(path, '/');
    if (slash != NULL) slash[slash == path ? 1 : 0] = '\0';
}

bool name_queried(const struct call *call, hid_t hid, char *room) {
    ssize_t length = QUERY(call->hdf5, H5Iget_name, hid, room, PATH_ROOM);
    return length > 0 && length < PATH_ROOM;
}

static enum link link_kind(const struct call *call, hid_t place, const char *path, char *room) {
    struct library *library = call->hdf5;
    struct {
        int type;
        char room[124];
    } found;
    herr_t result = function_of(library, OWN_H5Lget_info2) != NULL
                        ? QUERY(library, H5Lget_info2, place, path, &found, 0)
                        : QUERY(library, H5Lget_info, place, path, &found, 0);
    if (result < 0) return NO_LINK;
    if (found.type != SOFT && found.type != EXTERNAL) return found.type == HARD ? HARD : NO_LINK;
    memset(room, 0, PATH_ROOM);
    if (QUERY(library, H5Lget_val, place, path, room, PATH_ROOM - 1, 0) < 0) return NO_LINK;
    return (enum link)found.type;
}

void link_record(const struct call *call, struct file *file, const char *path, const char *target,
                 const char *target_file, bool created) {
    (void)call;
    names_changed(file);
    if (created)
        h5object_removed(file, A_LINK, path, NULL);
    else if (h5object_find(file, A_LINK, NULL, path, NULL) != NULL)
        return;
    struct h5object *h5object = h5object_new(file, A_LINK, NULL, path, NULL);
    struct provio_member member = {
        .kind = "NamedLink", .path = path, .target = target, .target_file = target_file, .created = created};
    if (h5object != NULL) h5object->object = provio_member(file->object, &member);
}

// ---- siblings: a folder without links is checked once, not at each opening of an object in it

enum { FEW = 8, LINKS_AS_ONE = 16 }; // iterating over 16 links costs as much as one lookup

static herr_t is_not_hard_link(hid_t group, const char *name, const int *type, void *data) {
    (void)group, (void)name, (void)data;
    return *type == HARD ? 0 : 1;
}

static bool has_only_hard_links(const struct call *call, hid_t place, const char *folder, uint64_t most) {
    struct {
        int storage;
        hsize_t links;
        char room[64];
    } found;
    enum { BY_NAME = 0, NATIVE = 2 };
    struct library *library = call->hdf5;
    if (QUERY(library, H5Gget_info_by_name, place, folder, &found, 0) < 0 || found.links > most) return false;
    const void *visit = (const void *)is_not_hard_link;
    herr_t result = function_of(library, OWN_H5Literate_by_name2) != NULL
                        ? QUERY(library, H5Literate_by_name2, place, folder, BY_NAME, NATIVE, NULL, visit, NULL, 0)
                        : QUERY(library, H5Literate_by_name, place, folder, BY_NAME, NATIVE, NULL, visit, NULL, 0);
    return result == 0;
}

// Return whether the part of the path before `end` contains no links. The folder is iterated only after the lookups
// in it have cost as much as the iteration.
static bool plain_folder(const struct call *call, struct file *file, hid_t place, char *path, size_t end) {
    uint64_t folder = hash_add(1, path, end) | 1;
    if (relaxed(file->plain) == folder) return true;
    if (atomic_exchange(&file->lookups_folder, folder) != folder) atomic_store(&file->lookups, 0);
    uint32_t lookups = atomic_fetch_add(&file->lookups, 1) + 1;
    if (lookups < FEW || (lookups & (lookups - 1)) != 0) return false;
    char kept = path[end];
    path[end] = '\0';
    bool plain = has_only_hard_links(call, place, end == 0 ? "/" : path, (uint64_t)LINKS_AS_ONE * lookups);
    path[end] = kept;
    if (plain) atomic_store(&file->plain, folder);
    return plain;
}

// Three buffers for one walk.
struct rooms {
    char *target, *rest, *resolved;
};

static bool rooms_take(struct rooms *rooms) {
    *rooms = (struct rooms){pool_take(&scratches), pool_take(&scratches), pool_take(&scratches)};
    return rooms->target != NULL && rooms->rest != NULL && rooms->resolved != NULL;
}

static void rooms_give(struct rooms *rooms) {
    if (rooms->target != NULL) pool_give(&scratches, rooms->target);
    if (rooms->rest != NULL) pool_give(&scratches, rooms->rest);
    if (rooms->resolved != NULL) pool_give(&scratches, rooms->resolved);
}

// Replace the link, the part of the path from `at` to `end`, by its target.
static void soft_link(const struct call *call, struct file *file, char *path, size_t at, size_t end, char next,
                      struct rooms *rooms) {
    text_put(rooms->rest, next == '\0' ? "" : path + end + 1);
    path[at] = '\0';
    name_join(rooms->resolved, path, rooms->target);
    path[at] = '/';
    link_record(call, file, path, rooms->resolved, NULL, false);
    if (rooms->rest[0] == '\0')
        text_put(path, rooms->resolved);
    else
        name_join(path, rooms->resolved, rooms->rest);
}

static uint64_t folder_of(const char *path, size_t *end) {
    const char *slash = strrchr(path, '/');
    *end = slash == NULL ? 0 : (size_t)(slash - path);
    return hash_add(1, path, *end) | 1;
}

// Follow the links of a path. Return false if an external link is on the path. Most objects are opened next to their
// siblings, so the last folder is remembered and skipped.
static bool walk(const struct call *call, struct file *file, hid_t place, char *path, size_t at, bool last,
                 struct rooms *rooms) {
    size_t above;
    if (folder_of(path, &above) == relaxed(file->folder) && above > at) at = above;
    for (int followed = 0; path[at] != '\0' && path[at + 1] != '\0' && followed < FOLLOWED;) {
        size_t end = (size_t)(strchrnul(path + at + 1, '/') - path);
        char next = path[end];
        if (next == '\0' && (!last || plain_folder(call, file, place, path, at))) break;
        path[end] = '\0';
        enum link kind = link_kind(call, place, path, rooms->target);
        if (kind == SOFT) {
            soft_link(call, file, path, at, end, next, rooms);
            at = 0;
            followed++;
            continue;
        }
        if (kind == EXTERNAL) { // the link's value: flags, file, object
            const char *other = rooms->target + 1;
            link_record(call, file, path, other + strlen(other) + 1, other, false);
            return false;
        }
        path[end] = next;
        at = end;
        if (kind == NO_LINK) return true;
    }
    atomic_store(&file->folder, folder_of(path, &above));
    return true;
}

// Return whether the path is known to be free of links, so that an object with this path has no other one.
bool name_plain(struct file *file, const char *path) {
    size_t end;
    uint64_t known = relaxed(file->folder);
    return known != 0 && (folder_of(path, &end) == known || (hash_add(1, path, strlen(path)) | 1) == known);
}

bool name_follow(const struct call *call, struct h5object *base, hid_t place, const char *name, bool last, char *room) {
    struct rooms rooms;
    if (base == NULL || base->text == NULL) return false;
    size_t at = name[0] == '/' ? 0 : base->path_length;
    if (at == 1) at = 0; // the root
    bool done = rooms_take(&rooms);
    if (done && name[0] != '/' && relaxed(base->removed)) // the base was moved
        done = name_queried(call, place, rooms.rest) && name_join(room, rooms.rest, name), at = 0;
    else if (done)
        done = name_join(room, h5object_path(base), name);
    if (done && !base->file->collective) done = walk(call, base->file, place, room, at, last, &rooms);
    rooms_give(&rooms);
    return done;
}
