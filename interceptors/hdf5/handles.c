// Open files, the objects of files, and the handles of both. Lock-free: an entry stays in its bucket permanently and
// is free again when its key is 0. HDF5 never gives the same handle twice.
#include "hdf5.h"

enum { FILES = 4096, H5OBJECTS = 16384 };
static const uint64_t BUSY = UINT64_MAX;

_Atomic bool names_unsure;
static struct file *_Atomic files[FILES];
static _Atomic uint32_t files_end;
static _Atomic uint64_t file_serials;
static struct pool file_pool, h5object_pool, handle_pool, middle_texts;
struct middle_text {
    char text[512];
};
static struct h5object *_Atomic h5object_buckets[H5OBJECTS];
struct handle *_Atomic handle_buckets[4096];
_Atomic uint64_t handle_classes[2];

// ---- text of an object: its path, and the name of an attribute

static char *text_take(size_t size) {
    return size <= 512         ? pool_take(LATER(&middle_texts, struct middle_text))
           : size <= PATH_ROOM ? pool_take(&scratches)
                               : NULL;
}

static void text_give(char *text, size_t size) {
    if (text != NULL) pool_give(size <= 512 ? &middle_texts : &scratches, text);
}

static size_t text_size(const struct h5object *h5object) {
    return (size_t)h5object->path_length + h5object->name_length + 2;
}

static bool h5object_text(struct h5object *h5object, const char *path, const char *name) {
    h5object->path_length = path == NULL ? 0 : (uint32_t)strlen(path);
    h5object->name_length = name == NULL ? 0 : (uint32_t)strlen(name);
    size_t size = text_size(h5object);
    h5object->text = path == NULL ? NULL : size <= sizeof h5object->short_text ? h5object->short_text : text_take(size);
    if (h5object->text == NULL) return path == NULL;
    memcpy(h5object->text, path, h5object->path_length + 1);
    memcpy(h5object->text + h5object->path_length + 1, name == NULL ? "" : name, h5object->name_length + 1);
    return true;
}

static void h5object_free(struct h5object *h5object) {
    if (h5object->text != NULL && h5object->text != h5object->short_text)
        text_give(h5object->text, text_size(h5object));
    h5object->text = NULL;
    atomic_store_explicit(&h5object->key, 0, memory_order_release);
}

// ---- objects, found by their token if it is known, otherwise by their path

static uint64_t mixed_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t key_of(uint64_t start, enum kind kind, const struct token *token, const char *path, const char *name) {
    uint64_t words[2], hash = mixed_word(start, kind);
    if (token != NULL) {
        memcpy(words, token, sizeof words);
        hash = mixed_word(mixed_word(hash, words[0]), words[1]);
    } else {
        hash = hash_add(hash, path, strlen(path));
    }
    if (name != NULL) hash = hash_add(hash, name, strlen(name));
    hash ^= hash >> 32;
    return hash == 0 || hash == BUSY ? 1 : hash;
}

static struct h5object *_Atomic *bucket_of(const struct file *file, enum kind kind, const struct token *token,
                                           const char *path, const char *name) {
    return &h5object_buckets[key_of(file->slot, kind, token, path, name) % H5OBJECTS];
}

static bool h5object_is(const struct h5object *h5object, const struct file *file, enum kind kind,
                        const struct token *token, const char *path, const char *name) {
    if (h5object->file != file || h5object->kind != kind || relaxed(h5object->removed)) return false;
    if (h5object->named != (token != NULL)) return false;
    if (token != NULL ? memcmp(token, &h5object->token, sizeof *token) != 0
                      : strcmp(path, h5object_path(h5object)) != 0)
        return false;
    return name == NULL || strcmp(name, h5object_name(h5object)) == 0;
}

struct h5object *h5object_find(struct file *file, enum kind kind, const struct token *token, const char *path,
                               const char *name) {
    uint64_t key = key_of(file->serial, kind, token, path, name);
    struct h5object *h5object = atomic_load(bucket_of(file, kind, token, path, name));
    for (; h5object != NULL; h5object = h5object->next)
        if (atomic_load_explicit(&h5object->key, memory_order_acquire) == key &&
            h5object_is(h5object, file, kind, token, path, name))
            return h5object;
    return NULL;
}

static struct h5object *h5object_take(struct h5object *_Atomic *bucket) {
    for (struct h5object *h5object = atomic_load(bucket); h5object != NULL; h5object = h5object->next) {
        uint64_t none = 0;
        if (relaxed(h5object->key) == 0 && atomic_compare_exchange_strong(&h5object->key, &none, BUSY)) return h5object;
    }
    struct h5object *h5object = pool_take(LATER(&h5object_pool, struct h5object));
    if (h5object == NULL) return NULL;
    atomic_store(&h5object->key, BUSY);
    h5object->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &h5object->next, h5object)) continue;
    return h5object;
}

// Return the number of the path's list in its file; with `marking`, also mark all ancestors of the path.
static unsigned list_of(struct file *file, const char *path, bool marking) {
    uint64_t hash = 1;
    for (size_t i = 0; path[i] != '\0'; i++) {
        if (marking && path[i] == '/' && i > 0)
            atomic_fetch_or(&file->folders[hash % PATH_LISTS / 64], (uint64_t)1 << hash % 64);
        hash = hash_add(hash, path + i, 1);
    }
    return hash % PATH_LISTS;
}

static void h5object_listed(struct file *file, struct h5object *h5object) {
    unsigned list = h5object->text == NULL ? PATH_LISTS : list_of(file, h5object->text, true);
    h5object->sibling = atomic_load(&file->h5objects[list]);
    while (!atomic_compare_exchange_weak(&file->h5objects[list], &h5object->sibling, h5object)) continue;
}

