// The calls that a row of the table cannot say: several descriptors, copies, asynchronous I/O, walks.
#include "hand.h"

#include <linux/fs.h>

#if defined(__GLIBC__)
#define AIO_ERROR __error_code
#else
#define AIO_ERROR __err
#endif

// ---- descriptors

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
    enum { UNSHARES = 2 }; // CLOSE_RANGE_UNSHARE; with CLOSE_RANGE_CLOEXEC nothing is closed now
    if (watching() && first <= last && (flags & ~UNSHARES) == 0) closing_range(first, last);
    return REAL(close_range)(first, last, flags);
}

void provio_closefrom(int first) {
    if (watching()) closing_range(first < 0 ? 0 : (unsigned)first, UINT_MAX - 1);
    REAL(closefrom)(first);
}

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

int provio_closedir(DIR *directory) {
    if (!watching() || directory == NULL) return REAL(closedir)(directory);
    struct closing closing;
    closing_begin(&closing, dirfd(directory));
    int result = REAL(closedir)(directory);
    closing_end(&closing, false);
    return result;
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

// What was held is the copy's, if there is one.
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

// What `to` named before is closed by it.
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

// The standard descriptors were replaced inside the C library: what they name now is looked up when it is used.
void forget_standard(void) {
    for (int fd = 0; fd <= 2; fd++) object_forget(fd);
}

int provio_openpty(int *master, int *slave, char *name, const void *terminal, const void *window) {
    bool watched = watching();
    int result = REAL(openpty)(master, slave, name, terminal, window);
    if (watched && result == 0) {
        object_forget(*master);
        object_forget(*slave);
    }
    return result;
}

int provio_login_tty(int fd) {
    bool watched = watching();
    int result = REAL(login_tty)(fd);
    if (watched && result == 0) forget_standard();
    return result;
}

int provio_daemon(int keep_folder, int keep_streams) {
    bool watched = watching();
    int result = REAL(daemon)(keep_folder, keep_streams);
    if (result != 0 || !watched || !watching()) return result; // asked again: this is its child
    if (!keep_folder) cwd_changed();
    if (!keep_streams) forget_standard();
    return result;
}

// ---- a reposition that returns nothing

void provio_rewind(FILE *stream) {
    struct object *object = put_count(stream);
    REAL(rewind)(stream);
    if (object == NULL) return;
    put_seen(object, stream);
    object_moved(object, 0);
}

// What a program leaves in the buffer of its standard output, the C library writes after this.
__attribute__((destructor)) static void last_flush(void) {
    if (watching()) put_count(STANDARD_OUTPUT);
    lives_write();
}

void provio__exit(int status) {
    lives_write();
    REAL(_exit)(status);
    __builtin_unreachable();
}

void provio__Exit(int status) {
    lives_write();
    REAL(_Exit)(status);
    __builtin_unreachable();
}

// ---- copies inside the kernel

struct copy {
    struct thread *thread;
    struct object *from, *to;
    uint64_t started;
};

static void copy_begin(struct copy *copy, int from, int to) {
    copy->thread = watching() ? thread_self() : NULL;
    if (copy->thread == NULL) return;
    copy->from = object_of(from);
    copy->to = object_of(to);
    copy->started = now(copy->thread);
}

static ssize_t copy_end(struct copy *copy, int api, ssize_t result) {
    struct object *from = copy->from, *to = copy->to;
    if (copy->thread == NULL) return result;
    if (result < 0)
        access_failed(copy->thread, to != &ignored ? to : from, api, copy->started);
    else if (from != &ignored && to != &ignored)
        event_copy(copy->thread, api, from, to, (uint64_t)result, copy->started);
    else if (from != &ignored)
        account(copy->thread, from, relaxed(from->serial), READING, api, relaxed(from->position), (uint64_t)result,
                copy->started);
    else if (to != &ignored)
        account(copy->thread, to, relaxed(to->serial), WRITING, api, relaxed(to->position), (uint64_t)result,
                copy->started);
    return result;
}

ssize_t provio_copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size,
                               unsigned flags) {
    struct copy copy;
    copy_begin(&copy, from, to);
    return copy_end(&copy, API_copy_file_range, REAL(copy_file_range)(from, from_offset, to, to_offset, size, flags));
}

