// clone(2) as the C library has it: the child begins in a function, so that it can be told what it is before that. What
// shares memory with its parent must not write in the parent's name.
#include "hand.h"

#include <sched.h>

typedef int (*beginning)(void *);
typedef int (*cloning)(beginning, void *, int, void *, pid_t *, void *, pid_t *);

struct start {
    beginning function;
    void *argument;
};

// A child with memory of its own, as a fork's.
static int forked_child(void *at) {
    struct start start = *(struct start *)at;
    forked(API_clone, 0, NULL, 0);
    return start.function(start.argument);
}

// A child with this memory, but with descriptors of its own: what it does with them is not its parent's.
static int muted_child(void *at) {
    struct start start = *(struct start *)at;
    pool_give(&scratches, at);
    muted = LEAVES;
    return start.function(start.argument);
}

static const char no_place[] =
    "made a child by clone that shares its memory: what the two do is not told apart and not seen";

struct clone_call {
    cloning real;
    void *stack;
    int flags;
    pid_t *parent;
    void *tls;
    pid_t *child;
};

static int real_clone(const struct clone_call *call, beginning function, void *argument) {
    return call->real(function, call->stack, call->flags, argument, call->parent, call->tls, call->child);
}

// With thread-local storage of its own, a child is told apart by it; else only while its parent waits for it, as with
// vfork.
static int shared_clone(int api, const struct clone_call *call, struct start *start) {
    bool own_storage = call->flags & CLONE_SETTLS, own_files = !(call->flags & CLONE_FILES);
    if ((call->flags & CLONE_VFORK) && !own_storage && own_files) {
        vfork_begin();
        return vfork_end(api, real_clone(call, start->function, start->argument));
    }
    if (own_storage && !own_files)
        return real_clone(call, start->function, start->argument); // a thread in all but name
    if (!own_files && (call->flags & CLONE_VFORK)) return real_clone(call, start->function, start->argument);
    event_gap(api, no_place, NULL);
    if (own_storage) {
        struct start *kept = pool_take(&scratches); // the parent may have gone on when the child looks
        if (kept == NULL) return real_clone(call, start->function, start->argument);
        *kept = *start;
        return real_clone(call, muted_child, kept);
    }
    self = NULL;
    muted = FORGETS;
    return real_clone(call, start->function, start->argument);
}

static int watched_clone(int api, cloning real, beginning function, void *stack, int flags, void *argument,
                         pid_t *parent, void *tls, pid_t *child) {
    struct clone_call call = {real, stack, flags, parent, tls, child};
    struct start start = {function, argument};
    struct thread *thread = watching() && function != NULL && stack != NULL ? thread_self() : NULL;
    if (thread == NULL) return real_clone(&call, function, argument);
    if (flags & CLONE_VM) return shared_clone(api, &call, &start);
    uint64_t started = now(thread);
    child_begin();
    return forked(api, real_clone(&call, forked_child, &start), thread, started);
}

#define CLONE(name)                                                                                                    \
    int provio_##name(beginning function, void *stack, int flags, void *argument, pid_t *parent, void *tls,            \
                      pid_t *child) {                                                                                  \
        return watched_clone(API_##name, REAL(name), function, stack, flags, argument, parent, tls, child);            \
    }
CLONE(clone)
CLONE(__clone)
