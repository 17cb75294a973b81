// Counts the kernel's calls of HDF5: their number, bytes and nanoseconds.
#ifndef COUNT_H
#define COUNT_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define FUNCTIONS(each)                                                                                                \
    each(H5Fcreate) each(H5Fopen) each(H5Fflush) each(H5Fclose) each(H5Gcreate2) each(H5Gopen2) each(H5Gclose)         \
        each(H5Dcreate2) each(H5Dopen2) each(H5Dset_extent) each(H5Dwrite) each(H5Dread) each(H5Dclose)

#define NUMBER(name) COUNTED_##name,
#define NAME(name) #name,
enum { FUNCTIONS(NUMBER) COUNTED };
static const char *const counted_names[COUNTED] = {FUNCTIONS(NAME)};
static struct { uint64_t calls, bytes, elapsed; } counted[COUNTED];

static inline uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Makes a call and counts it; a failed one ends the program, so every counted call took place.
#define COUNT(name, size, call)                                                                                        \
    ({                                                                                                                 \
        uint64_t began = nanoseconds();                                                                                \
        __auto_type result = (call);                                                                                   \
        counted[COUNTED_##name].elapsed += nanoseconds() - began;                                                      \
        if (result < 0) fail(#name " failed");                                                                         \
        counted[COUNTED_##name].calls++;                                                                               \
        counted[COUNTED_##name].bytes += (size);                                                                       \
        result;                                                                                                        \
    })

static inline void print_counts(int rank) {
    for (int i = 0; i < COUNTED; i++)
        if (counted[i].calls)
            printf("rank %d %s calls %llu bytes %llu ns %llu\n", rank, counted_names[i],
                   (unsigned long long)counted[i].calls, (unsigned long long)counted[i].bytes,
                   (unsigned long long)counted[i].elapsed);
}

#endif
