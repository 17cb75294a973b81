// The private declarations of the HDF5 interceptor. The sections are in the order in which the data of one call flows:
// library -> handle -> h5object (an object in a file) -> description -> links -> the record of a row of calls.def.
//
// The rules of ../posix/raw.h are valid here, with one exception: HDF5 must not be called from signal handlers, so dl*
// calls are allowed at first use. The interceptor's own calls of the program's HDF5 library happen after the program's
// call has succeeded, with error reports switched off: the program's error stack was empty then, and is empty again
// afterwards.
#ifndef PROVIO_HDF5_H
#define PROVIO_HDF5_H

#include "../posix/record.h"

typedef int64_t hid_t; // since HDF5 1.10
typedef int herr_t, htri_t;
typedef uint64_t hsize_t, haddr_t;
typedef int64_t hssize_t;
typedef bool hbool_t;

struct token {
    uint8_t bytes[16];
};

enum { RANK = 32, NAME = 1024 }; // the maximal rank in HDF5; room for one name in a list of names

// ---- library.c: the HDF5 library that a caller uses

enum {
#define HDF5(name, ...) ROW_##name,
#define HDF5_HAND HDF5
#define SKIP(...)
#define SKIPS(...)
#include "calls.def"
#undef HDF5
    ROW_COUNT,
    BEFORE_OWN = ROW_COUNT - 1,
#define OWN(name, ...) OWN_##name,
#include "library.def"
#undef OWN
    FUNCTION_COUNT
};

struct hdf5_types {
#define HDF5(name, Term, type, parameters, ...) type(*row_##name) parameters;
#include "calls.def"
#undef HDF5
#undef HDF5_HAND
#undef SKIP
#undef SKIPS
#define OWN(name, type, parameters) type(*own_##name) parameters;
#include "library.def"
#undef OWN
};

enum { LACKING = 1 }; // marks a function that the library does not have

struct library {
    _Atomic uintptr_t base; // its load address; 0: entry unused
    void *_Atomic handle;
    void *_Atomic functions[FUNCTION_COUNT];
    _Atomic hid_t file_like; // h5py's driver for file-like objects; 0: none
};

extern struct library libraries[16];
struct library *library_find(const void *caller);
void *library_function(struct library *library, int function); // NULL: the library has no function of that name

