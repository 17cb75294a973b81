// Rows of calls.def -> wrappers.
#include "terms.h"

// fopen(3): the flags that a mode stands for.
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

// What changes an object, or may have, is said at every detail.
void count_change(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                  uint64_t started) {
    thread->depth++;
    struct counters *counters = access_counted(thread, object, term, api, NULL);
    if (counters != NULL) operation_add(thread, counters, bytes, started);
    thread->depth--;
}

#define CALL(name, type, parameters, arguments, Term, subject, outcome)                                                \
    EXPORTED(name, type, parameters)                                                                                   \
    type provio_##name parameters {                                                                                    \
        WATCH_##Term(name, type, arguments, subject, outcome)                                                          \
    }

// Two functions, so that where there is nothing new none of the registers are saved for the counting.
#define CHARACTER(name, type, parameters, arguments, Term, subject, outcome)                                           \
    EXPORTED(name, type, parameters)                                                                                   \
    static __attribute__((noinline)) type counted_##name parameters {                                                  \
        struct object *object = object_of(DESCRIPTOR_##subject);                                                       \
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
