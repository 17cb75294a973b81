// The files that this process has open through MPI-IO, by their handles.
#include "mpiio.h"

enum { FILES = 1024 };
static struct open_file files[FILES];

static inline size_t place_of(uintptr_t file) {
    return (file >> 4) * 0x9E3779B97F4A7C15 >> 54;
}

void file_opened(handle file, provio_object *object) {
    size_t first = place_of((uintptr_t)file);
    for (size_t i = 0; i < FILES; i++) {
        struct open_file *open = &files[(first + i) % FILES];
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&open->file, &none, 1)) continue;
        open->object = object;
        open->begun_at = 0;
        atomic_store(&open->file, (uintptr_t)file);
        return;
    }
    provio_release(object);
    event_gap(API_MPI_File_open,
              "has more files open through MPI-IO than are told apart: what it does in the others is seen "
              "of the ranks alone that move the bytes",
              NULL);
}

// Files go in any order, so a free place ends no search; most handles stand at their first place.
struct open_file *file_find(handle file) {
    size_t first = place_of((uintptr_t)file);
    for (size_t i = 0; i < FILES; i++) {
        struct open_file *open = &files[(first + i) % FILES];
        if (atomic_load_explicit(&open->file, memory_order_acquire) == (uintptr_t)file) return open;
    }
    return NULL;
}

void file_forget(struct open_file *open) {
    provio_release(open->object);
    open->object = NULL;
    atomic_store(&open->file, 0);
}
