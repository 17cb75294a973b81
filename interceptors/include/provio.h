// Functions with which a C or C++ program declares facts about itself that provio cannot observe: the named parts of
// its work (Tasks), its configuration, its metrics, its checkpoints, and inputs and outputs that are not visible as
// files.
//
// `provio include` prints the folder of this header. No library needs to be linked.
//
// The same program also runs without provio. The functions are found at run time when the program is recorded;
// otherwise each function returns 0 at once. A statically linked program never finds them.
//
// No function allocates memory, takes a lock, prints, changes errno or throws. Texts are copied and may contain any
// bytes; a NULL text is omitted. Any thread may call any function at any time, except a child of vfork, where calls
// have no effect.
#ifndef PROVIO_H
#define PROVIO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// PROVIO_CALL(type, name, (parameters), (arguments)) declares a function; PROVIO_TELL(name, …) declares one that
// returns nothing.
#if defined(PROVIO_PLAIN) // for the files of provio itself
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
#else // a weak reference is not enough here: the linker would bind it to 0 permanently
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

// ---- Tasks: named parts of the work of this process, such as a function, an epoch of a training, a notebook cell.
//
// A Task that starts is nested in the current Task of the calling thread, if there is one. The actions of a thread
// belong to the Task that the thread is in at that time. To begin a Task is not to enter it.
//
// A thread that is created inside a Task is in this Task until the Task ends. A process that is started inside a Task
// is recorded as launched by it. Any thread may enter a Task; it leaves the Task when it enters the previous one
// again. The threads of an existing pool are in a Task only if they enter it.
//
// A Task that never ends stays in the record without an end. The number of a Task is valid in this process only: a
// forked child has none of its parent's Tasks.
//
// A thread also leaves its Task when another thread ends that Task. To do work of a Task that may continue after the
// Task's end, enter it with PROVIO_HANDED (task | PROVIO_HANDED): the thread then stays in it until it leaves by
// itself.
#define PROVIO_HANDED ((uint64_t)1 << 62)

struct provio_task { // NULL and 0 mean: omitted
    const char *name;
    const char *kind;   // the sort of Task, such as "cell"
    const char *source; // the source text that the Task executes
    uint64_t number;    // the program's own numbering, from 1
};

PROVIO_CALL(uint64_t, provio_task_begin, (const struct provio_task *task),
            (task)) // returns its number; 0: not recorded
PROVIO_CALL(uint64_t, provio_task_enter, (uint64_t task),
            (task))                                // 0: no Task; returns the previous one, to enter again later
PROVIO_CALL(uint64_t, provio_task_now, (void), ()) // the current Task of the thread, or 0
PROVIO_TELL(provio_task_end, (uint64_t task, const char *status), (task, status)) // status: "ok", "error" or NULL

// Two calls in one. provio_task_in begins a Task and enters it. provio_task_out enters `before`, the previous Task,
// and ends `task`.
PROVIO_CALL(uint64_t, provio_task_in, (const char *name, const char *kind), (name, kind))
PROVIO_TELL(provio_task_out, (uint64_t task, uint64_t before, const char *status), (task, before, status))

// ---- Other declarations: configurations, metrics, checkpoints, entities, inputs and outputs. Each belongs to the
// current Task of the thread. `kind` is a class of provio's ontology or of the user vocabulary ("Hyperparameter",
// "Accuracy"), or any word. A returned number of 0 means that nothing is recorded; other functions accept this 0 and
// record nothing.

// A configuration: the settings that are valid for the program from here on, all declared between the two calls. A
// configuration without the second call is kept and marked as incomplete.
PROVIO_CALL(uint64_t, provio_configuration, (const char *name, const char *kind), (name, kind))
PROVIO_TELL(provio_configuration_end, (uint64_t configuration), (configuration))

// A setting of a configuration, Task, checkpoint or entity. The keys of nested settings are joined by `.`; inside a
// key, write `.` as `\.` and `\` as `\\`. Of a text longer than 1 MiB only the size is recorded.
PROVIO_TELL(provio_setting_text, (uint64_t of, const char *key, const char *value), (of, key, value))
PROVIO_TELL(provio_setting_integer, (uint64_t of, const char *key, int64_t value), (of, key, value))
PROVIO_TELL(provio_setting_real, (uint64_t of, const char *key, double value), (of, key, value))
PROVIO_TELL(provio_setting_truth, (uint64_t of, const char *key, int value), (of, key, value))
// A value in the notation of XML Schema, with the name of its XML Schema type: ("2026-01-31T12:00:00Z", "dateTime").
PROVIO_TELL(provio_setting_typed, (uint64_t of, const char *key, const char *value, const char *type),
            (of, key, value, type))

// The current value of a quantity. `step` is the program's own counter, such as the epoch; PROVIO_NO_STEP: none.
#define PROVIO_NO_STEP INT64_MIN
PROVIO_TELL(provio_metric, (const char *name, const char *kind, double value, int64_t step), (name, kind, value, step))
PROVIO_TELL(provio_metric_integer, (const char *name, const char *kind, int64_t value, int64_t step),
            (name, kind, value, step))

// A checkpoint: the file or folder at `path` contains a saved state. provio_metric_of adds a metric of that state.
PROVIO_CALL(uint64_t, provio_checkpoint, (const char *path, int64_t step), (path, step))
PROVIO_TELL(provio_metric_of, (uint64_t checkpoint, const char *name, const char *kind, double value, int64_t step),
            (checkpoint, name, kind, value, step))

// An entity: a thing that is not a file, such as a row of a database. `identifier` is unique among the things of all
// runs. provio_used and provio_generated declare an input or output that no observed call shows: either a thing (path
// is NULL), or the file or folder at `path` (thing is 0).
PROVIO_CALL(uint64_t, provio_entity, (const char *name, const char *kind, const char *identifier),
            (name, kind, identifier))
PROVIO_TELL(provio_used, (uint64_t thing, const char *path), (thing, path))
PROVIO_TELL(provio_generated, (uint64_t thing, const char *path), (thing, path))

PROVIO_CALL(int, provio_recording, (void), ()) // 0: at present nothing is recorded
PROVIO_CALL(uint64_t, provio_now, (void), ())  // nanoseconds since 1970; 0 where nothing is recorded

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && __cplusplus >= 201703L && !defined(PROVIO_PLAIN)
#include <exception>

namespace provio {

// A Task that lasts until the end of the enclosing block; its status is "error" if an exception ends the block.
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
