// Maps the pointers that the library passes through to the records of open files and their objects.
//
// One lock guards the tables: several libraries may work in several threads, though each library admits one thread at
// a time.
#include "vol.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096 };

struct handle {
    struct handle *next;
    const void *pointer;
    struct file *file;
    struct known *known;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file *files;
static struct handle *handles[BUCKETS];
static struct known *objects[BUCKETS];

static size_t bucket(uint64_t value) {
    return (value * 0x9E3779B97F4A7C15u) >> 52;
}

static struct handle **handle_at(const void *pointer) {
    struct handle **place = &handles[bucket((uintptr_t)pointer)];
    while (*place != NULL && (*place)->pointer != pointer) place = &(*place)->next;
    return place;
}

// ---- handles

void handle_open(const void *pointer, struct file *file, struct known *known) {
    struct handle *made = malloc(sizeof *made);
    if (made == NULL || file == NULL) {
        free(made);
        return;
    }
    pthread_mutex_lock(&lock);
    struct handle **place = handle_at(pointer);
    *made = (struct handle){*place, pointer, file, known};
    *place = made;
    file->opens++;
    pthread_mutex_unlock(&lock);
}

struct known *handle_known(const void *pointer) {
    pthread_mutex_lock(&lock);
    struct handle *found = *handle_at(pointer);
    pthread_mutex_unlock(&lock);
    return found == NULL ? NULL : found->known;
}

static void object_forget(struct known *known) {
    uint64_t first;
    memcpy(&first, &known->token, sizeof first);
    struct known **place = &objects[bucket(first)];
    while (*place != known) place = &(*place)->chain;
    *place = known->chain;
    recorder.provio_release(known->record);
    free(known->path);
    free(known->name);
    free(known);
}

static void file_end(struct file *file) {
    struct file **place = &files;
    while (*place != file) place = &(*place)->next;
    *place = file->next;
    recorder.provio_file_closed(file->record, recorder.provio_now());
    for (struct known *next, *known = file->members; known != NULL; known = next) {
        next = known->next;
        object_forget(known);
    }
    recorder.provio_release(file->record);
    free(file);
}

// Closing the last handle of a file or of its objects closes the file.
void handle_close(struct call *call, const void *pointer) {
    pthread_mutex_lock(&lock);
    struct handle **place = handle_at(pointer), *found = *place;
    if (found != NULL) {
        *place = found->next;
        struct file *file = found->file;
        provio_object *record = found->known == NULL ? file->record : found->known->record;
        recorder.provio_counted(record, functions[call->function], call->started);
        free(found);
        if (--file->opens == 0) file_end(file);
    }
    pthread_mutex_unlock(&lock);
}

// ---- files

static bool number_of(struct call *call, void *object, H5I_type_t type, unsigned long *number, H5O_token_t *token) {
    H5O_info2_t info;
    if (!query_object(call->hdf5, object, type, &info, call->list)) return false;
    *number = info.fileno;
    *token = info.token;
    return true;
}

static struct file *file_numbered(struct call *call, unsigned long number) {
    pthread_mutex_lock(&lock);
    struct file *found = files;
    while (found != NULL && (found->number != number || found->hdf5 != call->hdf5)) found = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

struct file *file_of(struct call *call, void *object, H5I_type_t type) {
    unsigned long number;
    H5O_token_t token;
    return number_of(call, object, type, &number, &token) ? file_numbered(call, number) : NULL;
}

static struct file *file_new(struct call *call, unsigned long number, provio_object *record) {
    struct file *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    made->hdf5 = call->hdf5;
    made->number = number;
    made->record = record;
    pthread_mutex_lock(&lock);
    made->next = files;
    files = made;
    pthread_mutex_unlock(&lock);
    return made;
}

// A file that is already open is counted again; otherwise this is a new opening.
void file_begin(struct call *call, void *opened, const char *path, unsigned flags) {
    unsigned long number = 0;
    if (!query_file_number(call->hdf5, opened, &number, call->list)) return;
    int function = functions[call->function];
    struct file *file = file_numbered(call, number);
    if (file == NULL)
        file = file_new(call, number, recorder.provio_file(function, path, flags, call->started));
    else
        recorder.provio_counted(file->record, function, call->started);
    handle_open(opened, file, NULL);
}

// ---- objects

static struct known *object_found(struct file *file, const H5O_token_t *token, const char *name) {
    uint64_t first;
    memcpy(&first, token, sizeof first);
    pthread_mutex_lock(&lock);
    struct known *found = objects[bucket(first)];
    while (found != NULL && (found->file != file || memcmp(&found->token, token, sizeof *token) != 0 ||
                             strcmp(found->name == NULL ? "" : found->name, name == NULL ? "" : name) != 0))
        found = found->chain;
    pthread_mutex_unlock(&lock);
    return found;
}

bool path_of(struct call *call, void *object, H5I_type_t type, char *path, size_t room) {
    return query_path(call->hdf5, object, type, path, room, call->list);
}

static const char *kind_of(H5I_type_t type, const char *attribute) {
    if (attribute != NULL) return "Attribute";
    return type == H5I_DATASET ? "Dataset" : type == H5I_DATATYPE ? "Datatype" : "Group";
}

static struct known *object_new(struct call *call, struct file *file, const H5O_token_t *token, void *object,
                                H5I_type_t type, const char *attribute, bool created) {
    char path[4096];
    struct description description = {0};
    struct known *made = calloc(1, sizeof *made);
    if (made == NULL || !path_of(call, object, type, path, sizeof path)) {
        free(made);
        return NULL;
    }
    if (attribute != NULL)
        describe_attribute(call->hdf5, object, call->list, &description);
    else if (type == H5I_DATASET)
        describe_dataset(call->hdf5, object, call->list, &description);
    describe_token(token, description.token, sizeof description.token);
    struct provio_member *member = &description.member;
    member->kind = kind_of(type, attribute);
    member->path = path;
    member->name = attribute;
    member->token = attribute == NULL ? description.token : NULL;
    member->created = created;
    *made = (struct known){.file = file, .token = *token, .element = member->element_size, .created = created};
    made->path = strdup(path);
    made->name = attribute == NULL ? NULL : strdup(attribute);
    made->record = recorder.provio_member(file->record, member);
    return made;
}

static void object_keep(struct known *known) {
    uint64_t first;
    memcpy(&first, &known->token, sizeof first);
    pthread_mutex_lock(&lock);
    known->next = known->file->members;
    known->file->members = known;
    known->chain = objects[bucket(first)];
    objects[bucket(first)] = known;
    pthread_mutex_unlock(&lock);
}

// Return the record of an open object. A created object always gets a new record, since its address may have been
// used before.
struct known *object_known(struct call *call, void *object, H5I_type_t type, const char *attribute, bool created) {
    unsigned long number;
    H5O_token_t token;
    if (!number_of(call, object, type, &number, &token)) return NULL;
    struct file *file = file_numbered(call, number);
    struct known *known = file == NULL || created ? NULL : object_found(file, &token, attribute);
    if (file == NULL || known != NULL) return known;
    known = object_new(call, file, &token, object, type, attribute, created);
    if (known != NULL) object_keep(known);
    return known;
}
