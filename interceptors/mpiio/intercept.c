// Makes wrappers from the rows of calls.def, and records the open files.
#include "mpiio.h"

// ---- open files, by their handles

struct open_file {
    _Atomic uintptr_t file; // 0: free
    provio_object *object;
    int64_t split_count; // count of the first half of a split call
    handle split_type;
    uint64_t split_started; // 0: no split call in progress
};

enum { FILES = 1024 };
static struct open_file files[FILES];

static inline size_t place_of(uintptr_t file) {
    return (file >> 4) * 0x9E3779B97F4A7C15 >> 54;
}

static void file_opened(handle file, provio_object *object) {
    size_t first = place_of((uintptr_t)file);
    for (size_t i = 0; i < FILES; i++) {
        struct open_file *open = &files[(first + i) % FILES];
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&open->file, &none, 1)) continue;
        open->object = object;
        open->split_started = 0;
        atomic_store(&open->file, (uintptr_t)file);
        return;
    }
    provio_release(object);
    event_gap(API_MPI_File_open,
              "has more files open through MPI-IO than can be followed: calls on the others are recorded only for "
              "the ranks that transfer the bytes",
              NULL);
}

// Files are closed in any order, so a free entry does not end the search; most handles are at their first position.
static struct open_file *file_find(handle file) {
    size_t first = place_of((uintptr_t)file);
    for (size_t i = 0; i < FILES; i++) {
        struct open_file *open = &files[(first + i) % FILES];
        if (atomic_load_explicit(&open->file, memory_order_acquire) == (uintptr_t)file) return open;
    }
    return NULL;
}

static void file_forget(struct open_file *open) {
    provio_release(open->object);
    open->object = NULL;
    atomic_store(&open->file, 0);
}

// ---- rows

static THREAD_LOCAL int depth; // inside a recorded call: the library's own nested calls belong to it

struct call {
    int function, error;
    uint64_t started;
    _Alignas(16) char status[128]; // if the program passes none: larger than that of any MPI
};

static bool call_begin(struct call *call, int function) {
    if (depth > 0 || !provio_recording()) return false;
    call->function = function;
    call->error = errno;
    errno = 0;
    depth++;
    call->started = provio_now();
    return true;
}

// The program finds in errno the library's value, or the previous value if the library left 0.
static void call_end(struct call *call) {
    int error = errno;
    depth--;
    if (error == 0) errno = call->error;
    call->error = error;
}

static void failed(const struct call *call, handle file) {
    struct open_file *open = file_find(file);
    provio_failed(open == NULL ? NULL : open->object, call->function, call->error, call->started);
}

// MPI_STATUS_IGNORE is 0 or 1.
static void *kept_status(struct call *call, bool recorded, void *status) {
    return recorded && (uintptr_t)status <= 1 ? call->status : status;
}
#define STATUS(status) kept_status(&call, recorded, status)

// ---- subjects of rows

static void moved(const struct call *call, handle file, enum side side, int64_t count, handle type, const void *status,
                  uint64_t started) {
    struct open_file *open = file_find(file);
    if (open == NULL) return;
    if (side == READING && count > 0)
        provio_read(open->object, call->function, bytes_moved(count, type, status), started);
    else if (side == WRITING && bytes_of(count, type) > 0)
        provio_write(open->object, call->function, bytes_moved(count, type, status), started);
    else
        provio_counted(open->object, call->function, started); // the rank participated without data of its own
}

static void requested(const struct call *call, handle file, int64_t count, handle type) {
    struct open_file *open = file_find(file);
    uint64_t bytes = bytes_of(count, type);
    if (open != NULL && bytes > 0) provio_submitted(open->object, call->function, bytes, call->started);
}

static void split_begin(const struct call *call, handle file, int64_t count, handle type) {
    struct open_file *open = file_find(file);
    if (open == NULL) return;
    open->split_count = count;
    open->split_type = type;
    open->split_started = call->started;
}

static void split_end(const struct call *call, handle file, enum side side, const void *status) {
    struct open_file *open = file_find(file);
    if (open == NULL || open->split_started == 0) return;
    moved(call, file, side, open->split_count, open->split_type, status, open->split_started);
    open->split_started = 0;
}

static void here(const struct call *call, handle file) {
    struct open_file *open = file_find(file);
    if (open != NULL) provio_counted(open->object, call->function, call->started);
}

