// Finds the calling HDF5 library, and its functions by name.
#define _GNU_SOURCE
#include "vol.h"
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>

enum { LIBRARIES = 8 };
static struct library libraries[LIBRARIES];
static _Atomic int count;

struct wanted {
    uintptr_t address, begin, end;
    const char *name;
};

static int holds(struct dl_phdr_info *object, size_t size, void *data) {
    struct wanted *wanted = data;
    (void)size;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type != PT_LOAD) continue;
        uintptr_t start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        if (start < begin) begin = start;
        if (start + object->dlpi_phdr[i].p_memsz > end) end = start + object->dlpi_phdr[i].p_memsz;
    }
    if (wanted->address < begin || wanted->address >= end) return 0;
    wanted->begin = begin;
    wanted->end = end;
    wanted->name = object->dlpi_name;
    return 1;
}

// Find the functions that have other parameters in HDF5 1.12.
static bool fill_v1_12(struct v1_12 *v1_12, void *handle) {
    bool whole = true;
#define FIND(name)                                                                                                     \
    v1_12->name = (__typeof__(v1_12->name))dlsym(handle, "H5VL" #name);                                                \
    whole = whole && v1_12->name != NULL;
#define PASS FIND
#define PASS_AT FIND
#define CALL FIND
#define CALL_AT FIND
#include "hdf5_1_12.def"
#undef PASS
#undef PASS_AT
#undef CALL
#undef CALL_AT
    FIND(dataset_read)
    FIND(dataset_write)
    FIND(link_create)
    FIND(blob_specific)
    FIND(blob_optional)
#undef FIND
    return whole;
}

static bool fill(struct library *library, void *handle) {
    bool whole = true;
    library->is_v1_12 =
        dlsym(handle, "H5VLintrospect_get_cap_flags") == NULL; // this function came with the later interface
#define FIND(name) library->name = (__typeof__(&name))dlsym(handle, #name);
#define FUNCTION(name)                                                                                                 \
    FIND(name)                                                                                                         \
    whole = whole && library->name != NULL;
#define LATER(name)                                                                                                    \
    if (!library->is_v1_12) FIND(name)                                                                                 \
    whole = whole && (library->is_v1_12 || library->name != NULL);
#include "functions.def"
#undef FIND
#undef FUNCTION
#undef LATER
    return whole && (!library->is_v1_12 || fill_v1_12(&library->v1_12, handle));
}

struct library *library_at(const void *address) {
    int known = atomic_load_explicit(&count, memory_order_acquire);
    for (int i = 0; i < known; i++)
        if ((uintptr_t)address - libraries[i].begin < libraries[i].end - libraries[i].begin) return &libraries[i];
    return &libraries[0]; // the return address was lost by a tail call; there is nearly always only one library
}

// The library that requests the connector holds its own lock during this call, but not the locks of other libraries:
// hence the lock here.
bool library_found(const void *address) {
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    struct wanted wanted = {.address = (uintptr_t)address};
    if (dl_iterate_phdr(holds, &wanted) == 0) return false;
    while (atomic_flag_test_and_set(&busy)) {
    }
    int known = atomic_load(&count);
    bool found = known > 0 && library_at(address)->begin == wanted.begin;
    if (!found && known < LIBRARIES) {
        struct library *library = &libraries[known];
        void *handle = dlopen(wanted.name[0] == '\0' ? NULL : wanted.name, RTLD_LAZY | RTLD_NOLOAD);
        library->begin = wanted.begin;
        library->end = wanted.end;
        found = handle != NULL && fill(library, handle);
        if (found) atomic_store_explicit(&count, known + 1, memory_order_release);
    }
    atomic_flag_clear(&busy);
    return found;
}
