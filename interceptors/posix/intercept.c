// Makes a wrapper from each row of calls.def.
#include "rows.h"

#define DESCRIPTOR_FD(fd) fd
#define DESCRIPTOR_STREAM(stream) stream_fd(stream)
#define DESCRIPTOR_PENDING(stream) stream_fd(stream)
#define BEFORE_FD(fd) 0
#define BEFORE_STREAM(stream) (intptr_t) read_at(stream)
#define BEFORE_PENDING(stream) 0

#define DESCRIPTOR_AT(fd, offset) fd
#define BEFORE_AT(fd, offset) 0
#define BUFFERED_AT(fd, offset) false
// The offset: the call's own, or the end of the last call.
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
// Whether a call may write to its descriptor now. One that starts in a stream's buffer may be too long for it, unless
// its size is known: the buffer itself is counted already.
#define WRITES_FD(fd) true
#define WRITES_AT(fd, offset) (offset) == -1
#define WRITES_STREAM(stream) true
#define WRITES_PENDING(stream) true
#define WRITES_INSIDE(stream) true
#define WRITES_GROWING(stream) true
#define WRITES_WIDE(stream) true
#define WRITES_WIDE_LINE(stream) true
#define WRITES_WIDE_TEXT(stream) true
#define WRITES_BLOCK(stream, size) !in_buffer(stream, way, size)
#define WRITES_ONE_STREAM(stream) !in_buffer(stream, WRITING, 1)
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
#define BUFFERED_WIDE(stream) !detailed(DETAIL_CALL) // as for other characters, the time is read only now and then
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

// Whether a stream can serve `size` bytes from its buffer, without I/O that takes noticeable time.
static inline bool in_buffer(FILE *stream, enum side side, size_t size) {
    const char *at = side == READING ? read_at(stream) : write_at(stream);
    const char *end = side == READING ? read_end(stream) : write_end(stream);
    return (size_t)(end - at) >= size && end > at;
}

// For calls that flush their stream each time.
static intptr_t file_size(FILE *stream) {
    struct facts facts;
    return statx_facts(stream_fd(stream), "", AT_EMPTY_PATH, &facts) ? (intptr_t)facts.size : 0;
}

// fflush(NULL) is on no stream; flushing an unused buffer does not count as use of the stream.
static int flushed_descriptor(const FILE *stream) {
    if (stream == NULL || stream_fd(stream) < 0) return -1;
    struct object *object = object_known(stream_fd(stream));
    bool used = object != NULL && relaxed(object->serial) != 0;
    return used || write_at(stream) > write_base(stream) ? stream_fd(stream) : -1;
}