#define SIDE_Read READING
#define SIDE_Write WRITING
#define SIDE_SubmitRead READING
#define SIDE_SubmitWrite WRITING
#define SIDE_Fsync WRITING
#define DONE_MOVED(file, count, type, given) moved(&call, file, side, count, type, STATUS(given), call.started)
#define DONE_REQUESTED(file, count, type) requested(&call, file, count, type)
#define DONE_SPLIT_BEGIN(file, count, type) split_begin(&call, file, count, type)
#define DONE_SPLIT_END(file, given) split_end(&call, file, side, STATUS(given))
#define DONE_HERE(file) here(&call, file)

// ---- one call

enum { NO_MPI = 16 }; // result of a function that the process's MPI lacks: an error code in every MPI

#define WRAPPER(wrapped, name, otherwise, Term, parameters, arguments, subject)                                        \
    EXPORTED(wrapped, int, parameters)                                                                                 \
    int provio_##wrapped parameters {                                                                                  \
        struct call call;                                                                                              \
        const bool recorded = call_begin(&call, API_##name);                                                           \
        int(*real) parameters = ROW(wrapped);                                                                          \
        int result = real == NULL ? otherwise : real arguments;                                                        \
        if (!recorded) return result;                                                                                  \
        const enum side side = SIDE_##Term;                                                                            \
        (void)side;                                                                                                    \
        call_end(&call);                                                                                               \
        if (unlikely(result != 0))                                                                                     \
            failed(&call, file);                                                                                       \
        else                                                                                                           \
            DONE_##subject;                                                                                            \
        return result;                                                                                                 \
    }
#define MPIIO(name, ...) WRAPPER(name, name, NO_MPI, __VA_ARGS__) WRAPPER(P##name, name, NO_MPI, __VA_ARGS__)
#define PLAIN(plain, arguments) (count > INT_MAX || ROW(plain) == NULL ? NO_MPI : ROW(plain) arguments)
#define MPIIO_LARGE(name, plain, Term, parameters, arguments, subject)                                                 \
    WRAPPER(name, name, PLAIN(plain, arguments), Term, parameters, arguments, subject)                                 \
    WRAPPER(P##name, name, PLAIN(P##plain, arguments), Term, parameters, arguments, subject)
#define MPIIO_HAND(...)
#define SKIPS(...)
#include "calls.def"

// ---- handwritten

// The path may have the name of a driver before it: "ufs:/data/x".
static const char *path_of(const char *name) {
    size_t length = 0;
    while (name[length] >= 'a' && name[length] <= 'z') length++;
    bool driver = length > 1 && name[length] == ':' && strncmp(name + length, "://", 3) != 0;
    return driver ? name + length + 1 : name;
}

static int opened(int (*real)(handle, const char *, int, handle, handle *), handle comm, const char *path, int mode,
                  handle info, handle *file) {
    struct call call;
    const bool recorded = call_begin(&call, API_MPI_File_open);
    int result = real == NULL ? NO_MPI : real(comm, path, mode, info, file);
    if (!recorded) return result;
    call_end(&call);
    if (result != 0) {
        provio_failed(NULL, call.function, call.error, call.started);
        return result;
    }
    unsigned flags = (unsigned)open_flags(mode) | PROVIO_PLAIN_FILE;
    provio_object *object = provio_file(call.function, path_of(path), flags, call.started);
    if (object != NULL) file_opened(*file, object);
    return result;
}

static int closed(int (*real)(handle *), handle *file) {
    struct call call;
    handle before = file == NULL ? NULL : *file;
    struct open_file *open = file_find(before); // after the close, another file may get the same handle
    const bool recorded = call_begin(&call, API_MPI_File_close);
    int result = real == NULL ? NO_MPI : real(file);
    if (!recorded) return result;
    call_end(&call);
    if (result != 0) {
        failed(&call, before);
    } else if (open != NULL) {
        provio_counted(open->object, call.function, call.started);
        provio_file_closed(open->object, provio_now());
        file_forget(open);
    }
    return result;
}

#define OPEN(name)                                                                                                     \
    EXPORTED(name, int, (handle comm, const char *path, int mode, handle info, handle *file))                          \
    int provio_##name(handle comm, const char *path, int mode, handle info, handle *file) {                            \
        return opened(ROW(name), comm, path, mode, info, file);                                                        \
    }
OPEN(MPI_File_open)
OPEN(PMPI_File_open)

#define CLOSE(name)                                                                                                    \
    EXPORTED(name, int, (handle * file))                                                                               \
    int provio_##name(handle *file) {                                                                                  \
        return closed(ROW(name), file);                                                                                \
    }
CLOSE(MPI_File_close)
CLOSE(PMPI_File_close)
