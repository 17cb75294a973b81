// For wrappers: the outcome of a call, wide characters, and the declarations of the handwritten ones (HAND(...) in the
// table) under the C library's names.
#ifndef PROVIO_ROWS_H
#define PROVIO_ROWS_H

#include "event.h"

#define CALL(...)
#define CHARACTER(...)
#define VARIADIC(...)
#define FRESH(...)
#define SKIP(...)
#define SKIPS(...)
#define HAND EXPORTED
#include "calls.def"
#undef CALL
#undef CHARACTER
#undef VARIADIC
#undef FRESH
#undef SKIP
#undef SKIPS
#undef HAND

// The same body for a name and its siblings.
#define FORWARD(name, type, parameters, function, ...)                                                                 \
    type provio_##name parameters {                                                                                    \
        return function(API_##name, REAL(name), __VA_ARGS__);                                                          \
    }

// descriptors.c
int object_doubled(struct object *object, int copy);
int open_mode(int fd); // O_RDONLY, O_WRONLY or O_RDWR
void forget_standard(void);

int watched_fclose(int (*real)(FILE *), FILE *stream);

enum { STREAM_FAILED = 0x20 }; // _IO_ERR_SEEN

static inline int64_t amount(FILE *stream, size_t bytes) {
    return bytes == 0 && (stream_flags(stream) & STREAM_FAILED) ? -1 : (int64_t)bytes;
}

static inline int64_t length(FILE *stream, const char *line) {
    return amount(stream, line == NULL ? 0 : strlen(line));
}

// gets removes the newline that it read.
static inline int64_t line_length(FILE *stream, const char *line) {
    return line == NULL ? amount(stream, 0) : (int64_t)strlen(line) + 1;
}

// The bytes that scanf took from the buffer; after a refill, only those since the refill.
static inline int64_t consumed(FILE *stream, intptr_t before, int result) {
    const char *start = (const char *)before, *at = read_at(stream);
    if (result == EOF) return amount(stream, 0);
    return at - (start >= read_base(stream) && start <= at ? start : read_base(stream));
}

// The bytes put into the buffer after `before`, if it was not flushed in between.
static inline int64_t produced(FILE *stream, intptr_t before) {
    intptr_t put = (intptr_t)write_at(stream) - before;
    return put > 0 && put <= buffer_size(stream) ? put : write_at(stream) - write_base(stream);
}

static inline int64_t message_received(const struct msghdr *message, ssize_t size) {
    if (size >= 0 && message->msg_controllen > 0) message_taken(message);
    return size;
}

static inline int64_t messages_received(const struct mmsghdr *messages, int count) {
    int64_t bytes = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++) bytes += message_received(&messages[i].msg_hdr, messages[i].msg_len);
    return bytes;
}

static inline int64_t message_bytes(const struct mmsghdr *messages, int count) {
    int64_t bytes = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++) bytes += messages[i].msg_len;
    return bytes;
}

static inline int descriptor(FILE *stream) {
    return stream == NULL ? -1 : stream_fd(stream);
}

// Failures are -1 and an errno, or the error itself below -4095.
static inline int64_t returned(int error) {
    return error == 0 ? 0 : -4095 - (int64_t)error;
}

static inline int error_of(int64_t outcome) {
    return outcome < -4095 ? (int)(-4095 - outcome) : errno;
}

#if defined(__GLIBC__)
struct wide { // the start of glibc's struct _IO_wide_data, which is in no header but never changed
    const wchar_t *read_ptr, *read_end, *read_base, *write_base, *write_ptr, *write_end;
};

static inline const struct wide *wide_of(FILE *stream) {
    return stream_wide(stream) ? (const struct wide *)stream->_wide_data : NULL; // otherwise not wide, or not yet
}

static inline intptr_t wide_before(FILE *stream, enum side side) {
    const struct wide *wide = wide_of(stream);
    return wide == NULL ? 0 : (intptr_t)(side == READING ? wide->read_ptr : wide->write_ptr);
}
#else
static inline intptr_t wide_before(FILE *stream, enum side side) {
    return (intptr_t)(side == READING ? read_at(stream) : write_at(stream)); // the same buffer, in bytes
}
#endif

static inline int64_t wide(wint_t character) {
    return character == WEOF ? -1 : character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

static inline int64_t wide_got(FILE *stream, wint_t character) {
    return character == WEOF ? amount(stream, 0) : wide(character);
}

static inline int64_t wide_length(const wchar_t *text) {
    int64_t bytes = 0;
    for (; *text != L'\0'; text++) bytes += wide((wint_t)*text);
    return bytes;
}

#if defined(__GLIBC__)
static inline int64_t wide_between(const wchar_t *start, const wchar_t *end) {
    int64_t bytes = 0;
    for (; start < end; start++) bytes += wide((wint_t)*start);
    return bytes;
}

// As consumed(). A stream that only now became wide has read from the start of its buffer.
static inline int64_t wide_taken(FILE *stream, intptr_t before, int result) {
    const struct wide *wide = wide_of(stream);
    if (result == EOF || wide == NULL) return amount(stream, 0);
    const wchar_t *start = before == 0 ? wide->read_base : (const wchar_t *)before;
    return start < wide->read_base ? 0 : wide_between(start, wide->read_ptr);
}

// After a flush in between, only the number of characters is known.
static inline int64_t wide_put(FILE *stream, intptr_t before, int result) {
    const struct wide *wide = wide_of(stream);
    if (result < 0 || wide == NULL) return -1;
    const wchar_t *start = before == 0 ? wide->write_base : (const wchar_t *)before;
    return wide->write_ptr - start == result ? wide_between(start, wide->write_ptr) : result;
}
#else
static inline int64_t wide_taken(FILE *stream, intptr_t before, int result) {
    return consumed(stream, before, result);
}

static inline int64_t wide_put(FILE *stream, intptr_t before, int result) {
    return result < 0 ? -1 : produced(stream, before);
}
#endif

#endif
