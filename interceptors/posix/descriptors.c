// Calls that close, duplicate or create descriptors, and calls that close or reopen a stream.
#include "rows.h"

static int watched_close(int (*real)(int), int fd) {
    struct closing closing;
    closing_begin(&closing, fd);
    int result = real(fd);
    closing_end(&closing, false);
    return result;
}

int provio_close(int fd) {
    return watching() ? watched_close(REAL(close), fd) : REAL(close)(fd);
}

int provio___close(int fd) {
    return watching() ? watched_close(REAL(__close), fd) : REAL(__close)(fd);
}

int provio_close_range(unsigned first, unsigned last, int flags) {
    enum { UNSHARES = 2 }; // CLOSE_RANGE_UNSHARE; CLOSE_RANGE_CLOEXEC closes nothing now
    if (watching() && first <= last && (flags & ~UNSHARES) == 0) closing_range(first, last);
    return REAL(close_range)(first, last, flags);
}

void provio_closefrom(int first) {
    if (watching()) closing_range(first < 0 ? 0 : (unsigned)first, UINT_MAX - 1);
    REAL(closefrom)(first);
}

int provio_closedir(DIR *directory) {
    if (!watching() || directory == NULL) return REAL(closedir)(directory);
    struct closing closing;
    closing_begin(&closing, dirfd(directory));
    int result = REAL(closedir)(directory);
    closing_end(&closing, false);
    return result;
}

// The reference to `object` moves to the copy, if the call succeeded.
int object_doubled(struct object *object, int copy) {
    if (copy >= 0 && object != NULL)
        object_share(copy, object);
    else
        object_release(object, 1);
    return copy;
}

int provio_dup(int fd) {
    struct object *object = watching() ? object_held(fd) : NULL;
    return object_doubled(object, REAL(dup)(fd));
}

// The call closes the previous descriptor `to`.
#define OVER(call, from, to)                                                                                           \
    if (!watching() || (from) == (to)) return call;                                                                    \
    struct object *object = object_held(from);                                                                         \
    struct closing closing;                                                                                            \
    closing_begin(&closing, to);                                                                                       \
    int result = call;                                                                                                 \
    if (result < 0)                                                                                                    \
        closing_undo(&closing, to);                                                                                    \
    else                                                                                                               \
        closing_end(&closing, false);                                                                                  \
    return object_doubled(object, result);

int provio_dup2(int from, int to) {
    OVER(REAL(dup2)(from, to), from, to)
}

int provio___dup2(int from, int to) {
    OVER(REAL(__dup2)(from, to), from, to)
}

int provio_dup3(int from, int to, int flags){OVER(REAL(dup3)(from, to, flags), from, to)}

#define CONTROL(name)                                                                                                  \
    int provio_##name(int fd, int command, void *argument) {                                                           \
        bool doubles = watching() && (command == F_DUPFD || command == F_DUPFD_CLOEXEC);                               \
        struct object *object = doubles ? object_held(fd) : NULL;                                                      \
        return object_doubled(object, REAL(name)(fd, command, argument));                                              \
    }
CONTROL(fcntl) CONTROL(fcntl64) CONTROL(__fcntl)

    static void two_openings(int api, const int fds[2], int reading, int writing, uint64_t started) {
    object_open(api, fds[0], -1, NULL, reading, started, false);
    object_open(api, fds[1], -1, NULL, writing, started, false);
}

#define PAIR(name, parameters, arguments, reading, writing)                                                            \
    int provio_##name parameters {                                                                                     \
        struct thread *thread = watching() ? thread_self() : NULL;                                                     \
        uint64_t started = thread == NULL ? 0 : now(thread);                                                           \
        int result = REAL(name) arguments;                                                                             \
        if (result == 0 && thread != NULL) two_openings(API_##name, fds, reading, writing, started);                   \
        return result;                                                                                                 \
    }
PAIR(pipe, (int fds[2]), (fds), O_RDONLY, O_WRONLY)
PAIR(__pipe, (int fds[2]), (fds), O_RDONLY, O_WRONLY)
PAIR(pipe2, (int fds[2], int flags), (fds, flags), O_RDONLY | flags, O_WRONLY | flags)

// The C library replaced the standard descriptors internally: each is looked up at its next use.
void forget_standard(void) {
    for (int fd = 0; fd <= 2; fd++) object_forget(fd);
}

int provio_daemon(int keep_folder, int keep_streams) {
    bool watched = watching();
    int result = REAL(daemon)(keep_folder, keep_streams);
    if (result != 0 || !watched || !watching()) return result; // called again, because this may be the child
    if (!keep_folder) cwd_changed();
    if (!keep_streams) forget_standard();
    return result;
}

int open_mode(int fd) {
    struct object *object = object_kept(fd);
    int mode = object == NULL ? O_RDWR : (int)object->flags & O_ACCMODE;
    object_release(object, 1);
    return mode;
}

// ---- streams: inline bytes in the buffer are counted first

int watched_fclose(int (*real)(FILE *), FILE *stream) {
    struct closing closing;
    put_count(stream);
    closing_begin(&closing, stream_fd(stream));
    int result = real(stream);
    closing_end(&closing, true);
    return result;
}

int provio_fclose(FILE *stream) {
    return watching() ? watched_fclose(REAL(fclose), stream) : REAL(fclose)(stream);
}

int provio__IO_fclose(FILE *stream) {
    return watching() ? watched_fclose(REAL(_IO_fclose), stream) : REAL(_IO_fclose)(stream);
}

int provio_endmntent(FILE *stream) {
    return watching() && stream != NULL ? watched_fclose(REAL(endmntent), stream) : REAL(endmntent)(stream);
}

int provio___endmntent(FILE *stream) {
    return watching() && stream != NULL ? watched_fclose(REAL(__endmntent), stream) : REAL(__endmntent)(stream);
}

static FILE *watched_freopen(int api, FILE *(*real)(const char *, const char *, FILE *), const char *path,
                             const char *mode, FILE *stream) {
    struct thread *thread = watching() ? thread_self() : NULL;
    if (thread == NULL) return real(path, mode, stream);
    struct closing closing;
    put_count(stream);
    uint64_t started = now(thread);
    closing_begin(&closing, stream_fd(stream));
    FILE *result = real(path, mode, stream);
    closing_end(&closing, true);
    if (result != NULL)
        object_open(api, stream_fd(result), AT_FDCWD, path, mode_flags(mode), started, true);
    else
        access_failed(thread, NULL, api, started);
    return result;
}
FORWARD(freopen, FILE *, (const char *path, const char *mode, FILE *stream), watched_freopen, path, mode, stream)
FORWARD(freopen64, FILE *, (const char *path, const char *mode, FILE *stream), watched_freopen, path, mode, stream)

void provio_rewind(FILE *stream) {
    struct object *object = put_count(stream);
    REAL(rewind)(stream);
    if (object == NULL) return;
    put_seen(object, stream);
    object_moved(object, 0);
}
