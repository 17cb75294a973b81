// Keeps a copy of the bytes that the processes of the run write to its standard output and error, if that is requested
// (`record.output`): the files `1.<limit>.output` and `2.<limit>.output` of the host. Nothing between the program and
// its terminal, pipe or file changes. Without the request the real functions stay in the table, and no call costs more.
//
// The size of such a file is the number of all written bytes. Bytes that are not kept are holes: those before the last
// ones (`tail`), or those after the limit (`all`).
#include "output.h"

enum { STEP = 1 << 20, TAIL = 128 << 10, LINE_BUFFERED = 0x200, FALLOCATE_PUNCH_KEEP = 3 };

static struct facts outputs[2];            // of standard output and error of the run
static uint64_t limit;                     // bytes; 0: keep only the last ones
static uint64_t on_terminal;               // whether one of them is a terminal: programs open it again for themselves
static EARLY const char *_Atomic seen[2];  // where the text of the stream ends that was already kept
static __typeof__(vsnprintf) *format_text; // looked up: the shim links no function that a program may replace
static struct real real;                   // the functions that are replaced in the table

static const char *number(const char *at, uint64_t *found) {
    for (*found = 0; *at >= '0' && *at <= '9'; at++) *found = *found * 10 + (uint64_t)(*at - '0');
    return *at == '\0' ? at : at + 1;
}

// The stream of the run (0 or 1) that a descriptor is now; -1: neither. If both of the run are the same file, the
// number of the descriptor decides.
static int stream_of(int fd) {
    struct facts facts;
    int likely_one = fd == 2 ? 1 : 0;
    if (!statx_facts(fd, "", AT_EMPTY_PATH, &facts)) return -1;
    if (is_same_file(&facts, &outputs[likely_one])) return likely_one;
    return is_same_file(&facts, &outputs[1 - likely_one]) ? 1 - likely_one : -1;
}

static int stream_of_written(int fd) {
    return fd == 1 || fd == 2 || on_terminal ? stream_of(fd) : -1;
}

static int stream_of_file(const FILE *stream) {
    int fd = stream == NULL || stream_wide(stream) ? -1 : stream_fd(stream);
    return fd == 1 || fd == 2 ? stream_of(fd) : -1;
}

static long output_open(int which) {
    char *place = pool_take(&scratches);
    if (place == NULL) return -ENOMEM;
    struct text name = {place, place + PATH_ROOM - 1};
    text_string(&name, settings.folder);
    text_string(&name, which == 0 ? "/1." : "/2.");
    text_number(&name, limit);
    TEXT(&name, ".output");
    *name.at = '\0';
    long fd = RAW(openat, AT_FDCWD, (long)place, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    pool_give(&scratches, place);
    return fd;
}

// Append the parts of a text, which may be shortened. Several processes may do this at once: each appends at the end.
void keep_parts(int which, struct iovec *parts, int count) {
    size_t whole = 0, kept = 0;
    for (int i = 0; i < count; i++) whole += parts[i].iov_len;
    long fd = whole == 0 ? -1 : output_open(which);
    if (fd < 0) return;
    long found = RAW(lseek, fd, 0, SEEK_END);
    uint64_t end = found < 0 ? 0 : (uint64_t)found, room = limit == 0 ? whole : limit > end ? limit - end : 0;
    if (found >= 0 && size_allowed(end + whole)) {
        for (int i = 0; i < count; i++) {
            if (parts[i].iov_len > room - kept) parts[i].iov_len = room - kept;
            kept += parts[i].iov_len;
        }
        if (kept > 0) RAW(writev, fd, (long)parts, count);
        if (kept < whole) RAW(ftruncate, fd, (long)(end + whole));
        if (limit == 0 && end / STEP != (end + whole) / STEP && end > TAIL)
            RAW(fallocate, fd, FALLOCATE_PUNCH_KEEP, 0, (long)(end - TAIL));
    }
    RAW(close, fd);
}

static void keep(int which, const void *data, size_t size) {
    keep_parts(which, &(struct iovec){(void *)data, size}, 1);
}

// ---- descriptors

static ssize_t kept_write(int fd, const void *data, size_t size) {
    ssize_t written = real.real_write(fd, data, size);
    int which = written > 0 ? stream_of_written(fd) : -1;
    if (which >= 0) keep(which, data, (size_t)written);
    return written;
}

static ssize_t kept_writev(int fd, const struct iovec *parts, int count) {
    ssize_t written = real.real_writev(fd, parts, count);
    int which = written > 0 ? stream_of_written(fd) : -1;
    size_t left = which < 0 ? 0 : (size_t)written;
    for (int i = 0; i < count && left > 0; i++) {
        size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;
        keep(which, parts[i].iov_base, size);
        left -= size;
    }
    return written;
}

// Data that the kernel copied from a file, as for cat(1): they are read again.
static void keep_copied(int out, int in, int64_t at, ssize_t size) {
    int which = size > 0 && at >= 0 ? stream_of_written(out) : -1;
    char *room = which >= 0 ? pool_take(&scratches) : NULL;
    for (ssize_t left = room == NULL ? 0 : size; left > 0;) {
        long got = RAW(pread64, in, (long)room, left < PAGE ? left : PAGE, (long)at);
        if (got <= 0) break;
        keep(which, room, (size_t)got);
        left -= got;
        at += got;
    }
    if (room != NULL) pool_give(&scratches, room);
}

static int64_t place_in(int in, const off64_t *place) {
    return place != NULL ? *place : RAW(lseek, in, 0, SEEK_CUR);
}

static ssize_t kept_copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    int64_t at = place_in(in, from);
    ssize_t copied = real.real_copy_file_range(in, from, out, to, size, flags);
    keep_copied(out, in, at, copied);
    return copied;
}

