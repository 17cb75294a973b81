// The inside of a stream, as each C library has it: its descriptor and where its buffer is read and written.
#ifndef PROVIO_STREAM_H
#define PROVIO_STREAM_H

#include <stdio.h>

#if defined(__GLIBC__)

static inline int stream_fd(const FILE *stream) {
    return stream->_fileno;
}
static inline int stream_flags(const FILE *stream) {
    return stream->_flags;
}
static inline bool stream_wide(const FILE *stream) {
    return stream->_mode > 0;
}
static inline const char *read_base(const FILE *stream) {
    return stream->_IO_read_base;
}
static inline const char *read_at(const FILE *stream) {
    return stream->_IO_read_ptr;
}
static inline const char *read_end(const FILE *stream) {
    return stream->_IO_read_end;
}
static inline const char *write_base(const FILE *stream) {
    return stream->_IO_write_base;
}
static inline const char *write_at(const FILE *stream) {
    return stream->_IO_write_ptr;
}
static inline const char *write_end(const FILE *stream) {
    return stream->_IO_write_end;
}
static inline intptr_t buffer_size(const FILE *stream) {
    return stream->_IO_buf_end - stream->_IO_buf_base;
}

extern FILE _IO_2_1_stdout_; // of the C library: `stdout` may be a stream that was closed, or none
#pragma weak _IO_2_1_stdout_
#define STANDARD_OUTPUT (&_IO_2_1_stdout_)

#else

// musl's struct _IO_FILE as far as it is looked at, which has been so since 1.1.0; no header names it.
struct stream {
    unsigned flags;
    const char *read_at, *read_end;
    void *close;
    const char *write_end, *write_at, *unused, *write_base;
    void *read, *write, *seek;
    const char *buffer;
    size_t buffer_size;
    void *before, *after;
    int fd, pipe_pid;
    long locks;
    int mode;
};

static inline const struct stream *inside(const FILE *stream) {
    return (const struct stream *)stream;
}
static inline int stream_fd(const FILE *stream) {
    return inside(stream)->fd;
}
static inline int stream_flags(const FILE *stream) {
    return (int)inside(stream)->flags;
}
static inline bool stream_wide(const FILE *stream) {
    return inside(stream)->mode > 0;
}
static inline const char *read_base(const FILE *stream) {
    return inside(stream)->buffer;
}
static inline const char *read_at(const FILE *stream) {
    return inside(stream)->read_at;
}
static inline const char *read_end(const FILE *stream) {
    return inside(stream)->read_end;
}
static inline const char *write_base(const FILE *stream) {
    return inside(stream)->write_base;
}
static inline const char *write_at(const FILE *stream) {
    return inside(stream)->write_at;
}
static inline const char *write_end(const FILE *stream) {
    return inside(stream)->write_end;
}
static inline intptr_t buffer_size(const FILE *stream) {
    return (intptr_t)inside(stream)->buffer_size;
}

#define STANDARD_OUTPUT stdout

#endif

#endif
