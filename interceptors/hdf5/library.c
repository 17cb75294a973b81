// Finds the HDF5 library that a caller means. Without this layer, the call would go to the first library in the
// global scope after this one. If HDF5 was loaded privately (Python wheels do so, with several copies in one
// process), it would go to the library that the caller is linked with.
#include "hdf5.h"

#include <dlfcn.h>
#include <link.h>

struct library libraries[16];

enum { RANGES = 512 };
static struct range {
    uintptr_t start, end;
    struct library *hdf5;
    _Atomic unsigned state; // increases; the last two bits: free, being filled, ready
} ranges[RANGES];
enum { FREE, FILLED, READY, STATES };
static _Atomic unsigned range_count;

static const char names[FUNCTION_COUNT][32] = {
#define HDF5(name, ...) #name,
#define HDF5_HAND HDF5
#define SKIP(...)
#define SKIPS(...)
#include "calls.def"
#undef HDF5
#undef HDF5_HAND
#undef SKIP
#undef SKIPS
#define OWN(name, ...) #name,
#include "library.def"
#undef OWN
};

// A function that every HDF5 version has and that this layer does not wrap.
static const char probe[] = "H5open";

// The loaded object that contains an address. dladdr(3) would search all its symbols too.
struct span {
    uintptr_t address, start, end;
    const char *name; // "" for the executable
};

static int spans(struct dl_phdr_info *info, size_t size, void *data) {
    struct span *span = data;
    uintptr_t start = UINTPTR_MAX, end = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD) continue;
        if (from < start) start = from;
        if (from + part->p_memsz > end) end = from + part->p_memsz;
    }
    if (span->address < start || span->address >= end) return 0;
    *span = (struct span){span->address, start, end, info->dlpi_name};
    return 1;
}

static bool object_at(const void *address, struct span *span) {
    *span = (struct span){.address = (uintptr_t)address};
    return loader.dl_iterate_phdr(spans, span) != 0;
}

// The library stays loaded permanently, so that the known addresses of its functions remain valid.
static void *hold(const struct span *span) {
    return loader.dlopen(span->name[0] == '\0' ? NULL : span->name, RTLD_LAZY | RTLD_NOLOAD);
}

static struct library *library_at(const void *function) {
    struct span span;
    if (!object_at(function, &span)) return NULL;
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        uintptr_t none = 0;
        struct library *library = &libraries[i];
        if (!atomic_compare_exchange_strong(&library->base, &none, span.start) && none != span.start) continue;
        if (relaxed(library->handle) == NULL) atomic_store(&library->handle, hold(&span));
        return relaxed(library->handle) == NULL ? NULL : library;
    }
    return NULL;
}

static struct library *library_of(const void *caller) {
    void *found = loaded_symbol(RTLD_NEXT, probe);
    if (found == NULL) found = loaded_symbol(RTLD_DEFAULT, probe); // in the executable itself
    struct span span;
    void *handle = found == NULL && object_at(caller, &span) ? hold(&span) : NULL;
    if (handle != NULL) {
        found = loaded_symbol(handle, probe); // in the caller, or in the libraries that it is linked with
        loader.dlclose(handle);
    }
    if (found == NULL) found = loaded_function(probe);
    return found == NULL ? NULL : library_at(found);
}

static struct range *range_take(void) {
    for (unsigned i = 0; i < RANGES; i++) {
        unsigned state = relaxed(ranges[i].state), count = relaxed(range_count);
        if (state % STATES != FREE || !atomic_compare_exchange_strong(&ranges[i].state, &state, state + 1)) continue;
        while (count < i + 1 && !atomic_compare_exchange_weak(&range_count, &count, i + 1)) continue;
        return &ranges[i];
    }
    return NULL;
}

// After code was unloaded: the address of an unloaded caller may now belong to another one, linked with another
// library.
void callers_unloaded(void) {
    for (unsigned i = 0, count = relaxed(range_count); i < count; i++) {
        struct span span;
        unsigned state = relaxed(ranges[i].state);
        if (state % STATES != READY) continue;
        if (object_at((const void *)ranges[i].start, &span) && span.start == ranges[i].start) continue;
        atomic_compare_exchange_strong(&ranges[i].state, &state, state + 1);
    }
}

static __attribute__((cold, noinline)) struct library *library_new_caller(const void *caller) {
    int kept = errno;
    struct span span;
    struct library *library = loader_ready() ? library_of(caller) : NULL;
    if (library != NULL && object_at(caller, &span)) {
        struct range *range = range_take();
        if (range != NULL) {
            range->start = span.start;
            range->end = span.end;
            range->hdf5 = library;
            atomic_fetch_add(&range->state, 1);
        }
    }
    errno = kept;
    return library;
}

struct library *library_find(const void *caller) {
    uintptr_t address = (uintptr_t)caller;
    unsigned count = relaxed(range_count);
    for (unsigned i = 0; i < count; i++) {
        unsigned state = atomic_load_explicit(&ranges[i].state, memory_order_acquire);
        if (state % STATES != READY || address < ranges[i].start || address >= ranges[i].end) continue;
        struct library *library = ranges[i].hdf5;
        atomic_thread_fence(memory_order_acquire);
        if (likely(relaxed(ranges[i].state) == state)) return library;
    }
    return library_new_caller(caller);
}

__attribute__((cold, noinline)) void *library_function(struct library *library, int function) {
    void *known = relaxed(library->functions[function]);
    if (known == (void *)LACKING) return NULL;
    if (known != NULL) return known;
    int kept = errno;
    void *found = loaded_symbol(relaxed(library->handle), names[function]);
    if (found != NULL && loaded_here(found)) found = loaded_symbol(RTLD_NEXT, names[function]);
    errno = kept;
    atomic_store(&library->functions[function], found == NULL ? (void *)LACKING : found);
    return found;
}

// ---- leave the program's error stack, and its printing, unchanged

void silence_begin(struct silence *silence, struct library *library) {
    *silence = (struct silence){.hdf5 = library, .second = 1, .error = errno};
    QUERY(library, H5Eauto_is_v2, 0, &silence->second);
    if (silence->second)
        QUERY(library, H5Eget_auto2, 0, &silence->function, &silence->data);
    else
        QUERY(library, H5Eget_auto1, &silence->function, &silence->data);
    QUERY(library, H5Eset_auto2, 0, NULL, NULL);
}

void silence_end(struct silence *silence) {
    QUERY(silence->hdf5, H5Eclear2, 0);
    if (silence->second)
        QUERY(silence->hdf5, H5Eset_auto2, 0, silence->function, silence->data);
    else
        QUERY(silence->hdf5, H5Eset_auto1, silence->function, silence->data);
    errno = silence->error;
}