#define KEPT_SENT(name)                                                                                                \
    static ssize_t kept_##name(int out, int in, off64_t *from, size_t size) {                                          \
        int64_t at = place_in(in, from);                                                                               \
        ssize_t copied = real.real_##name(out, in, from, size);                                                        \
        keep_copied(out, in, at, copied);                                                                              \
        return copied;                                                                                                 \
    }
KEPT_SENT(sendfile)
KEPT_SENT(sendfile64)

// ---- streams of the C library

// Keep the text that the program put into the buffer of the stream itself, without a call.
int output_before(FILE *stream) {
    int which = stream_of_file(stream);
    if (which < 0) return which;
    const char *base = write_base(stream), *at = write_at(stream), *from = relaxed(seen[which]);
    if (from < base || from > at) from = base;
    if (at > from) keep(which, from, (size_t)(at - from));
    atomic_store(&seen[which], at);
    return which;
}

void output_after(int which, FILE *stream) {
    atomic_store(&seen[which], write_at(stream));
}

static size_t written_block(size_t result, const void *data, size_t size, int which, FILE *stream) {
    if (which < 0) return result;
    keep(which, data, result * size);
    output_after(which, stream);
    return result;
}

static int written_line(int result, const char *text, const char *newline, int which, FILE *stream) {
    if (which < 0) return result;
    struct iovec parts[] = {{(void *)text, strlen(text)}, {(void *)newline, strlen(newline)}};
    if (result >= 0) keep_parts(which, parts, 2);
    output_after(which, stream);
    return result;
}

// A character that stays in the buffer is kept with the next call.
static int before_character(int byte, FILE *stream) {
#if defined(__GLIBC__)
    bool stays = (stream_flags(stream) & LINE_BUFFERED) && byte != '\n' && write_base(stream) != NULL &&
                 write_at(stream) < stream->_IO_buf_end;
#else
    bool stays = false;
#endif
    return stays || write_at(stream) < write_end(stream) ? -1 : output_before(stream);
}

static int written_character(int result, int byte, int which, FILE *stream) {
    if (which < 0) return result;
    char character = (char)byte;
    if (result != EOF) keep(which, &character, 1);
    output_after(which, stream);
    return result;
}

