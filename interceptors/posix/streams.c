// Calls that close a stream, open it anew or reposition it without a result: what lies in its buffer is counted first.
#include "hand.h"

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
