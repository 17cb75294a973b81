// The last column of a row: how many bytes a call moved, or its descriptor; negative for a failure. For intercept.c.
#ifndef PROVIO_OUTCOMES_H
#define PROVIO_OUTCOMES_H

#include "shim.h"

enum { STREAM_FAILED = 0x20 }; // _IO_ERR_SEEN

static inline int64_t amount(FILE *stream, size_t bytes) {
    return bytes == 0 && (stream_flags(stream) & STREAM_FAILED) ? -1 : (int64_t)bytes;
}

static inline int64_t length(FILE *stream, const char *line) {
    return amount(stream, line == NULL ? 0 : strlen(line));
}

// gets drops the newline that it took.
static inline int64_t line_length(FILE *stream, const char *line) {
    return line == NULL ? amount(stream, 0) : (int64_t)strlen(line) + 1;
}

// What scanf took from the buffer; where it refilled it, only the part behind.
static inline int64_t consumed(FILE *stream, intptr_t before, int result) {
    const char *start = (const char *)before, *at = read_at(stream);
    if (result == EOF) return amount(stream, 0);
    return at - (start >= read_base(stream) && start <= at ? start : read_base(stream));
}

// What was put into the buffer behind `before`, where it was not flushed meanwhile.
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

#endif
