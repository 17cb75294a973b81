// The timing of the benchmark programs: the fastest of ten batches, because disturbances only add time.
#ifndef TIMING_H
#define TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 10 };

static inline double nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// Past the first instants, in which clocks are measured and pages are touched first.
#define WARM_UP(step)                                                                                                  \
    for (double until = nanoseconds() + 5e7; nanoseconds() < until;) step

// Runs `step` `count` times in all, with `i` counting from 0; `best` is then nanoseconds a step.
#define TIMED(best, count, step)                                                                                       \
    for (long batch = 0; batch < BATCHES; batch++) {                                                                   \
        long first = (count) / BATCHES * batch, end = first + (count) / BATCHES;                                       \
        double began = nanoseconds();                                                                                  \
        for (long i = first; i < end; i++) step;                                                                       \
        double took = (nanoseconds() - began) / (double)(end - first);                                                 \
        if (batch == 0 || took < best) best = took;                                                                    \
    }

#endif