// A stream without a buffer has no trace of a text: it is formatted a second time. vsnprintf(3) does no more than the
// program's own call, and only this call needs it. Without memory for a long text, its start remains.
void output_format(struct formatted *made, const char *format, va_list list) {
    int size = -1;
    va_list again;
    va_copy(again, list);
    *made = (struct formatted){.text = made->room};
    if (format_text != NULL) size = format_text(made->room, sizeof made->room, format, list);
    if (size < 0) made->room[0] = '\0';
    made->size = size < 0 ? 0 : size < SHORT ? (size_t)size : SHORT - 1;
    long larger = size < SHORT ? 0 : memory_map((size_t)size + 1, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (larger > 0 || larger < -PAGE) {
        made->text = (char *)larger;
        made->size = (size_t)size;
        format_text(made->text, made->size + 1, format, again);
    }
    va_end(again);
}

void output_formatted(struct formatted *made) {
    if (made->text != made->room) memory_unmap(made->text, made->size + 1);
}

static int written_format(int which, int result, const char *format, va_list list) {
    struct formatted made;
    int kept = errno;
    if (which >= 0 && result > 0) {
        output_format(&made, format, list);
        keep(which, made.text, made.size);
        output_formatted(&made);
    }
    errno = kept;
    return result;
}

#define KEPT_BLOCK(name)                                                                                               \
    static size_t kept_##name(const void *data, size_t size, size_t count, FILE *stream) {                             \
        int which = output_before(stream);                                                                             \
        return written_block(real.real_##name(data, size, count, stream), data, size, which, stream);                  \
    }
#define KEPT_TEXT(name)                                                                                                \
    static int kept_##name(const char *text, FILE *stream) {                                                           \
        int which = output_before(stream);                                                                             \
        return written_line(real.real_##name(text, stream), text, "", which, stream);                                  \
    }
#define KEPT_LINE(name)                                                                                                \
    static int kept_##name(const char *text) {                                                                         \
        int which = output_before(stdout);                                                                             \
        return written_line(real.real_##name(text), text, "\n", which, stdout);                                        \
    }
#define KEPT_CHARACTER(name)                                                                                           \
    static int kept_##name(int byte, FILE *stream) {                                                                   \
        int which = before_character(byte, stream);                                                                    \
        return written_character(real.real_##name(byte, stream), byte, which, stream);                                 \
    }
#define KEPT_STANDARD(name)                                                                                            \
    static int kept_##name(int byte) {                                                                                 \
        int which = before_character(byte, stdout);                                                                    \
        return written_character(real.real_##name(byte), byte, which, stdout);                                         \
    }
#define KEPT_FLUSH(name)                                                                                               \
    static int kept_##name(FILE *stream) {                                                                             \
        if (stream == NULL) output_before(stdout);                                                                     \
        int which = output_before(stream), result = real.real_##name(stream);                                          \
        if (which >= 0) output_after(which, stream);                                                                   \
        return result;                                                                                                 \
    }
#define KEPT_CLOSE(name)                                                                                               \
    static int kept_##name(FILE *stream) {                                                                             \
        output_before(stream);                                                                                         \
        return real.real_##name(stream);                                                                               \
    }
#define KEPT_FORMAT(name, stream, parameters, arguments)                                                               \
    static int kept_##name parameters {                                                                                \
        va_list copy;                                                                                                  \
        va_copy(copy, list);                                                                                           \
        int which = output_before(stream), result = real.real_##name arguments;                                        \
        written_format(which, result, format, copy);                                                                   \
        if (which >= 0) output_after(which, stream);                                                                   \
        va_end(copy);                                                                                                  \
        return result;                                                                                                 \
    }
#define KEPT_FORMAT_FD(name, parameters, arguments)                                                                    \
    static int kept_##name parameters {                                                                                \
        va_list copy;                                                                                                  \
        va_copy(copy, list);                                                                                           \
        int result = real.real_##name arguments;                                                                       \
        written_format(stream_of_written(fd), result, format, copy);                                                   \
        va_end(copy);                                                                                                  \
        return result;                                                                                                 \
    }

