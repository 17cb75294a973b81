// The subject of a row: on which descriptor the call is, at which offset, and what of it passed through a buffer. For
// intercept.c.
#ifndef PROVIO_SUBJECTS_H
#define PROVIO_SUBJECTS_H

#include "wide.h"

#define DESCRIPTOR_FD(fd) fd
#define DESCRIPTOR_STREAM(stream) stream_fd(stream)
#define DESCRIPTOR_PENDING(stream) stream_fd(stream)
#define BEFORE_FD(fd) 0
#define BEFORE_STREAM(stream) (intptr_t) read_at(stream)
#define BEFORE_PENDING(stream) 0

#define DESCRIPTOR_AT(fd, offset) fd
#define BEFORE_AT(fd, offset) 0
#define BUFFERED_AT(fd, offset) false
// At which offset: where the call says it, there; else where the last call ended.
#define OFFSET_FD(fd) relaxed(object->position)
#define OFFSET_AT(fd, offset) (offset) == -1 ? relaxed(object->position) : (uint64_t)(offset)
#define OFFSET_STREAM(stream) relaxed(object->position)
#define OFFSET_PENDING(stream) relaxed(object->position)
#define OFFSET_INSIDE(stream) relaxed(object->position)
#define OFFSET_GROWING(stream) relaxed(object->position)
#define OFFSET_WIDE(stream) relaxed(object->position)
#define OFFSET_WIDE_LINE(stream) relaxed(object->position)
#define OFFSET_WIDE_TEXT(stream) relaxed(object->position)
#define OFFSET_BLOCK(stream, size) relaxed(object->position)
#define MOVES_FD(fd) true
#define MOVES_AT(fd, offset) (offset) == -1
#define MOVES_STREAM(stream) true
#define MOVES_PENDING(stream) true
#define MOVES_INSIDE(stream) true
#define MOVES_GROWING(stream) true
#define MOVES_WIDE(stream) true
#define MOVES_WIDE_LINE(stream) true
#define MOVES_WIDE_TEXT(stream) true
#define MOVES_BLOCK(stream, size) true
#define INLINE_FD(fd) 0
#define INLINE_AT(fd, offset) 0
#define INLINE_STREAM(stream) way == WRITING ? put_inline(object, stream) : 0
#define INLINE_PENDING INLINE_STREAM
#define INLINE_INSIDE INLINE_STREAM
#define INLINE_GROWING INLINE_STREAM
#define INLINE_WIDE(stream) 0
#define INLINE_WIDE_LINE(stream) 0
#define INLINE_WIDE_TEXT(stream) 0
#define INLINE_BLOCK(stream, size) INLINE_STREAM(stream)
#define ONE_STREAM(stream) put_one(object, stream)
#define SEEN_FD(fd) (void)0
#define SEEN_AT(fd, offset) (void)0
#define SEEN_STREAM(stream)                                                                                            \
    if (way == WRITING) put_seen(object, stream)
#define SEEN_PENDING SEEN_STREAM
#define SEEN_INSIDE SEEN_STREAM
#define SEEN_GROWING SEEN_STREAM
#define SEEN_WIDE SEEN_STREAM
#define SEEN_WIDE_LINE SEEN_STREAM
#define SEEN_WIDE_TEXT SEEN_STREAM
#define SEEN_BLOCK(stream, size) SEEN_STREAM(stream)
#define DESCRIPTOR_INSIDE(stream) stream_fd(stream)
#define BEFORE_INSIDE(stream) (intptr_t) write_at(stream)
#define BUFFERED_INSIDE(stream) false
#define DESCRIPTOR_GROWING(stream) stream_fd(stream)
#define BEFORE_GROWING(stream) file_size(stream)
#define BUFFERED_GROWING(stream) false
#define DESCRIPTOR_FLUSHED(stream) flushed_descriptor(stream)
#define DESCRIPTOR_WIDE(stream) stream_fd(stream)
#define BEFORE_WIDE(stream) 0
#define BUFFERED_WIDE(stream) !detailed(DETAIL_CALL) // as of other characters, its time is read only now and then
#define DESCRIPTOR_WIDE_LINE(stream) stream_fd(stream)
#define BEFORE_WIDE_LINE(stream) wide_before(stream, READING)
#define BUFFERED_WIDE_LINE(stream) false
#define DESCRIPTOR_WIDE_TEXT(stream) stream_fd(stream)
#define BEFORE_WIDE_TEXT(stream) wide_before(stream, WRITING)
#define BUFFERED_WIDE_TEXT(stream) false

#define DESCRIPTOR_BLOCK(stream, size) stream_fd(stream)
#define BEFORE_BLOCK(stream, size) 0
#define BUFFERED_FD(fd) false
#define BUFFERED_PENDING(stream) false
#define BUFFERED_STREAM(stream) !detailed(DETAIL_CALL) && in_buffer(stream, way, USUAL_LINE)
#define BUFFERED_BLOCK(stream, size) !detailed(DETAIL_CALL) && in_buffer(stream, way, size)

enum { USUAL_LINE = 512 };

// Whether a stream can serve so much from its buffer, without any I/O worth timing.
static inline bool in_buffer(FILE *stream, enum side side, size_t size) {
    const char *at = side == READING ? read_at(stream) : write_at(stream);
    const char *end = side == READING ? read_end(stream) : write_end(stream);
    return (size_t)(end - at) >= size && end > at;
}

// Of what flushes its stream each time.
static intptr_t file_size(FILE *stream) {
    struct facts facts;
    return statx_facts(stream_fd(stream), "", AT_EMPTY_PATH, &facts) ? (intptr_t)facts.size : 0;
}

// Of all streams there is none; and one in which nothing ever lay is not used by flushing it.
static int flushed_descriptor(const FILE *stream) {
    if (stream == NULL || stream_fd(stream) < 0) return -1;
    struct object *object = object_known(stream_fd(stream));
    bool used = object != NULL && relaxed(object->serial) != 0;
    return used || write_at(stream) > write_base(stream) ? stream_fd(stream) : -1;
}

#endif