struct h5object *h5object_new(struct file *file, enum kind kind, const struct token *token, const char *path,
                              const char *name) {
    struct h5object *h5object = h5object_take(bucket_of(file, kind, token, path, name));
    if (h5object == NULL) return NULL;
    char *start = (char *)h5object + offsetof(struct h5object, sibling);
    memset(start, 0, sizeof *h5object - offsetof(struct h5object, sibling));
    h5object->file = file;
    h5object->kind = kind;
    h5object->named = token != NULL;
    if (token != NULL) h5object->token = *token;
    if (!h5object_text(h5object, path, name)) {
        atomic_store(&h5object->key, 0);
        return NULL;
    }
    h5object_listed(file, h5object);
    atomic_store_explicit(&h5object->key, key_of(file->serial, kind, token, path, name), memory_order_release);
    return h5object;
}

struct h5object *h5object_at(struct file *file, const char *path) {
    size_t length = strlen(path);
    for (struct h5object *h5object = atomic_load(&file->h5objects[list_of(file, path, false)]); h5object != NULL;
         h5object = h5object->sibling)
        if (h5object->path_length == length && h5object->text != NULL && !relaxed(h5object->removed) &&
            h5object->kind != A_LINK && h5object->kind != AN_ATTRIBUTE && memcmp(h5object->text, path, length) == 0)
            return h5object;
    return NULL;
}

// Give a nameless object its first name. It stays in the list of nameless objects.
bool h5object_rename(struct h5object *h5object, const char *path) {
    return h5object->text == NULL && h5object_text(h5object, path, NULL);
}

// Mark an attribute or a former link as removed: no name leads to it any more.
void h5object_removed(struct file *file, enum kind kind, const char *path, const char *name) {
    struct h5object *h5object = h5object_find(file, kind, NULL, path, name);
    if (h5object != NULL) atomic_store(&h5object->removed, true);
}

static void list_mark_removed(struct file *file, unsigned list, const char *path, size_t length) {
    for (struct h5object *h5object = atomic_load(&file->h5objects[list]); h5object != NULL;
         h5object = h5object->sibling) {
        if (h5object->text == NULL || h5object->path_length < length || relaxed(h5object->removed)) continue;
        if ((h5object->text[length] == '\0' || h5object->text[length] == '/') &&
            memcmp(h5object->text, path, length) == 0)
            atomic_store(&h5object->removed, true);
    }
}

// Mark an object and everything below it as removed. If nothing is below it, only the list of its own path is searched.
void h5objects_removed(struct file *file, const char *path) {
    size_t length = strlen(path);
    unsigned list = list_of(file, path, false);
    bool below = relaxed(file->folders[list / 64]) >> list % 64 & 1;
    for (unsigned i = below ? 0 : list; i < (below ? PATH_LISTS : list + 1); i++)
        list_mark_removed(file, i, path, length);
    list_mark_removed(file, PATH_LISTS, path, length);
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
    h5object_text(&file->root, "/", NULL);
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
    for (unsigned i = 0; i <= PATH_LISTS; i++)
        for (struct h5object *h5object = atomic_load(&file->h5objects[i]), *next; h5object != NULL; h5object = next) {
            next = h5object->sibling;
            provio_release(h5object->object);
            h5object_free(h5object);
        }
    provio_release(file->object);
    h5object_free(&file->root);
    atomic_store(&file->parent, NULL);
    if (file->mount != NULL) text_give(file->mount, strlen(file->mount) + 1);
    if (file->path != NULL) text_give(file->path, strlen(file->path) + 1);
    for (uint32_t i = 0, end = relaxed(files_end); i < end; i++) { // mounted files are unmounted with it
        struct file *child = atomic_load(&files[i]), *removed = file;
        if (child == NULL || child == file || relaxed(child->parent) != file) continue;
        if (!atomic_compare_exchange_strong(&child->parent, &removed, NULL)) continue;
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
        bool stale = old == 0 || (old != -1 && handle->key != relaxed(handle->h5object->key)); // its file was closed
        if (stale && atomic_compare_exchange_strong(&handle->hid, &old, -1)) return handle;
    }
    struct handle *handle = pool_take(LATER(&handle_pool, struct handle));
    if (handle == NULL) return NULL;
    atomic_store(&handle->hid, -1);
    handle->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &handle->next, handle)) continue;
    return handle;
}

struct handle *handle_add(struct library *library, hid_t hid, struct h5object *h5object) {
    struct handle *handle = handle_take(&handle_buckets[handle_bucket(hid)]);
    unsigned class = handle_class(hid);
    if (handle == NULL) return NULL;
    atomic_fetch_or(&handle_classes[class / 64], (uint64_t)1 << class % 64);
    handle->hdf5 = library;
    handle->h5object = h5object;
    handle->key = relaxed(h5object->key);
    atomic_store(&handle->references, 1);
    atomic_fetch_add(&h5object->file->handles, 1);
    if (h5object->kind == A_FILE) atomic_fetch_add(&h5object->file->file_handles, 1);
    atomic_store_explicit(&handle->hid, hid, memory_order_release);
    return handle;
}

// Drop one reference. The last one removes the handle, and may mean that the file was closed.
void handle_drop(struct handle *handle) {
    struct file *file = handle->h5object->file;
    if (atomic_fetch_sub(&handle->references, 1) > 1) return;
    bool of_file = handle->h5object->kind == A_FILE;
    atomic_store_explicit(&handle->hid, 0, memory_order_release);
    atomic_fetch_sub(&file->handles, 1);
    if (of_file) atomic_fetch_sub(&file->file_handles, 1);
    file_closed_if_unused(file);
}
