// What a program may tell provio of itself: the parts that its work has (Tasks), by which settings it goes, how well it
// went, which states it saved, what it used and made that no file shows. For C and C++; `provio include` says in which
// folder this file lies, and nothing is to be linked.
//
// A program that calls these runs as well without provio: they are found when it is recorded, and else every function
// returns 0 at once. In a program that is linked statically they are never found. None allocates, locks, prints,
// changes errno or throws. Texts are copied, and may hold any bytes; NULL is left out. Any thread may call any of them,
// at any time, but for the child of vfork, which is not heard.
#ifndef PROVIO_H
#define PROVIO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// PROVIO_CALL(type, name, (parameters), (arguments)) declares a function, PROVIO_TELL(name, …) one that returns
// nothing.
#if defined(PROVIO_PLAIN) // for what is part of provio
#define PROVIO_CALL(type, name, parameters, arguments) type name parameters;
#define PROVIO_TELL(name, parameters, arguments) void name parameters;
#elif defined(__PIC__) || defined(__PIE__)
#define PROVIO_FOUND(type, name, parameters)                                                                           \
    extern type name##_there parameters __asm__(#name) __attribute__((weak));                                          \
    static inline type name parameters __asm__(#name ".here");
#define PROVIO_CALL(type, name, parameters, arguments)                                                                 \
    PROVIO_FOUND(type, name, parameters)                                                                               \
    static inline type name parameters {                                                                               \
        return name##_there ? name##_there arguments : 0;                                                              \
    }
#define PROVIO_TELL(name, parameters, arguments)                                                                       \
    PROVIO_FOUND(void, name, parameters)                                                                               \
    static inline void name parameters {                                                                               \
        if (name##_there) name##_there arguments;                                                                      \
    }
#else // the linker would settle for good that they are not there
typedef void (*provio_function_found)(void);
extern provio_function_found provio_dlsym(void *, const char *) __asm__("dlsym") __attribute__((weak));
static inline void provio_nothing_found(void) {}
static inline provio_function_found provio_find(provio_function_found *known, const char *name) {
    provio_function_found found = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!found) {
        found = provio_dlsym ? provio_dlsym(0, name) : 0;
        if (!found) found = provio_nothing_found;
        __atomic_store_n(known, found, __ATOMIC_RELAXED);
    }
    return found == provio_nothing_found ? 0 : found;
}
#define PROVIO_FOUND(type, name, parameters)                                                                           \
    static inline type name parameters __asm__(#name ".here");                                                         \
    typedef type(*name##_type) parameters;                                                                             \
    static inline name##_type name##_there(void) {                                                                     \
        static provio_function_found known;                                                                            \
        return (name##_type)provio_find(&known, #name);                                                                \
    }
#define PROVIO_CALL(type, name, parameters, arguments)                                                                 \
    PROVIO_FOUND(type, name, parameters)                                                                               \
    static inline type name parameters {                                                                               \
        name##_type found = name##_there();                                                                            \
        return found ? found arguments : 0;                                                                            \
    }
#define PROVIO_TELL(name, parameters, arguments)                                                                       \
    PROVIO_FOUND(void, name, parameters)                                                                               \
    static inline void name parameters {                                                                               \
        name##_type found = name##_there();                                                                            \
        if (found) found arguments;                                                                                    \
    }
#endif

// ---- Tasks: named parts of what this process does, such as a function, an epoch of a training, a notebook's cell.
// They nest: one begins within the Task that the thread is in, if any. What a thread does belongs to the Task that it
// is in when it does it: to begin one is not yet to enter it. A thread that is made within a Task is in it until the
// Task ends; a process that is started within one is launched by it. Any thread may enter a Task, and leaves it by
// entering what it was in before: threads of a pool that was made earlier are in it only if they enter it. A Task that
// never ends is kept as it was begun. A number is of this process: a fork has none of its parent's Tasks.
// A thread also leaves a Task that another thread ends. What was handed to it in the Task, and is done there however
// late, enters it with PROVIO_HANDED, and leaves it by itself alone.
#define PROVIO_HANDED ((uint64_t)1 << 62)

struct provio_task { // NULL and 0: nothing, and it is left out
    const char *name;
    const char *kind;   // what sort of Task: "cell"
    const char *source; // the text of the program that it carries out
    uint64_t number;    // by the program's own counting, from 1 on
};

PROVIO_CALL(uint64_t, provio_task_begin, (const struct provio_task *task), (task)) // its number; 0: not recorded
PROVIO_CALL(uint64_t, provio_task_enter, (uint64_t task), (task))                 // 0: none; returns what to go back to
PROVIO_CALL(uint64_t, provio_task_now, (void), ())                                // what the thread is in
PROVIO_TELL(provio_task_end, (uint64_t task, const char *status), (task, status)) // "ok", "error" or NULL

// Two calls in one: begin a Task and enter it; enter what the thread was in before, and end the Task.
PROVIO_CALL(uint64_t, provio_task_in, (const char *name, const char *kind), (name, kind))
PROVIO_TELL(provio_task_out, (uint64_t task, uint64_t before, const char *status), (task, before, status))

// ---- What the program knows of itself beside its Tasks. Each belongs to the Task that the thread is in. `kind` is a
// class of provio's ontology or of the user's own ("Hyperparameter", "Accuracy"), or any word. A number returned is 0
// where nothing is recorded; it may be handed on, and nothing is said then.

// The settings that the program goes by from here on, all said between the two calls. One that was never ended is kept,
// as incomplete.
PROVIO_CALL(uint64_t, provio_configuration, (const char *name, const char *kind), (name, kind))
PROVIO_TELL(provio_configuration_end, (uint64_t configuration), (configuration))

// A setting of a configuration, of a Task, of a checkpoint or of an entity. Names of nested ones are joined by `.`;
// within a name it is `\.`, and `\` is `\\`. A text of more than 1 MiB is not kept: its size is.
PROVIO_TELL(provio_setting_text, (uint64_t of, const char *key, const char *value), (of, key, value))
PROVIO_TELL(provio_setting_integer, (uint64_t of, const char *key, int64_t value), (of, key, value))
PROVIO_TELL(provio_setting_real, (uint64_t of, const char *key, double value), (of, key, value))
PROVIO_TELL(provio_setting_truth, (uint64_t of, const char *key, int value), (of, key, value))
// A value as XML Schema writes it, and the name of its type there: ("2026-01-31T12:00:00Z", "dateTime").
PROVIO_TELL(provio_setting_typed, (uint64_t of, const char *key, const char *value, const char *type),
            (of, key, value, type))

// What a quantity is now. The step is the program's own counting, such as epochs; PROVIO_NO_STEP: none.
#define PROVIO_NO_STEP INT64_MIN
PROVIO_TELL(provio_metric, (const char *name, const char *kind, double value, int64_t step), (name, kind, value, step))
PROVIO_TELL(provio_metric_integer, (const char *name, const char *kind, int64_t value, int64_t step),
            (name, kind, value, step))

// The file or folder at a path is a saved state; and the metrics that it was saved with.
PROVIO_CALL(uint64_t, provio_checkpoint, (const char *path, int64_t step), (path, step))
PROVIO_TELL(provio_metric_of, (uint64_t checkpoint, const char *name, const char *kind, double value, int64_t step),
            (checkpoint, name, kind, value, step))

// A thing that no file shows, such as a row of a database; `identifier` tells it from all others in every run. What was
// used and made here is a thing, or the file or folder at a path, which no call shows to be so; the other is 0, or
// NULL.
PROVIO_CALL(uint64_t, provio_entity, (const char *name, const char *kind, const char *identifier),
            (name, kind, identifier))
PROVIO_TELL(provio_used, (uint64_t thing, const char *path), (thing, path))
PROVIO_TELL(provio_generated, (uint64_t thing, const char *path), (thing, path))

PROVIO_CALL(int, provio_recording, (void), ()) // 0: whatever is said is not heard, now
PROVIO_CALL(uint64_t, provio_now, (void), ())  // nanoseconds since 1970; 0 where nothing is recorded

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && __cplusplus >= 201703L && !defined(PROVIO_PLAIN)
#include <exception>

namespace provio {

// A Task from here to the end of the block; "error" where an exception ends it.
class activity {
  public:
    explicit activity(const char *name, const char *kind = nullptr)
        : before(provio_task_now()), number(provio_task_in(name, kind)), exceptions(std::uncaught_exceptions()) {}
    ~activity() {
        if (number) provio_task_out(number, before, std::uncaught_exceptions() > exceptions ? "error" : "ok");
    }
    activity(const activity &) = delete;
    activity &operator=(const activity &) = delete;

    const uint64_t before, number;

  private:
    const int exceptions;
};

} // namespace provio
#endif

#endif
