// The loaded libraries, and the calls that load and unload them. A library that is loaded with RTLD_DEEPBIND or into
// its own namespace bypasses the shim. That is not changed, because the program requested it, but it leaves a Gap.
#include "rows.h"

#include <dlfcn.h>
#include <link.h>

struct loader loader;

bool loader_ready(void) {
    loader.dlopen = real_named("dlopen");
    loader.dlclose = real_named("dlclose");
    loader.dl_iterate_phdr = real_named("dl_iterate_phdr");
    return loader.dlopen != NULL && loader.dlclose != NULL && loader.dl_iterate_phdr != NULL;
}

void *loaded_symbol(void *handle, const char *name) {
    void *(*access_look_up)(void *, const char *) = real_named("dlsym");
    void *found = access_look_up == NULL ? NULL : access_look_up(handle, name);
    char *(*forget)(void) = found == NULL ? real_named("dlerror") : NULL;
    if (forget != NULL) forget(); // a missing symbol is not the program's error
    return found;
}

// Copy the name of the nth library. It is opened only after the loader released the lock of its list, because another
// thread's dlopen(3) takes the same two locks in the opposite order.
struct nth {
    unsigned left;
    char *name; // PATH_ROOM bytes
};

static int nth_name(struct dl_phdr_info *info, size_t size, void *data) {
    struct nth *nth = data;
    (void)size;
    if (nth->left-- > 0) return 0;
    size_t length = info->dlpi_name == NULL ? 0 : strlen(info->dlpi_name);
    if (length >= PATH_ROOM) length = 0;
    memcpy(nth->name, info->dlpi_name, length);
    nth->name[length] = '\0';
    return 1;
}

static bool object_name(unsigned n, char *name) {
    struct nth nth = {n, name};
    return loader.dl_iterate_phdr(nth_name, &nth) != 0;
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

bool loaded_here(const void *function) {
    return (const char *)function >= __ehdr_start && (const char *)function < _end;
}

void *loaded_function(const char *name) {
    void *found = NULL;
    char *object = loader_ready() ? pool_take(&scratches) : NULL;
    for (unsigned n = 0; object != NULL && found == NULL && object_name(n, object); n++) {
        void *handle = object[0] == '\0' ? NULL : loader.dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
        if (handle == NULL) continue;
        found = loaded_symbol(handle, name);
        if (loaded_here(found)) found = NULL;
        loader.dlclose(handle);
    }
    if (object != NULL) pool_give(&scratches, object);
    return found;
}

bool loaded_as(const char *part) {
    bool found = false;
    char *object = loader_ready() ? pool_take(&scratches) : NULL;
    for (unsigned n = 0; object != NULL && !found && object_name(n, object); n++) found = strstr(object, part) != NULL;
    if (object != NULL) pool_give(&scratches, object);
    return found;
}

// ---- dlopen(3)

#if !defined(RTLD_DEEPBIND) // musl has neither, and rejects unknown flags
enum { RTLD_DEEPBIND = 0, LM_ID_BASE = 0 };
#endif

static const char deep[] = "is loaded with RTLD_DEEPBIND, past every preload";
static const char own_namespace[] = "is loaded into a name space of its own, past every preload";

static __attribute__((cold, noinline)) void report_once(_Atomic bool *reported, int api, const char *reason,
                                                        const char *path) {
    int error = errno;
    if (watching() && !atomic_exchange(reported, true)) event_gap(api, reason, path);
    errno = error;
}

// The loader searches the RUNPATH of its caller. These wrappers end in a jump, so that the caller is the program.
void *provio_dlopen(const char *path, int flags) {
    static _Atomic bool reported;
    if (unlikely(flags & RTLD_DEEPBIND) && path != NULL && !(flags & RTLD_NOLOAD))
        report_once(&reported, API_dlopen, deep, path);
    if (path != NULL) library_loads(path);
    loaded_changed();
    return REAL(dlopen)(path, flags);
}

int provio_dlclose(void *handle) {
    if (unlikely(relaxed(loaded_pending)) && watching()) loaded_note(thread_self());
    int result = REAL(dlclose)(handle);
    int error = errno;
    callers_unloaded();
    errno = error;
    return result;
}

void *provio_dlmopen(long space, const char *path, int flags) {
    static _Atomic bool reported;
    if (space != LM_ID_BASE && path != NULL && !(flags & RTLD_NOLOAD))
        report_once(&reported, API_dlmopen, own_namespace, path);
    return REAL(dlmopen)(space, path, flags);
}
