// Wide characters in a row: their bytes are those of UTF-8. For intercept.c.
#ifndef PROVIO_WIDE_H
#define PROVIO_WIDE_H

#include "outcomes.h"

#if defined(__GLIBC__)
struct wide { // the beginning of glibc's struct _IO_wide_data, which is not in its headers but never changed
    const wchar_t *read_ptr, *read_end, *read_base, *write_base, *write_ptr, *write_end;
};

static inline const struct wide *wide_of(FILE *stream) {
    return stream_wide(stream) ? (const struct wide *)stream->_wide_data : NULL; // else not wide, or not yet
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

static int64_t wide_length(const wchar_t *text) {
    int64_t bytes = 0;
    for (; *text != L'\0'; text++) bytes += wide((wint_t)*text);
    return bytes;
}

#if defined(__GLIBC__)
static int64_t wide_between(const wchar_t *start, const wchar_t *end) {
    int64_t bytes = 0;
    for (; start < end; start++) bytes += wide((wint_t)*start);
    return bytes;
}

// As consumed(); a stream that only now became wide has read from the start of its buffer.
static int64_t wide_taken(FILE *stream, intptr_t before, int result) {
    const struct wide *wide = wide_of(stream);
    if (result == EOF || wide == NULL) return amount(stream, 0);
    const wchar_t *start = before == 0 ? wide->read_base : (const wchar_t *)before;
    return start < wide->read_base ? 0 : wide_between(start, wide->read_ptr);
}

// What was flushed meanwhile can only be counted in characters.
static int64_t wide_put(FILE *stream, intptr_t before, int result) {
    const struct wide *wide = wide_of(stream);
    if (result < 0 || wide == NULL) return -1;
    const wchar_t *start = before == 0 ? wide->write_base : (const wchar_t *)before;
    return wide->write_ptr - start == result ? wide_between(start, wide->write_ptr) : result;
}
#else
static int64_t wide_taken(FILE *stream, intptr_t before, int result) {
    return consumed(stream, before, result);
}

static int64_t wide_put(FILE *stream, intptr_t before, int result) {
    return result < 0 ? -1 : produced(stream, before);
}
#endif

#endif
