// Open files, the objects of files, and the handles of both. Lock-free: an entry stays in its bucket permanently and
// is free again when its key is 0. HDF5 never gives the same handle twice.
#include "hdf5.h"

enum { FILES = 4096, THINGS = 16384 };
static const uint64_t BUSY = UINT64_MAX;

_Atomic bool names_unsure;
static struct file *_Atomic files[FILES];
static _Atomic uint32_t files_end;
static _Atomic uint64_t file_serials;
static struct pool file_pool, thing_pool, handle_pool, middle_texts;
struct middle_text {
    char text[512];
};
static struct thing *_Atomic thing_buckets[THINGS];
struct handle *_Atomic handle_buckets[4096];
_Atomic uint64_t handle_classes[2];

// ---- text of a thing: its path, and the name of an attribute

static char *text_take(size_t size) {
    return size <= 512         ? pool_take(LATER(&middle_texts, struct middle_text))
           : size <= PATH_ROOM ? pool_take(&scratches)
                               : NULL;
}

static void text_give(char *text, size_t size) {
    if (text != NULL) pool_give(size <= 512 ? &middle_texts : &scratches, text);
}

static size_t text_size(const struct thing *thing) {
    return (size_t)thing->path_length + thing->name_length + 2;
}

static bool thing_text(struct thing *thing, const char *path, const char *name) {
    thing->path_length = path == NULL ? 0 : (uint32_t)strlen(path);
    thing->name_length = name == NULL ? 0 : (uint32_t)strlen(name);
    size_t size = text_size(thing);
    thing->text = path == NULL ? NULL : size <= sizeof thing->short_text ? thing->short_text : text_take(size);
    if (thing->text == NULL) return path == NULL;
    memcpy(thing->text, path, thing->path_length + 1);
    memcpy(thing->text + thing->path_length + 1, name == NULL ? "" : name, thing->name_length + 1);
    return true;
}

static void thing_free(struct thing *thing) {
    if (thing->text != NULL && thing->text != thing->short_text) text_give(thing->text, text_size(thing));
    thing->text = NULL;
    atomic_store_explicit(&thing->key, 0, memory_order_release);
}

// ---- things, found by their token if it is known, otherwise by their path

static uint64_t mixed_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

uint64_t mixed(uint64_t hash, const void *bytes, size_t size) {
    for (const unsigned char *at = bytes; size-- > 0; at++) hash = (hash ^ *at) * 0x100000001b3u;
    return hash;
}

static uint64_t key_of(uint64_t start, enum kind kind, const struct token *token, const char *path, const char *name) {
    uint64_t words[2], hash = mixed_word(start, kind);
    if (token != NULL) {
        memcpy(words, token, sizeof words);
        hash = mixed_word(mixed_word(hash, words[0]), words[1]);
    } else {
        hash = mixed(hash, path, strlen(path));
    }
    if (name != NULL) hash = mixed(hash, name, strlen(name));
    hash ^= hash >> 32;
    return hash == 0 || hash == BUSY ? 1 : hash;
}

static struct thing *_Atomic *bucket_of(const struct file *file, enum kind kind, const struct token *token,
                                        const char *path, const char *name) {
    return &thing_buckets[key_of(file->slot, kind, token, path, name) % THINGS];
}

static bool thing_is(const struct thing *thing, const struct file *file, enum kind kind, const struct token *token,
                     const char *path, const char *name) {
    if (thing->file != file || thing->kind != kind || relaxed(thing->gone)) return false;
    if (thing->named != (token != NULL)) return false;
    if (token != NULL ? memcmp(token, &thing->token, sizeof *token) != 0 : strcmp(path, thing_path(thing)) != 0)
        return false;
    return name == NULL || strcmp(name, thing_name(thing)) == 0;
}

struct thing *thing_find(struct file *file, enum kind kind, const struct token *token, const char *path,
                         const char *name) {
    uint64_t key = key_of(file->serial, kind, token, path, name);
    struct thing *thing = atomic_load(bucket_of(file, kind, token, path, name));
    for (; thing != NULL; thing = thing->next)
        if (atomic_load_explicit(&thing->key, memory_order_acquire) == key &&
            thing_is(thing, file, kind, token, path, name))
            return thing;
    return NULL;
}

static struct thing *thing_take(struct thing *_Atomic *bucket) {
    for (struct thing *thing = atomic_load(bucket); thing != NULL; thing = thing->next) {
        uint64_t none = 0;
        if (relaxed(thing->key) == 0 && atomic_compare_exchange_strong(&thing->key, &none, BUSY)) return thing;
    }
    struct thing *thing = pool_take(LATER(&thing_pool, struct thing));
    if (thing == NULL) return NULL;
    atomic_store(&thing->key, BUSY);
    thing->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &thing->next, thing)) continue;
    return thing;
}

