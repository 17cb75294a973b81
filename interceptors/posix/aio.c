// Asynchronous I/O, aio(7). glibc does it in its own threads, without calls that the shim could intercept.
#include "rows.h"

#if defined(__GLIBC__)
#define AIO_ERROR __error_code
#else
#define AIO_ERROR __err
#endif

static void submitted(int api, const char *term, int fd, size_t size, uint64_t started) {
    struct object *object = object_of(fd);
    bool writes = api == API_aio_write || api == API_aio_write64;
    bool refused = writes && open_mode(fd) == O_RDONLY; // its failure is reported later
    if (object != &ignored && !refused) count_change(thread_self(), object, term, api, size, started);
}

// The kind of operation, needed in aio_return: glibc stores it in the request, musl does not.
static void submitting(int api, struct aiocb *request) {
#if !defined(__GLIBC__)
    bool writes = api == API_aio_write || api == API_aio_write64, reads = api == API_aio_read || api == API_aio_read64;
    request->aio_lio_opcode = writes ? LIO_WRITE : reads ? LIO_READ : LIO_NOP;
#else
    (void)api;
    (void)request;
#endif
}

// When the submitting call returns, the request may already be complete and its memory reused.
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

// Each request is recorded as the single call. After any error except EINVAL, some requests were submitted.
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
    int operation = request->aio_lio_opcode, error = request->AIO_ERROR; // aio_return does not set errno
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
