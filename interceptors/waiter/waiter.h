// The process that waits for a command in the place of `provio run`: what it is told, and what its parts do.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// What Python left in the descriptor that PROVIO_WAIT names: texts one behind the other, in this order.
struct told {
    const char *pid, *awaited, *before, *run_folder, *trace_folder, *lock, *hashing;
    const char *apart, *dear, *subject, *word, *python;
};

// What goes on from here in Python: the descriptor again, the lock that is held (-1: none), how the command ended.
struct end {
    int told, lock, status;
};

bool note_end(const struct told *told, int status);

bool presses(const char *folder);