// Return the number of the path's list in its file; with `marking`, also mark all ancestors of the path.
static unsigned list_of(struct file *file, const char *path, bool marking) {
    uint64_t hash = 1;
    for (size_t i = 0; path[i] != '\0'; i++) {
        if (marking && path[i] == '/' && i > 0)
            atomic_fetch_or(&file->folders[hash % SPREAD / 64], (uint64_t)1 << hash % 64);
        hash = mixed(hash, path + i, 1);
    }
    return hash % SPREAD;
}

static void thing_listed(struct file *file, struct thing *thing) {
    unsigned list = thing->text == NULL ? SPREAD : list_of(file, thing->text, true);
    thing->sibling = atomic_load(&file->things[list]);
    while (!atomic_compare_exchange_weak(&file->things[list], &thing->sibling, thing)) continue;
}

struct thing *thing_new(struct file *file, enum kind kind, const struct token *token, const char *path,
                        const char *name) {
    struct thing *thing = thing_take(bucket_of(file, kind, token, path, name));
    if (thing == NULL) return NULL;
    char *start = (char *)thing + offsetof(struct thing, sibling);
    memset(start, 0, sizeof *thing - offsetof(struct thing, sibling));
    thing->file = file;
    thing->kind = kind;
    thing->named = token != NULL;
    if (token != NULL) thing->token = *token;
    if (!thing_text(thing, path, name)) {
        atomic_store(&thing->key, 0);
        return NULL;
    }
    thing_listed(file, thing);
    atomic_store_explicit(&thing->key, key_of(file->serial, kind, token, path, name), memory_order_release);
    return thing;
}

struct thing *thing_at(struct file *file, const char *path) {
    size_t length = strlen(path);
    for (struct thing *thing = atomic_load(&file->things[list_of(file, path, false)]); thing != NULL;
         thing = thing->sibling)
        if (thing->path_length == length && thing->text != NULL && !relaxed(thing->gone) && thing->kind != A_LINK &&
            thing->kind != AN_ATTRIBUTE && memcmp(thing->text, path, length) == 0)
            return thing;
    return NULL;
}

// Give a nameless thing its first name. It stays in the list of nameless things.
bool thing_rename(struct thing *thing, const char *path) {
    return thing->text == NULL && thing_text(thing, path, NULL);
}

// Mark an attribute or a former link as gone: no name leads to it any more.
void thing_gone(struct file *file, enum kind kind, const char *path, const char *name) {
    struct thing *thing = thing_find(file, kind, NULL, path, name);
    if (thing != NULL) atomic_store(&thing->gone, true);
}

static void list_gone(struct file *file, unsigned list, const char *path, size_t length) {
    for (struct thing *thing = atomic_load(&file->things[list]); thing != NULL; thing = thing->sibling) {
        if (thing->text == NULL || thing->path_length < length || relaxed(thing->gone)) continue;
        if ((thing->text[length] == '\0' || thing->text[length] == '/') && memcmp(thing->text, path, length) == 0)
            atomic_store(&thing->gone, true);
    }
}

// Mark an object and everything below it as gone. If nothing is below it, only the list of its own path is searched.
void things_gone(struct file *file, const char *path) {
    size_t length = strlen(path);
    unsigned list = list_of(file, path, false);
    bool below = relaxed(file->folders[list / 64]) >> list % 64 & 1;
    for (unsigned i = below ? 0 : list; i < (below ? SPREAD : list + 1); i++) list_gone(file, i, path, length);
    list_gone(file, SPREAD, path, length);
    names_changed(file);
}

// ---- files

