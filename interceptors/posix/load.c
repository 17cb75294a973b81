// dlopen(3): code that is loaded so that it finds the C library before all else is called past the shim, as in a name
// space of its own. It stays so, for the program asked for it; that it was is a Gap.
#include "hand.h"

#include <dlfcn.h>
#if !defined(RTLD_DEEPBIND) // musl has neither, and refuses what it does not know
enum { RTLD_DEEPBIND = 0, LM_ID_BASE = 0 };
#endif

static const char deep[] = "is loaded with RTLD_DEEPBIND, past every preload";
static const char apart[] = "is loaded into a name space of its own, past every preload";

static __attribute__((cold, noinline)) void say_once(_Atomic bool *said, int api, const char *reason,
                                                     const char *path) {
    int error = errno;
    if (watching() && !atomic_exchange(said, true)) event_gap(api, reason, path);
    errno = error;
}

// The loader looks where its caller has code looked for (RUNPATH): these end in a jump, which leaves that the program.
void *provio_dlopen(const char *path, int flags) {
    static _Atomic bool said;
    if (unlikely(flags & RTLD_DEEPBIND) && path != NULL && !(flags & RTLD_NOLOAD))
        say_once(&said, API_dlopen, deep, path);
    return REAL(dlopen)(path, flags);
}

int provio_dlclose(void *handle) {
    int result = REAL(dlclose)(handle);
    int error = errno;
    callers_unloaded();
    errno = error;
    return result;
}

void *provio_dlmopen(long space, const char *path, int flags) {
    static _Atomic bool said;
    if (space != LM_ID_BASE && path != NULL && !(flags & RTLD_NOLOAD)) say_once(&said, API_dlmopen, apart, path);
    return REAL(dlmopen)(space, path, flags);
}