ssize_t provio_sendfile(int to, int from, off64_t *offset, size_t size) {
    struct copy copy;
    copy_begin(&copy, from, to);
    return copy_end(&copy, API_sendfile, REAL(sendfile)(to, from, offset, size));
}

ssize_t provio_sendfile64(int to, int from, off64_t *offset, size_t size) {
    struct copy copy;
    copy_begin(&copy, from, to);
    return copy_end(&copy, API_sendfile64, REAL(sendfile64)(to, from, offset, size));
}

ssize_t provio_splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size, unsigned flags) {
    struct copy copy;
    copy_begin(&copy, from, to);
    return copy_end(&copy, API_splice, REAL(splice)(from, from_offset, to, to_offset, size, flags));
}

ssize_t provio_tee(int from, int to, size_t size, unsigned flags) {
    struct copy copy;
    copy_begin(&copy, from, to);
    return copy_end(&copy, API_tee, REAL(tee)(from, to, size, flags));
}

static int access_mode(int fd) {
    struct object *object = object_kept(fd);
    int mode = object == NULL ? O_RDWR : (int)object->flags & O_ACCMODE;
    object_release(object, 1);
    return mode;
}

// Into a pipe at its write end; at its read end out of it.
ssize_t provio_vmsplice(int fd, const struct iovec *parts, size_t count, unsigned flags) {
    struct object *object = watching() ? object_of(fd) : &ignored;
    if (object == &ignored) return REAL(vmsplice)(fd, parts, count, flags);
    struct thread *thread = thread_self();
    enum side side = access_mode(fd) == O_RDONLY ? READING : WRITING;
    uint64_t serial = relaxed(object->serial), started = now(thread);
    ssize_t result = REAL(vmsplice)(fd, parts, count, flags);
    if (result >= 0)
        account(thread, object, serial, side, API_vmsplice, relaxed(object->position), (uint64_t)result, started);
    else
        access_failed(thread, object, API_vmsplice, started);
    return result;
}

// Two files that share what they hold from now on. The argument is looked at when the kernel has found it good.
static int watched_clone(int to, unsigned long request, void *argument) {
    struct thread *thread = thread_self();
    uint64_t started = thread == NULL ? 0 : now(thread);
    int result = REAL(ioctl)(to, request, argument);
    if (thread != NULL && result < 0) access_failed(thread, object_of(to), API_ioctl, started);
    if (thread == NULL || result < 0) return result;
    const struct file_clone_range all = {.src_fd = (int)(intptr_t)argument};
    const struct file_clone_range *range = request == FICLONE ? &all : argument;
    struct copy copy = {thread, object_of((int)range->src_fd), object_of(to), started};
    struct facts facts;
    uint64_t size = range->src_length;
    if (size == 0 && statx_facts((int)range->src_fd, "", AT_EMPTY_PATH, &facts)) size = facts.size - range->src_offset;
    copy_end(&copy, API_ioctl, (ssize_t)size);
    return result;
}

int provio_ioctl(int fd, unsigned long request, void *argument) {
    return (request == FICLONE || request == FICLONERANGE) && watching() ? watched_clone(fd, request, argument)
                                                                         : REAL(ioctl)(fd, request, argument);
}

// ---- asynchronous I/O: glibc does it in threads of its own, unseen

static void submitted(int api, const char *term, int fd, size_t size, uint64_t started) {
    struct object *object = object_of(fd);
    bool writes = api == API_aio_write || api == API_aio_write64;
    bool refused = writes && access_mode(fd) == O_RDONLY; // that it fails is said later
    if (object != &ignored && !refused) count_change(thread_self(), object, term, api, size, started);
}