char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = text_take(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

static struct file *file_take(uint32_t *slot) {
    for (*slot = 0; *slot < FILES; ++*slot) {
        struct file *file = atomic_load(&files[*slot]), *none = NULL;
        int unused = 0;
        if (file == NULL && (file = pool_take(LATER(&file_pool, struct file))) != NULL) {
            atomic_store(&file->used, 0);
            if (!atomic_compare_exchange_strong(&files[*slot], &none, file)) pool_give(&file_pool, file), file = none;
        }
        if (file == NULL) return NULL;
        if (atomic_compare_exchange_strong(&file->used, &unused, 1)) return file;
    }
    return NULL;
}

struct file *file_new(struct library *library, unsigned long number, bool numbered) {
    uint32_t slot, end = relaxed(files_end);
    struct file *file = file_take(&slot);
    if (file == NULL) return NULL;
    memset((char *)file + offsetof(struct file, slot), 0, sizeof *file - offsetof(struct file, slot));
    file->slot = slot;
    file->serial = atomic_fetch_add(&file_serials, 1) + 1;
    file->hdf5 = library;
    file->number = number;
    file->root.file = file;
    file->root.kind = A_FILE;
    thing_text(&file->root, "/", NULL);
    atomic_store(&file->root.key, file->serial);
    while (end < slot + 1 && !atomic_compare_exchange_weak(&files_end, &end, slot + 1)) continue;
    atomic_store_explicit(&file->used, numbered ? 3 : 2, memory_order_release);
    return file;
}

struct file *file_numbered(struct library *library, unsigned long number) {
    for (uint32_t i = 0, end = relaxed(files_end); i < end; i++) {
        struct file *file = atomic_load(&files[i]);
        if (file != NULL && atomic_load(&file->used) == 3 && file->hdf5 == library && file->number == number)
            return file;
    }
    return NULL;
}

void file_close(struct file *file) {
    int used = relaxed(file->used);
    if (used < 2 || !atomic_compare_exchange_strong(&file->used, &used, 1)) return;
    provio_file_closed(file->object, provio_now());
    for (unsigned i = 0; i <= SPREAD; i++)
        for (struct thing *thing = atomic_load(&file->things[i]), *next; thing != NULL; thing = next) {
            next = thing->sibling;
            provio_release(thing->object);
            thing_free(thing);
        }
    provio_release(file->object);
    thing_free(&file->root);
    atomic_store(&file->parent, NULL);
    if (file->mount != NULL) text_give(file->mount, strlen(file->mount) + 1);
    if (file->path != NULL) text_give(file->path, strlen(file->path) + 1);
    for (uint32_t i = 0, end = relaxed(files_end); i < end; i++) { // mounted files are unmounted with it
        struct file *child = atomic_load(&files[i]), *gone = file;
        if (child == NULL || child == file || relaxed(child->parent) != file) continue;
        if (!atomic_compare_exchange_strong(&child->parent, &gone, NULL)) continue;
        atomic_fetch_sub(&child->mounts, 1);
        file_closed_if_unused(child);
    }
    atomic_store_explicit(&file->used, 0, memory_order_release);
}

void file_closed_if_unused(struct file *file) {
    if (relaxed(file->mounts) > 0) return;
    if (relaxed(file->handles) <= 0 || (file->strong && relaxed(file->file_handles) <= 0)) file_close(file);
}

void files_close(struct library *library) {
    for (uint32_t i = 0, end = relaxed(files_end); i < end; i++) {
        struct file *file = atomic_load(&files[i]);
        if (file != NULL && relaxed(file->used) >= 2 && file->hdf5 == library) file_close(file);
    }
}

// ---- handles

static struct handle *handle_take(struct handle *_Atomic *bucket) {
    for (struct handle *handle = atomic_load(bucket); handle != NULL; handle = handle->next) {
        hid_t old = relaxed(handle->hid);
        bool stale = old == 0 || (old != -1 && handle->key != relaxed(handle->thing->key)); // its file was closed
        if (stale && atomic_compare_exchange_strong(&handle->hid, &old, -1)) return handle;
    }
    struct handle *handle = pool_take(LATER(&handle_pool, struct handle));
    if (handle == NULL) return NULL;
    atomic_store(&handle->hid, -1);
    handle->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &handle->next, handle)) continue;
    return handle;
}

struct handle *handle_add(struct library *library, hid_t hid, struct thing *thing) {
    struct handle *handle = handle_take(&handle_buckets[handle_bucket(hid)]);
    unsigned class = handle_class(hid);
    if (handle == NULL) return NULL;
    atomic_fetch_or(&handle_classes[class / 64], (uint64_t)1 << class % 64);
    handle->hdf5 = library;
    handle->thing = thing;
    handle->key = relaxed(thing->key);
    atomic_store(&handle->references, 1);
    atomic_fetch_add(&thing->file->handles, 1);
    if (thing->kind == A_FILE) atomic_fetch_add(&thing->file->file_handles, 1);
    atomic_store_explicit(&handle->hid, hid, memory_order_release);
    return handle;
}

// Drop one reference. The last one removes the handle, and may mean that the file was closed.
void handle_drop(struct handle *handle) {
    struct file *file = handle->thing->file;
    if (atomic_fetch_sub(&handle->references, 1) > 1) return;
    bool of_file = handle->thing->kind == A_FILE;
    atomic_store_explicit(&handle->hid, 0, memory_order_release);
    atomic_fetch_sub(&file->handles, 1);
    if (of_file) atomic_fetch_sub(&file->file_handles, 1);
    file_closed_if_unused(file);
}
