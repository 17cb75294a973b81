// What each term does around the real call: WATCH_Read, WATCH_Open … For intercept.c.
#ifndef PROVIO_TERMS_H
#define PROVIO_TERMS_H

#include "subjects.h"

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
    uint64_t where = OFFSET_##subject, started = buffered ? 0 : begun(thread, object, serial, way);                    \
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

// Many programs flush their streams when they end, used or not: that is no I/O.
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

// A reposition is no fact of its own: it tells which calls began where the one before ended.
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

// Asked for only where offsets are recorded: it may be a system call. Else any other offset than the last.
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
    EVENT(name, type, arguments, outcome, DOOMED_##subject, DELETED_##subject)
#define DOOMED_NAME(dirfd, path) statx_facts(dirfd, path, AT_SYMLINK_NOFOLLOW, &facts)
#define DELETED_NAME(dirfd, path) event_delete(api, dirfd, path, &facts, started)

#define DOOMED_SHARED_MEMORY(name)                                                                                     \
    char path[sizeof SHARED_MEMORY_FOLDER + NAME_MAX];                                                                 \
    DOOMED_NAME(AT_FDCWD, shared_memory_path(path, name))
#define DELETED_SHARED_MEMORY(name) DELETED_NAME(AT_FDCWD, path)

#define SHARED_MEMORY_FOLDER "/dev/shm/"

// shm_overview(7): what a name of shared memory is in the file system.
static const char *shared_memory_path(char *room, const char *name) {
    size_t folder = sizeof SHARED_MEMORY_FOLDER - 1;
    memcpy(room, SHARED_MEMORY_FOLDER, folder);
    while (*name == '/') name++;
    size_t length = strlen(name);
    if (length > NAME_MAX) length = NAME_MAX; // no such name: the call says so
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
    EVENT(name, type, arguments, outcome, UNSET_##subject, SET_##subject)
#define UNSET_TIMES(dirfd, path, flags) statx_facts(dirfd, or_itself(path), (flags) | AT_EMPTY_PATH, &facts)
#define SET_TIMES(dirfd, path, flags) event_times(api, dirfd, path, flags, &facts, started)

#define WATCH_SetMode(name, type, arguments, subject, outcome) EVENT(name, type, arguments, outcome, , SET_##subject)
#define WATCH_SetOwner WATCH_SetMode
#define WATCH_SetAttribute WATCH_SetMode
#define SET_MODE(dirfd, path, flags, mode) event_mode(api, dirfd, path, flags, mode, started)
#define SET_OWNER(dirfd, path, flags, owner, group) event_owner(api, dirfd, path, flags, owner, group, started)
#define SET_ATTRIBUTE(dirfd, path, flags, attribute) event_attribute(api, dirfd, path, flags, attribute, started)

// Asking and listing are not recorded unless that is asked for.
#define WATCH_Stat(name, type, arguments, subject, outcome)                                                            \
    if (likely(!settings.stat)) return REAL(name) arguments;                                                           \
    EVENT(name, type, arguments, outcome, , ASKED_##subject)
#define ASKED_NAME(dirfd, path) event_asked(api, TERM_Stat, dirfd, path, started)
#define WATCH_List(name, type, arguments, subject, outcome)                                                            \
    if (likely(!settings.list)) return REAL(name) arguments;                                                           \
    EVENT(name, type, arguments, outcome, , LISTED_##subject)
#define LISTED_NAME(dirfd, path) event_asked(api, TERM_List, dirfd, path, started)
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

#endif