// What aio_return will be asked for: glibc notes it in the request itself, musl does not.
static void submitting(int api, struct aiocb *request) {
#if !defined(__GLIBC__)
    bool writes = api == API_aio_write || api == API_aio_write64, reads = api == API_aio_read || api == API_aio_read64;
    request->aio_lio_opcode = writes ? LIO_WRITE : reads ? LIO_READ : LIO_NOP;
#else
    (void)api;
    (void)request;
#endif
}

// A request may be over, and its memory another's, when the call that made it returns.
#define SUBMIT(name, parameters, arguments, term)                                                                      \
    int provio_##name parameters {                                                                                     \
        struct thread *thread = watching() ? thread_self() : NULL;                                                     \
        if (thread == NULL) return REAL(name) arguments;                                                               \
        int fd = request->aio_fildes;                                                                                  \
        size_t size = request->aio_nbytes;                                                                             \
        submitting(API_##name, request);                                                                               \
        uint64_t started = now(thread);                                                                                \
        int result = REAL(name) arguments;                                                                             \
        if (result == 0)                                                                                               \
            submitted(API_##name, term, fd, size, started);                                                            \
        else                                                                                                           \
            access_failed(thread, object_of(fd), API_##name, started);                                                 \
        return result;                                                                                                 \
    }
SUBMIT(aio_read, (struct aiocb * request), (request), TERM_SubmitRead)
SUBMIT(aio_read64, (struct aiocb * request), (request), TERM_SubmitRead)
SUBMIT(aio_write, (struct aiocb * request), (request), TERM_SubmitWrite)
SUBMIT(aio_write64, (struct aiocb * request), (request), TERM_SubmitWrite)
SUBMIT(aio_fsync, (int kind, struct aiocb *request), (kind, request), TERM_Fsync)
SUBMIT(aio_fsync64, (int kind, struct aiocb *request), (kind, request), TERM_Fsync)

// Each request as the call it stands for. After an error other than of the arguments, some were submitted.
static int watched_list(int (*real)(int, struct aiocb *const[], int, struct sigevent *), int mode,
                        struct aiocb *const requests[], int count, struct sigevent *done) {
    struct thread *thread = watching() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    int result = real(mode, requests, count, done);
    for (int i = 0; thread != NULL && (result == 0 || errno != EINVAL) && i < count; i++) {
        const struct aiocb *request = requests[i];
        if (request == NULL) continue;
        int fd = request->aio_fildes;
        if (request->aio_lio_opcode == LIO_READ)
            submitted(API_aio_read, TERM_SubmitRead, fd, request->aio_nbytes, started);
        if (request->aio_lio_opcode == LIO_WRITE)
            submitted(API_aio_write, TERM_SubmitWrite, fd, request->aio_nbytes, started);
    }
    return result;
}

int provio_lio_listio(int mode, struct aiocb *const requests[], int count, struct sigevent *done) {
    return watched_list(REAL(lio_listio), mode, requests, count, done);
}

int provio_lio_listio64(int mode, struct aiocb *const requests[], int count, struct sigevent *done) {
    return watched_list(REAL(lio_listio64), mode, requests, count, done);
}

static ssize_t watched_return(int api, ssize_t (*real)(struct aiocb *), struct aiocb *request) {
    struct thread *thread = watching() ? thread_self() : NULL;
    if (thread == NULL) return real(request);
    struct object *object = object_of(request->aio_fildes);
    uint64_t serial = relaxed(object->serial), started = now(thread);
    int operation = request->aio_lio_opcode, error = request->AIO_ERROR; // errno is not set
    ssize_t result = real(request);
    bool moved = object != &ignored && result >= 0 && (operation == LIO_READ || operation == LIO_WRITE);
    if (moved)
        account(thread, object, serial, operation == LIO_READ ? READING : WRITING, api, (uint64_t)request->aio_offset,
                (uint64_t)result, started);
    else if (result < 0)
        access_failed_with(thread, object, api, error, started);
    return result;
}
FORWARD(aio_return, ssize_t, (struct aiocb * request), watched_return, request)
FORWARD(aio_return64, ssize_t, (struct aiocb * request), watched_return, request)

// ---- the working directory

int provio_chdir(const char *path) {
    bool watched = watching();
    int result = REAL(chdir)(path);
    if (watched && result == 0) cwd_changed();
    return result;
}

int provio_fchdir(int fd) {
    bool watched = watching();
    int result = REAL(fchdir)(fd);
    if (watched && result == 0) cwd_changed();
    return result;
}

// ---- listing

DIR *provio_opendir(const char *path) {
    struct thread *thread = settings.list && watching() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    DIR *result = REAL(opendir)(path);
    if (unlikely(relaxed(python_waits))) python_ask();
    if (thread != NULL && result != NULL)
        object_open(API_opendir, dirfd(result), AT_FDCWD, path, O_RDONLY | O_DIRECTORY, started, false);
    else if (thread != NULL)
        access_failed(thread, NULL, API_opendir, started);
    return result;
}

// Inside the C library nftw and fts change the working directory unseen; nftw says so only to the function it calls.
static THREAD_LOCAL visiting visitor;

static int visit_elsewhere(const char *path, const void *found, int kind, void *place) {
    cwd_changed();
    return visitor(path, found, kind, place);
}

static int watched_nftw(int api, int (*real)(const char *, visiting, int, int), const char *path, visiting visit,
                        int depth, int flags) {
    enum { CHANGES_FOLDER = 4 }; // FTW_CHDIR
    struct thread *thread = watching() ? thread_self() : NULL;
    if (thread == NULL || (!settings.list && !(flags & CHANGES_FOLDER))) return real(path, visit, depth, flags);
    uint64_t started = now(thread);
    visiting outer = visitor;
    visitor = visit;
    int result = real(path, flags & CHANGES_FOLDER ? visit_elsewhere : visit, depth, flags);
    visitor = outer;
    if (flags & CHANGES_FOLDER) cwd_changed();
    if (result >= 0 && settings.list) event_asked(api, TERM_List, AT_FDCWD, path, started);
    return result;
}
FORWARD(nftw, int, (const char *path, visiting visit, int depth, int flags), watched_nftw, path, visit, depth, flags)
FORWARD(nftw64, int, (const char *path, visiting visit, int depth, int flags), watched_nftw, path, visit, depth, flags)

static FTS *watched_fts_open(int api, FTS *(*real)(char *const *, int, const void *), char *const *paths, int options,
                             const void *compare) {
    struct thread *thread = settings.list && watching() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    FTS *result = real(paths, options, compare);
    for (; thread != NULL && result != NULL && *paths != NULL; paths++)
        event_asked(api, TERM_List, AT_FDCWD, *paths, started);
    return result;
}
#if defined(__GLIBC__)
static bool changes_folder(const FTS *walk) {
    return !(walk->fts_options & FTS_NOCHDIR);
}
#else
static bool changes_folder(const FTS *walk) {
    return walk != NULL; // as far as is known
}
#endif

#define WALK(name, type, parameters, arguments)                                                                        \
    type provio_##name parameters {                                                                                    \
        bool moves = watching() && walk != NULL && changes_folder(walk);                                               \
        type result = REAL(name) arguments;                                                                            \
        if (moves) cwd_changed();                                                                                      \
        return result;                                                                                                 \
    }
#define FTS_OPEN_PARAMETERS (char *const *paths, int options, const void *compare)
FORWARD(fts_open, FTS *, FTS_OPEN_PARAMETERS, watched_fts_open, paths, options, compare)
FORWARD(fts64_open, FTS *, FTS_OPEN_PARAMETERS, watched_fts_open, paths, options, compare)
WALK(fts_read, FTSENT *, (FTS * walk), (walk))
WALK(fts64_read, FTSENT *, (FTS * walk), (walk))
WALK(fts_children, FTSENT *, (FTS * walk, int options), (walk, options))
WALK(fts64_children, FTSENT *, (FTS * walk, int options), (walk, options))
WALK(fts_close, int, (FTS * walk), (walk))
WALK(fts64_close, int, (FTS * walk), (walk))