#define COUNTED(direction, known_call, real_call, type, api, subject, outcome)                                         \
    if (relaxed(process.alive) <= DETAIL_FILE + 1) {                                                                   \
        if (nothing_new(DESCRIPTOR_##subject, direction, api)) return known_call;                                      \
        if (!watching()) return real_call;                                                                             \
    }                                                                                                                  \
    struct object *object = object_of(DESCRIPTOR_##subject);                                                           \
    if (object == &ignored) return real_call;                                                                          \
    const enum side way = direction;                                                                                   \
    uint64_t serial = relaxed(object->serial);                                                                         \
    struct thread *thread = thread_self();                                                                             \
    const intptr_t before = BEFORE_##subject;                                                                          \
    const bool buffered = BUFFERED_##subject;                                                                          \
    const uint64_t stored = INLINE_##subject;                                                                          \
    uint64_t where = OFFSET_##subject, started = buffered ? 0 : start_time(thread, object, serial, way);               \
    if (way == WRITING && unlikely(relaxed(object->channel)) && (WRITES_##subject))                                    \
        access_attempted(thread, object, serial, api);                                                                 \
    type result = real_call;                                                                                           \
    int64_t bytes = outcome;                                                                                           \
    SEEN_##subject;                                                                                                    \
    if (likely(bytes >= 0)) {                                                                                          \
        bytes += (int64_t)stored;                                                                                      \
        if (buffered) {                                                                                                \
            account_untimed(thread, object, way, api, (uint64_t)bytes);                                                \
        } else {                                                                                                       \
            account(thread, object, serial, way, api, where, (uint64_t)bytes, started);                                \
            if (MOVES_##subject) object_moved(object, where + (uint64_t)bytes);                                        \
        }                                                                                                              \
    } else {                                                                                                           \
        access_failed(thread, object, api, started);                                                                   \
    }                                                                                                                  \
    (void)before;                                                                                                      \
    (void)way;                                                                                                         \
    return result;

#define WATCH_Read(name, type, arguments, subject, outcome)                                                            \
    COUNTED(READING, KNOWN(name) arguments, REAL(name) arguments, type, API_##name, subject, outcome)
#define WATCH_Write(name, type, arguments, subject, outcome)                                                           \
    COUNTED(WRITING, KNOWN(name) arguments, REAL(name) arguments, type, API_##name, subject, outcome)

#define SIDE_Read READING
#define SIDE_Write WRITING

// Many programs flush their streams at the end, used or not: without data that is no I/O.
static inline bool unwritten(const FILE *stream) {
    return stream == NULL || stream_wide(stream) || write_at(stream) > write_base(stream);
}

#define OPERATION(count, term, name, type, arguments, subject, outcome)                                                \
    if (!watching()) return REAL(name) arguments;                                                                      \
    struct object *object = object_of(DESCRIPTOR_##subject);                                                           \
    if (object == &ignored) return REAL(name) arguments;                                                               \
    struct thread *thread = thread_self();                                                                             \
    DRAINS_##subject;                                                                                                  \
    uint64_t started = now(thread);                                                                                    \
    type result = REAL(name) arguments;                                                                                \
    DRAINED_##subject;                                                                                                 \
    if ((outcome) >= 0)                                                                                                \
        count(thread, object, term, API_##name, BYTES_##subject, started);                                             \
    else                                                                                                               \
        access_failed_with(thread, object, API_##name, error_of(outcome), started);                                    \
    return result;

#define WATCH_Fsync(...) OPERATION(count_operation, TERM_Fsync, __VA_ARGS__)
#define WATCH_Flush(name, type, arguments, subject, outcome)                                                           \
    if (!UNWRITTEN_##subject) return REAL(name) arguments;                                                             \
    OPERATION(count_operation, TERM_Flush, name, type, arguments, subject, outcome)
#define UNWRITTEN_FLUSHED(stream) unwritten(stream)
#define WATCH_Allocate(...) OPERATION(count_change, TERM_Allocate, __VA_ARGS__)
#define DESCRIPTOR_FD_BYTES(fd, size) fd
#define BYTES_FD(fd) 0
#define BYTES_FLUSHED(stream) 0
#define DRAINS_FLUSHED(stream) put_count(stream)
#define DRAINED_FLUSHED(stream) put_seen(object, stream)
#define DRAINS_FD_BYTES(fd, size) (void)0
#define DRAINED_FD_BYTES(fd, size) (void)0
#define BYTES_FD_BYTES(fd, size) (uint64_t) size

// A reposition is not recorded itself. It decides which calls start where the previous one ended.
#define WATCH_Seek(name, type, arguments, subject, outcome)                                                            \
    struct object *object = watching() ? object_known(DESCRIPTOR_##subject) : NULL;                                    \
    if (object == NULL || object == &ignored) return REAL(name) arguments;                                             \
    struct thread *thread = thread_self();                                                                             \
    DRAINS_##subject;                                                                                                  \
    uint64_t started = thread == NULL ? 0 : now(thread);                                                               \
    type result = REAL(name) arguments;                                                                                \
    DRAINED_##subject;                                                                                                 \
    if ((outcome) >= 0)                                                                                                \
        object_moved(object, SOUGHT_##subject);                                                                        \
    else if (thread != NULL)                                                                                           \
        access_failed(thread, relaxed(object->serial) == 0 ? NULL : object, API_##name, started);                      \
    return result;
#define DRAINS_FD(fd) (void)0
#define DRAINS_STREAM(stream) put_count(stream)
#define DRAINED_FD(fd) (void)0
#define DRAINED_STREAM(stream) put_seen(object, stream)
#define SOUGHT_FD(fd) (uint64_t) result
#define SOUGHT_STREAM(stream) stream_position(stream, object)

// The exact position is read only if offsets are recorded, because that may be a system call. Otherwise a position that
// differs from the last one suffices.
static uint64_t stream_position(FILE *stream, const struct object *object) {
    if (!detailed(DETAIL_CALL)) return relaxed(object->position) + ((uint64_t)1 << 40);
    int kept = errno;
    off64_t position = ftello64(stream);
    errno = kept;
    return position < 0 ? 0 : (uint64_t)position;
}

#define EVENT(name, type, arguments, outcome, before, after)                                                           \
    struct thread *thread = watching() ? thread_self() : NULL;                                                         \
    if (thread == NULL) return REAL(name) arguments;                                                                   \
    uint64_t started = now(thread);                                                                                    \
    before;                                                                                                            \
    type result = REAL(name) arguments;                                                                                \
    const int api = API_##name;                                                                                        \
    if ((outcome) >= 0)                                                                                                \
        after;                                                                                                         \
    else                                                                                                               \
        access_failed_with(thread, NULL, api, error_of(outcome), started);                                             \
    return result;

#define IS_STREAM(value) _Generic((value), FILE * : true, default : false)
#define WATCH_Open(name, type, arguments, subject, outcome)                                                            \
    EVENT(name, type, arguments, outcome, , opened(api, outcome, IS_STREAM(result), started, OPENING_##subject))
#define OPENING_FILE_AT(dirfd, path, flags) dirfd, path, flags
#define OPENING_FOUND(flags) AT_FDCWD, NULL, flags

static void opened(int api, int fd, bool stream, uint64_t started, int dirfd, const char *path, int flags) {
    object_open(api, fd, dirfd, path, flags, started, stream);
}

#define WATCH_Link(name, type, arguments, subject, outcome) EVENT(name, type, arguments, outcome, , LINKED_##subject)
#define LINKED_FILES(fromfd, from, tofd, to) event_rename(api, TERM_Link, fromfd, from, tofd, to, started)
#define LINKED_SYMBOLIC(target, dirfd, path) event_symbolic(api, target, dirfd, path, started)
#define WATCH_Rename(name, type, arguments, subject, outcome) EVENT(name, type, arguments, outcome, , RENAMED_##subject)
#define RENAMED_FILES(fromfd, from, tofd, to) event_rename(api, TERM_Rename, fromfd, from, tofd, to, started)

#define WATCH_Delete(name, type, arguments, subject, outcome)                                                          \
    struct facts facts;                                                                                                \
    EVENT(name, type, arguments, outcome, BEFORE_DELETE_##subject, DELETED_##subject)
#define BEFORE_DELETE_NAME(dirfd, path) statx_facts(dirfd, path, AT_SYMLINK_NOFOLLOW, &facts)
#define DELETED_NAME(dirfd, path) event_delete(api, dirfd, path, &facts, started)

#define BEFORE_DELETE_SHARED_MEMORY(name)                                                                              \
    char path[sizeof SHARED_MEMORY_FOLDER + NAME_MAX];                                                                 \
    BEFORE_DELETE_NAME(AT_FDCWD, shared_memory_path(path, name))
#define DELETED_SHARED_MEMORY(name) DELETED_NAME(AT_FDCWD, path)

#define SHARED_MEMORY_FOLDER "/dev/shm/"

// The file of a shared memory object: shm_overview(7).
static const char *shared_memory_path(char *room, const char *name) {
    size_t folder = sizeof SHARED_MEMORY_FOLDER - 1;
    memcpy(room, SHARED_MEMORY_FOLDER, folder);
    while (*name == '/') name++;
    size_t length = strlen(name);
    if (length > NAME_MAX) length = NAME_MAX; // no such name exists: the call fails
    memcpy(room + folder, name, length);
    room[folder + length] = '\0';
    return room;
}

#define WATCH_Create(name, type, arguments, subject, outcome) EVENT(name, type, arguments, outcome, , CREATED_##subject)
#define CREATED_NAME(dirfd, path) event_create(api, dirfd, path, started)

#define WATCH_Truncate(name, type, arguments, subject, outcome)                                                        \
    EVENT(name, type, arguments, outcome, , TRUNCATED_##subject)
#define TRUNCATED_PATH_LENGTH(path, length) event_truncate(api, -1, path, length, started)
#define TRUNCATED_FD_LENGTH(fd, length) event_truncate(api, fd, NULL, length, started)

#define WATCH_SetTimes(name, type, arguments, subject, outcome)                                                        \
    struct facts facts;                                                                                                \
    EVENT(name, type, arguments, outcome, BEFORE_SET_##subject, SET_##subject)
#define BEFORE_SET_TIMES(dirfd, path, flags) statx_facts(dirfd, or_itself(path), (flags) | AT_EMPTY_PATH, &facts)
#define SET_TIMES(dirfd, path, flags) event_times(api, dirfd, path, flags, &facts, started)

#define WATCH_SetMode(name, type, arguments, subject, outcome) EVENT(name, type, arguments, outcome, , SET_##subject)
#define WATCH_SetOwner WATCH_SetMode
#define WATCH_SetAttribute WATCH_SetMode
#define SET_MODE(dirfd, path, flags, mode) event_mode(api, dirfd, path, flags, mode, started)
#define SET_OWNER(dirfd, path, flags, owner, group) event_owner(api, dirfd, path, flags, owner, group, started)
#define SET_ATTRIBUTE(dirfd, path, flags, attribute)                                                                   \
    event_attribute(TERM_SetAttribute, api, dirfd, path, flags, attribute, started)

// The name is valid memory only if the call succeeded.
#define WATCH_GetAttribute(name, type, arguments, subject, outcome)                                                    \
    struct thread *thread = watching() ? thread_self() : NULL;                                                         \
    if (thread == NULL) return REAL(name) arguments;                                                                   \
    uint64_t started = now(thread);                                                                                    \
    type result = REAL(name) arguments;                                                                                \
    const int api = API_##name;                                                                                        \
    if ((outcome) >= 0)                                                                                                \
        GOT_##subject;                                                                                                 \
    else if (settings.stat)                                                                                            \
        access_failed_with(thread, NULL, api, error_of(outcome), started);                                             \
    return result;
#define GOT_ATTRIBUTE(dirfd, path, flags, attribute) event_attribute_got(api, dirfd, path, flags, attribute, started)

// Queries of metadata and listings of directories are recorded only on request.
#define WATCH_Stat(name, type, arguments, subject, outcome)                                                            \
    if (likely(!settings.stat)) return REAL(name) arguments;                                                           \
    EVENT(name, type, arguments, outcome, , LOOKED_UP_##subject)
#define LOOKED_UP_NAME(dirfd, path) event_lookup(api, TERM_Stat, dirfd, path, started)
#define WATCH_List(name, type, arguments, subject, outcome)                                                            \
    if (likely(!settings.list)) return REAL(name) arguments;                                                           \
    EVENT(name, type, arguments, outcome, , LISTED_##subject)
#define LISTED_NAME(dirfd, path) event_lookup(api, TERM_List, dirfd, path, started)
#define LISTED_PATTERN(pattern) event_pattern(api, pattern, started)
#define LISTED_DIRECTORY(directory) count_list(thread, dirfd(directory), api, 0, started)
#define LISTED_FD_BYTES(fd, size) count_list(thread, fd, api, (uint64_t)(size), started)

static void count_list(struct thread *thread, int fd, int api, uint64_t bytes, uint64_t started) {
    struct object *object = object_of(fd);
    if (object != &ignored) count_operation(thread, object, TERM_List, api, bytes, started);
}

// No path: the descriptor itself.
static inline const char *or_itself(const char *path) {
    return path == NULL ? "" : path;
}

// The flags of open(2) for a mode of fopen(3).
int mode_flags(const char *mode) {
    int flags = *mode == 'r' ? O_RDONLY : *mode == 'w' ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY | O_CREAT | O_APPEND;
    for (mode += *mode != '\0'; *mode != '\0' && *mode != ','; mode++) {
        if (*mode == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
        if (*mode == 'x') flags |= O_EXCL;
        if (*mode == 'e') flags |= O_CLOEXEC;
    }
    return flags;
}

void count_operation(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                     uint64_t started) {
    if (!detailed(DETAIL_FILE)) count_change(thread, object, term, api, bytes, started);
}

// A call that may have changed an object is recorded at every level of detail.
void count_change(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                  uint64_t started) {
    shim_enter(thread);
    struct counters *counters = access_counted(thread, object, term, api, NULL);
    if (counters != NULL) operation_add(thread, counters, bytes, started);
    shim_leave(thread);
}

#define CALL(name, type, parameters, arguments, Term, subject, outcome)                                                \
    EXPORTED(name, type, parameters)                                                                                   \
    type provio_##name parameters {                                                                                    \
        WATCH_##Term(name, type, arguments, subject, outcome)                                                          \
    }

// Two functions, so that no registers are saved for counting when there is nothing to count.
#define CHARACTER(name, type, parameters, arguments, Term, subject, outcome)                                           \
    EXPORTED(name, type, parameters)                                                                                   \
    static __attribute__((noinline)) type counted_##name parameters {                                                  \
        struct object *object = object_of(DESCRIPTOR_##subject);                                                       \
        if (SIDE_##Term == WRITING && unlikely(relaxed(object->channel)) && WRITES_ONE_##subject)                      \
            access_attempted(thread_self(), object, relaxed(object->serial), API_##name);                              \
        type result = REAL(name) arguments;                                                                            \
        if (object != &ignored && (outcome) >= 0) {                                                                    \
            if (SIDE_##Term == WRITING) ONE_##subject;                                                                 \
            account_character(object, SIDE_##Term, API_##name);                                                        \
        }                                                                                                              \
        return result;                                                                                                 \
    }                                                                                                                  \
    type provio_##name parameters {                                                                                    \
        if (relaxed(process.alive) <= DETAIL_FILE + 1) {                                                               \
            if (nothing_new(DESCRIPTOR_##subject, SIDE_##Term, API_##name)) return KNOWN(name) arguments;              \
            if (!watching()) return REAL(name) arguments;                                                              \
        }                                                                                                              \
        return counted_##name arguments;                                                                               \
    }

#define VARIADIC(name, type, parameters, last, sibling, arguments, Term, subject, outcome)                             \
    EXPORTED(name, type, parameters)                                                                                   \
    type provio_##name parameters {                                                                                    \
        va_list list;                                                                                                  \
        va_start(list, last);                                                                                          \
        struct object *object = watching() ? object_of(DESCRIPTOR_##subject) : &ignored;                               \
        struct thread *thread = object == &ignored ? NULL : thread_self();                                             \
        const intptr_t before = BEFORE_##subject;                                                                      \
        const enum side way = SIDE_##Term;                                                                             \
        const uint64_t stored = thread == NULL ? 0 : INLINE_##subject;                                                 \
        uint64_t serial = relaxed(object->serial), where = OFFSET_##subject;                                           \
        uint64_t started = thread == NULL ? 0 : now(thread);                                                           \
        if (way == WRITING && thread != NULL && relaxed(object->channel))                                              \
            access_attempted(thread, object, serial, API_##name);                                                      \
        type result = REAL(sibling) arguments;                                                                         \
        int64_t bytes = outcome;                                                                                       \
        va_end(list);                                                                                                  \
        (void)before;                                                                                                  \
        (void)way;                                                                                                     \
        if (thread != NULL) SEEN_##subject;                                                                            \
        if (thread != NULL && bytes >= 0) {                                                                            \
            bytes += (int64_t)stored;                                                                                  \
            account(thread, object, serial, SIDE_##Term, API_##name, where, (uint64_t)bytes, started);                 \
            object_moved(object, where + (uint64_t)bytes);                                                             \
        } else if (thread != NULL) {                                                                                   \
            access_failed(thread, object, API_##name, started);                                                        \
        }                                                                                                              \
        return result;                                                                                                 \
    }

#define FRESH(name, type, parameters, arguments)                                                                       \
    EXPORTED(name, type, parameters)                                                                                   \
    type provio_##name parameters {                                                                                    \
        bool watched = watching();                                                                                     \
        type result = REAL(name) arguments;                                                                            \
        if (watched && result >= 0) object_forget(result);                                                             \
        return result;                                                                                                 \
    }

#define HAND(name, type, parameters, ...)
#define SKIP(name, why)
#define SKIPS(...)

#include "calls.def"