static inline void *function_of(struct library *library, int function) {
    void *known = relaxed(library->functions[function]);
    return likely((uintptr_t)known > LACKING) ? known : library_function(library, function);
}
#define ROW(library, name) ((__typeof__(((struct hdf5_types *)NULL)->row_##name))function_of(library, ROW_##name))
// A call of a function that the library lacks fails (returns -1).
#define QUERY(library, name, ...)                                                                                      \
    ({                                                                                                                 \
        __typeof__(((struct hdf5_types *)NULL)->own_##name) own_function = function_of(library, OWN_##name);           \
        own_function == NULL ? (__typeof__(own_function(__VA_ARGS__)))-1 : own_function(__VA_ARGS__);                  \
    })

struct silence {
    struct library *hdf5;
    void *function, *data;
    unsigned second;
    int error;
};
void silence_begin(struct silence *silence, struct library *library);
void silence_end(struct silence *silence);

// ---- handles.c: open files, the objects in files, and handles

struct file;

enum { PATH_LISTS = 1024 };
enum kind { A_FILE, A_GROUP, A_DATASET, AN_ATTRIBUTE, A_TYPE, A_LINK };

struct h5object {
    _Atomic uint64_t key;     // 0: free
    struct h5object *next;    // in its bucket; never changes
    struct h5object *sibling; // of the same file, in the same list
    struct file *file;
    provio_object *object;
    enum kind kind;
    bool named; // identified by its token; otherwise by its path
    struct token token;
    _Atomic uint64_t elements;
    uint64_t element_size, chunk; // chunk: number of elements
    int rank;
    bool created, virtual;
    _Atomic bool replaced, removed; // removed: the next opening of that name opens another object
    uint64_t unrecorded_bytes;      // bytes written before it had a name
    int unrecorded_function;
    uint32_t path_length, name_length;
    char *text; // path, NUL, name, NUL
    char short_text[80];
};

struct file {
    _Atomic int used;
    uint32_t slot;
    uint64_t serial; // unique among all files opened in this process
    struct library *hdf5;
    unsigned long number;
    provio_object *object;
    struct h5object root;                               // the object of a handle of the file itself
    struct h5object *_Atomic h5objects[PATH_LISTS + 1]; // by path; the last list: objects created without a path
    _Atomic uint64_t folders[PATH_LISTS / 64]; // a bit for each path that is an ancestor of others, by the same hash
    _Atomic int handles, file_handles, mounts; // handles: of the file and of its objects
    bool strong;                               // closing its last file handle closes its objects too
    _Atomic bool chunks;                       // the last opened dataset has chunks
    bool collective;                           // a metadata lookup may need all ranks
    struct file *_Atomic parent;               // the file on which it is mounted, at `mount`
    _Atomic uint64_t folder;                   // hash of the last folder with a path free of links
    _Atomic uint64_t lookups_folder,
        plain;                // hashes: the folder of the last name lookups; a folder that contains no links
    _Atomic uint32_t lookups; // number of lookups in `lookups_folder`
    char *mount, *path;
    unsigned flags; // flags of open(2)
};

struct handle {
    _Atomic hid_t hid; // 0: free
    struct handle *next;
    struct library *hdf5;
    struct h5object *h5object;
    uint64_t key; // the object's key when the handle was added
    _Atomic int references;
};

static inline void text_put(char *room, const char *text) {
    memcpy(room, text, strlen(text) + 1);
}
char *copy_text(const char *text); // from a pool; NULL: too long, or no memory
struct file *file_new(struct library *library, unsigned long number, bool numbered);
struct file *file_numbered(struct library *library, unsigned long number);
void file_close(struct file *file);
void file_closed_if_unused(struct file *file);
void files_close(struct library *library);

struct h5object *h5object_find(struct file *file, enum kind kind, const struct token *token, const char *path,
                               const char *name);
struct h5object *h5object_new(struct file *file, enum kind kind, const struct token *token, const char *path,
                              const char *name);
struct h5object *h5object_at(struct file *file, const char *path); // a known object with that path, or NULL
bool h5object_rename(struct h5object *h5object, const char *path);
void h5object_removed(struct file *file, enum kind kind, const char *path, const char *name);
void h5objects_removed(struct file *file, const char *path);
extern _Atomic bool names_unsure; // some name may lead to another object than before
// After a change of names: paths that had no links may have links now.
static inline void names_changed(struct file *file) {
    atomic_store(&file->folder, 0);
    atomic_store(&file->plain, 0);
    atomic_store(&file->lookups_folder, 0);
}
static inline const char *h5object_path(const struct h5object *h5object) {
    return h5object->text == NULL ? "" : h5object->text;
}
static inline const char *h5object_name(const struct h5object *h5object) {
    return h5object->text == NULL ? "" : h5object->text + h5object->path_length + 1;
}

struct handle *handle_add(struct library *library, hid_t hid, struct h5object *h5object);
void handle_drop(struct handle *handle);

extern struct handle *_Atomic handle_buckets[4096];
extern _Atomic uint64_t handle_classes[2]; // a bit for each handle class that was ever added

static inline uint32_t handle_bucket(hid_t hid) {
    return (uint32_t)((uint64_t)hid * 0x9e3779b97f4a7c15u >> 52);
}

// The library stores the class of a handle in its first bits. Most handles are of data types, dataspaces and property
// lists, which are not kept.
static inline unsigned handle_class(hid_t hid) {
    return (unsigned)((uint64_t)hid >> 56) % 128;
}

static inline struct handle *handle_find(struct library *library, hid_t hid) {
    unsigned class = handle_class(hid);
    if ((relaxed(handle_classes[class / 64]) >> class % 64 & 1) == 0) return NULL;
    struct handle *handle = atomic_load_explicit(&handle_buckets[handle_bucket(hid)], memory_order_acquire);
    for (; handle != NULL; handle = handle->next)
        if (atomic_load_explicit(&handle->hid, memory_order_acquire) == hid && handle->hdf5 == library &&
            likely(handle->key == relaxed(handle->h5object->key))) // otherwise its file was closed
            return handle;
    return NULL;
}

// ---- one call of the program

struct call {
    struct library *hdf5; // NULL: no library found; the call fails
    uint64_t started, ended;
    int row;
    int error;   // the program's errno before the call; after call_end, errno of the call
    bool inside; // nested calls of the library belong to this call
};

// Return false if the call itself is not recorded.
bool call_begin(struct call *call, int row, const void *caller, bool wanted, bool calls_back);
void call_end(struct call *call, bool timed);

static inline int function_number(const struct call *call) { // among all functions known to provio
    return API_COUNT + call->row;
}

int descriptor_behind(const struct call *call, hid_t access); // python_file.c: of a file-like object of Python

// ---- describe.c: the properties of an object, read when it is first opened or created

struct material { // the parts an object was created from; 0: query the object; creation -1: query it if needed
    hid_t type, space, creation;
};
void describe(const struct call *call, hid_t hid, struct h5object *h5object, const struct material *material);
void describe_chunk(const struct call *call, hid_t dataset, struct h5object *h5object);
void describe_extent(const struct call *call, struct h5object *h5object, hid_t space, char *shape, char *most);
enum { SHAPE = 22 * RANK }; // room for the text of a shape

struct identity {         // the library's data on an open object
    unsigned long number; // of its file
    struct token token;
    int type; // 0: group, 1: dataset, 2: datatype
    bool known;
};
void identify(struct library *library, hid_t hid, const char *name, struct identity *identity);

// ---- path.c: names of objects after links are followed

enum link { NO_LINK = -1, HARD = 0, SOFT = 1, EXTERNAL = 64 };

// Resolve `name`, relative to a place, into its full name with links followed; `room` has PATH_ROOM bytes. If `last`
// is false, the last part is not followed. Return false if the name cannot be resolved or is in another file.
bool name_follow(const struct call *call, struct h5object *base, hid_t place, const char *name, bool last, char *room);
bool name_plain(struct file *file, const char *path);
bool name_queried(const struct call *call, hid_t hid, char *room); // the library's own answer
void link_record(const struct call *call, struct file *file, const char *path, const char *target,
                 const char *target_file, bool created);
bool name_join(char *room, const char *folder, const char *name);
void name_parent(char *path);

// ---- member.c: objects that are opened, created or encountered

struct h5object *h5object_encountered(const struct call *call, hid_t hid);
static inline struct h5object *h5object_of(const struct call *call, hid_t hid) { // NULL: not an object of a file
    struct handle *handle = handle_find(call->hdf5, hid);
    return likely(handle != NULL) ? handle->h5object : h5object_encountered(call, hid);
}
struct h5object *encounter(const struct call *call, hid_t hid, hid_t place, const char *name,
                           const struct material *material, bool created);
void opened_file(const struct call *call, hid_t hid, const char *path, unsigned flags, hid_t access, bool created);
void same_file(const struct call *call, hid_t hid, hid_t object, bool counted);
void opened(const struct call *call, hid_t hid, hid_t place, const char *name, const struct material *material,
            bool created);
void attribute_opened(const struct call *call, hid_t hid, hid_t place, const char *object, const char *name,
                      const struct material *material, bool created);
void attribute_of(const struct call *call, hid_t place, const char *object, struct file **file, char *room);
void named(const struct call *call, hid_t object, hid_t place, const char *name);

// ---- record.c: the other records of the table's subjects

// Unrecorded objects leave a Gap, one for each reason.
enum unrecorded { MANY_FILES, LONG_NAMES, ALL_RANKS };
void unrecorded(const struct call *call, enum unrecorded reason);

uint64_t recorded_start(const struct call *call);
void closed(const struct call *call, hid_t hid);
void counted_here(const struct call *call, hid_t hid);
void failed(const struct call *call, hid_t hid);
void moved_data(const struct call *call, hid_t dataset, hid_t memory, hid_t space, enum side side, uint64_t started);
void moved_many(const struct call *call, size_t count, const hid_t *datasets, const hid_t *memories,
                const hid_t *spaces, enum side side);
void moved_chunk(const struct call *call, hid_t dataset, enum side side);
void extent_changed(const struct call *call, hid_t dataset, bool reported);
void linked(const struct call *call, enum link kind, hid_t place, const char *target, const char *file, hid_t other,
            const char *name);
void link_copied(const struct call *call, hid_t place, const char *from, hid_t other, const char *to);
void link_moved(const struct call *call, hid_t place, const char *from, hid_t other, const char *to);
void link_removed(const struct call *call, hid_t place, const char *name);
void attribute_removed(const struct call *call, hid_t place, const char *object, const char *name);
void attribute_moved(const struct call *call, hid_t place, const char *object, const char *from, const char *to);
void copied(const struct call *call, hid_t place, const char *from, hid_t other, const char *to);

#endif