static ssize_t kept___write(int fd, const void *data, size_t size) {
    return kept_write(fd, data, size);
}
KEPT_BLOCK(fwrite)
KEPT_BLOCK(_IO_fwrite)
KEPT_BLOCK(fwrite_unlocked)
KEPT_TEXT(fputs)
KEPT_TEXT(_IO_fputs)
KEPT_TEXT(fputs_unlocked)
KEPT_LINE(puts)
KEPT_LINE(_IO_puts)
KEPT_CHARACTER(putc)
KEPT_CHARACTER(_IO_putc)
KEPT_CHARACTER(fputc)
KEPT_CHARACTER(putc_unlocked)
KEPT_CHARACTER(fputc_unlocked)
KEPT_STANDARD(putchar)
KEPT_STANDARD(putchar_unlocked)
KEPT_FLUSH(fflush)
KEPT_FLUSH(fflush_unlocked)
KEPT_FLUSH(_IO_fflush)
KEPT_CLOSE(fclose)
KEPT_CLOSE(_IO_fclose)
KEPT_FORMAT(vprintf, stdout, (const char *format, va_list list), (format, list))
KEPT_FORMAT(vfprintf, stream, (FILE * stream, const char *format, va_list list), (stream, format, list))
KEPT_FORMAT(_IO_vfprintf, stream, (FILE * stream, const char *format, va_list list), (stream, format, list))
KEPT_FORMAT(__vprintf_chk, stdout, (int level, const char *format, va_list list), (level, format, list))
KEPT_FORMAT(__vfprintf_chk, stream, (FILE * stream, int level, const char *format, va_list list),
            (stream, level, format, list))
KEPT_FORMAT_FD(vdprintf, (int fd, const char *format, va_list list), (fd, format, list))
KEPT_FORMAT_FD(__vdprintf_chk, (int fd, int level, const char *format, va_list list), (fd, level, format, list))

// The C library asks for room in the buffer: it is full, or flushed at each line.
static int kept___overflow(FILE *stream, int byte) {
    int which = output_before(stream), result = real.real___overflow(stream, byte);
    return byte == EOF ? (which >= 0 ? output_after(which, stream) : (void)0, result)
                       : written_character(result, byte, which, stream);
}

// After the last flush of the program: the C library writes the rest of the buffers.
void output_end(void) {
    output_before(stdout);
}

// The request: bytes that are kept (0: the last ones), device and inode of standard output and of error, and whether
// one of them is a terminal.
void output_add(const char *request) {
    request = number(request, &limit);
    for (int i = 0; i < 2; i++) {
        uint64_t major = 0, minor = 0;
        request = number(number(number(request, &major), &minor), &outputs[i].inode);
        outputs[i].device_major = (uint32_t)major;
        outputs[i].device_minor = (uint32_t)minor;
    }
    number(request, &on_terminal);
    settings.output = true;
}

#define KEEP(name)                                                                                                     \
    real.real_##name = REAL(name);                                                                                     \
    atomic_store(&real_functions[API_##name], (void *)kept_##name);

void output_begin(void) {
    format_text = real_named("vsnprintf");
    KEEP(write)
    KEEP(__write)
    KEEP(writev)
    KEEP(copy_file_range)
    KEEP(sendfile)
    KEEP(sendfile64)
    KEEP(fwrite)
    KEEP(_IO_fwrite)
    KEEP(fwrite_unlocked)
    KEEP(fputs)
    KEEP(_IO_fputs)
    KEEP(fputs_unlocked)
    KEEP(puts)
    KEEP(_IO_puts)
    KEEP(putc)
    KEEP(_IO_putc)
    KEEP(fputc)
    KEEP(putc_unlocked)
    KEEP(fputc_unlocked)
    KEEP(putchar)
    KEEP(putchar_unlocked)
    KEEP(__overflow)
    KEEP(fflush)
    KEEP(fflush_unlocked)
    KEEP(_IO_fflush)
    KEEP(fclose)
    KEEP(_IO_fclose)
    KEEP(vprintf)
    KEEP(vfprintf)
    KEEP(_IO_vfprintf)
    KEEP(__vprintf_chk)
    KEEP(__vfprintf_chk)
    KEEP(vdprintf)
    KEEP(__vdprintf_chk)
    messages_begin();
}
