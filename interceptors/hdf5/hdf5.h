// The private face of the HDF5 interceptor, its sections in the order in which one call's data flows:
// library -> handle -> thing (an object of a file) -> description -> links -> what a row records.
//
// The rules of ../posix/shim.h hold but for one: HDF5 may not be called from signal handlers, so dl* calls are allowed
// at first use. What is asked of the program's library for itself happens after the program's call succeeded, with
// errors kept quiet: the program's error stack was empty then, and is empty again.
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

enum { RANK = 32, NAME = 1024 }; // the most dimensions that HDF5 has; what is said of a list of names

// ---- library.c: whose functions a caller means

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
#include "own.def"
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
#include "own.def"
#undef OWN
};

enum { LACKING = 1 }; // in the place of a function that the library does not have

struct library {
    _Atomic uintptr_t base; // where it lies; 0: none yet
    void *_Atomic handle;
    void *_Atomic functions[FUNCTION_COUNT];
    _Atomic hid_t file_like; // h5py's driver for file-like objects; 0: it has none
};

extern struct library libraries[16];
struct library *library_find(const void *caller);
void *library_function(struct library *library, int function); // NULL: it has none of that name

static inline void *function_of(struct library *library, int function) {
    void *known = relaxed(library->functions[function]);
    return likely((uintptr_t)known > LACKING) ? known : library_function(library, function);
}
#define ROW(library, name) ((__typeof__(((struct hdf5_types *)NULL)->row_##name))function_of(library, ROW_##name))
// What the library lacks fails.
#define ASK(library, name, ...)                                                                                        \
    ({                                                                                                                 \
        __typeof__(((struct hdf5_types *)NULL)->own_##name) own_function = function_of(library, OWN_##name);           \
        own_function == NULL ? (__typeof__(own_function(__VA_ARGS__)))-1 : own_function(__VA_ARGS__);                  \
    })

struct quiet {
    struct library *hdf5;
    void *function, *data;
    unsigned second;
    int error;
};
void quiet_begin(struct quiet *quiet, struct library *library);
void quiet_end(struct quiet *quiet);

// ---- thing.c: files, and the objects of files; handles of them

struct file;

enum { SPREAD = 1024 };
enum kind { A_FILE, A_GROUP, A_DATASET, AN_ATTRIBUTE, A_TYPE, A_LINK };

struct thing {
    _Atomic uint64_t key;  // 0: free
    struct thing *next;    // in its bucket, for good
    struct thing *sibling; // of the same file, in the same list of its things
    struct file *file;
    provio_object *object;
    enum kind kind;
    bool named; // by its token; else by its path
    struct token token;
    _Atomic uint64_t elements;
    uint64_t element_size, chunk; // chunk: elements
    int rank;
    bool created, virtual;
    _Atomic bool replaced, gone; // gone: whoever opens that name next opens another
    uint64_t owed;               // bytes written before it had a name
    int owed_function;
    uint32_t path_length, name_length;
    char *text; // path, NUL, name, NUL
    char short_text[80];
};

struct file {
    _Atomic int used;
    uint32_t slot;
    uint64_t serial; // of all that were open in this process
    struct library *hdf5;
    unsigned long number;
    provio_object *object;
    struct thing root;                         // what a handle of the file leads to
    struct thing *_Atomic things[SPREAD + 1];  // by their path; the last: those that had none
    _Atomic uint64_t folders[SPREAD / 64];     // a bit for each path that others lie below, by the same number
    _Atomic int handles, file_handles, mounts; // handles: of the file's objects and its own
    bool strong;                               // its last handle closes its objects too
    _Atomic bool chunks;                       // the dataset opened last has them
    bool collective;                           // asking for metadata may need all ranks
    struct file *_Atomic parent;               // where it is mounted, at `mount`
    _Atomic uint64_t folder;          // of the folder that was last found to have no links on its way, the hash
    _Atomic uint64_t asked_in, plain; // of that whose names were last asked for, and of one that has no links in it
    _Atomic uint32_t asked;           // how often they were
    char *mount, *path;
    unsigned flags; // as of open(2)
};

struct handle {
    _Atomic hid_t hid; // 0: free
    struct handle *next;
    struct library *hdf5;
    struct thing *thing;
    uint64_t key; // the thing's at that time
    _Atomic int references;
};

static inline void text_put(char *room, const char *text) {
    memcpy(room, text, strlen(text) + 1);
}
char *copy_text(const char *text); // a pool's; NULL: too long
struct file *file_new(struct library *library, unsigned long number, bool numbered);
struct file *file_numbered(struct library *library, unsigned long number);
void file_close(struct file *file);
void file_closed_if_unused(struct file *file);
void files_close(struct library *library);

struct thing *thing_find(struct file *file, enum kind kind, const struct token *token, const char *path,
                         const char *name);
struct thing *thing_new(struct file *file, enum kind kind, const struct token *token, const char *path,
                        const char *name);
struct thing *thing_at(struct file *file, const char *path); // an object that was met under that path, or NULL
bool thing_rename(struct thing *thing, const char *path);
void thing_gone(struct file *file, enum kind kind, const char *path, const char *name);
void things_gone(struct file *file, const char *path);
uint64_t mixed(uint64_t hash, const void *bytes, size_t size);
extern _Atomic bool names_unsure; // a name may lead elsewhere than it did, and nobody knows which
// Links may be on ways where none were.
static inline void names_changed(struct file *file) {
    atomic_store(&file->folder, 0);
    atomic_store(&file->plain, 0);
    atomic_store(&file->asked_in, 0);
}
static inline const char *thing_path(const struct thing *thing) {
    return thing->text == NULL ? "" : thing->text;
}
static inline const char *thing_name(const struct thing *thing) {
    return thing->text == NULL ? "" : thing->text + thing->path_length + 1;
}

struct handle *handle_add(struct library *library, hid_t hid, struct thing *thing);
void handle_drop(struct handle *handle);

extern struct handle *_Atomic handle_buckets[4096];
extern _Atomic uint64_t handle_classes[2]; // a bit for each class of handle that any was of

static inline uint32_t handle_bucket(hid_t hid) {
    return (uint32_t)((uint64_t)hid * 0x9e3779b97f4a7c15u >> 52);
}

// The library has a handle's class in its first bits: most are of data types, dataspaces and lists, which are not kept.
static inline unsigned handle_class(hid_t hid) {
    return (unsigned)((uint64_t)hid >> 56) % 128;
}

static inline struct handle *handle_find(struct library *library, hid_t hid) {
    unsigned class = handle_class(hid);
    if ((relaxed(handle_classes[class / 64]) >> class % 64 & 1) == 0) return NULL;
    struct handle *handle = atomic_load_explicit(&handle_buckets[handle_bucket(hid)], memory_order_acquire);
    for (; handle != NULL; handle = handle->next)
        if (atomic_load_explicit(&handle->hid, memory_order_acquire) == hid && handle->hdf5 == library &&
            likely(handle->key == relaxed(handle->thing->key))) // else its file was closed
            return handle;
    return NULL;
}

// ---- one call of the program's

struct call {
    struct library *hdf5; // NULL: none, and the call fails
    uint64_t started, ended;
    int row;
    int error;   // errno, as the call found it
    bool inside; // what the library calls meanwhile is part of it
};

// False: the call is not told of, by itself.
bool call_begin(struct call *call, int row, const void *caller, bool wanted, bool calls_back);
void call_end(struct call *call, bool timed);

static inline int function_number(const struct call *call) { // among all that provio knows
    return API_COUNT + call->row;
}

int descriptor_behind(const struct call *call, hid_t access); // python.c: of a file-like object of Python's

// ---- describe.c: what there is to know of an object when it is first opened or created

struct material { // what an object was made of; 0: asked of the object
    hid_t type, space, creation;
};
void describe(const struct call *call, hid_t hid, struct thing *thing, const struct material *material);
void describe_chunk(const struct call *call, hid_t dataset, struct thing *thing);
void describe_extent(const struct call *call, struct thing *thing, hid_t space, char *shape, char *most);
enum { SHAPE = 22 * RANK }; // room for a shape's text

struct identity {         // what the library says of an object that is open
    unsigned long number; // of its file
    struct token token;
    int type; // 0: group, 1: dataset, 2: datatype
    bool known;
};
void identify(struct library *library, hid_t hid, const char *name, struct identity *identity);

// ---- path.c: names of objects as they are, links followed

enum link { NO_LINK = -1, HARD = 0, SOFT = 1, EXTERNAL = 64 };

// The full name of what `name` is at a place, links followed, into PATH_ROOM bytes; the last part as it is where `last`
// is false. False: it cannot be said, or lies in another file.
bool name_follow(const struct call *call, struct thing *base, hid_t place, const char *name, bool last, char *room);
bool name_plain(struct file *file, const char *path);
bool name_asked(const struct call *call, hid_t hid, char *room); // as the library has it
void link_say(const struct call *call, struct file *file, const char *path, const char *target, const char *target_file,
              bool created);
bool name_join(char *room, const char *folder, const char *name);
void name_parent(char *path);

// ---- member.c: objects that are opened, created, met

struct thing *thing_met(const struct call *call, hid_t hid);
static inline struct thing *thing_of(const struct call *call, hid_t hid) { // NULL: no object of a file
    struct handle *handle = handle_find(call->hdf5, hid);
    return likely(handle != NULL) ? handle->thing : thing_met(call, hid);
}
struct thing *meet(const struct call *call, hid_t hid, hid_t place, const char *name, const struct material *material,
                   bool created);
void opened_file(const struct call *call, hid_t hid, const char *path, unsigned flags, hid_t access, bool created);
void same_file(const struct call *call, hid_t hid, hid_t object, bool counted);
void opened(const struct call *call, hid_t hid, hid_t place, const char *name, const struct material *material,
            bool created);
void attribute_opened(const struct call *call, hid_t hid, hid_t place, const char *object, const char *name,
                      const struct material *material, bool created);
void attribute_of(const struct call *call, hid_t place, const char *object, struct file **file, char *room);
void named(const struct call *call, hid_t object, hid_t place, const char *name);

// What is not recorded leaves a Gap, each reason once.
enum lost { MANY_FILES, LONG_NAMES, ALL_RANKS };
void lost(const struct call *call, enum lost what);

// ---- record.c: what else the subjects of the table record

uint64_t told_from(const struct call *call);
void closed(const struct call *call, hid_t hid);
void here(const struct call *call, hid_t hid);
void failed(const struct call *call, hid_t hid);
void moved_data(const struct call *call, hid_t dataset, hid_t memory, hid_t space, enum side side, uint64_t started);
void moved_many(const struct call *call, size_t count, const hid_t *datasets, const hid_t *memories,
                const hid_t *spaces, enum side side);
void moved_chunk(const struct call *call, hid_t dataset, enum side side);
void extent_changed(const struct call *call, hid_t dataset, bool said);
void linked(const struct call *call, enum link kind, hid_t place, const char *target, const char *file, hid_t other,
            const char *name);
void link_copied(const struct call *call, hid_t place, const char *from, hid_t other, const char *to);
void link_moved(const struct call *call, hid_t place, const char *from, hid_t other, const char *to);
void link_gone(const struct call *call, hid_t place, const char *name);
void attribute_gone(const struct call *call, hid_t place, const char *object, const char *name);
void attribute_moved(const struct call *call, hid_t place, const char *object, const char *from, const char *to);
void copied(const struct call *call, hid_t place, const char *from, hid_t other, const char *to);

#endif
