// The process that waits for a command in the place of `provio run`: what it is told, and what its parts do.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// What Python left in the descriptor that PROVIO_WAIT names: texts one behind the other, in this order.
// pid: the command's, or 0 where it has ended, with `status`; mode: what is done at its end
struct handoff {
    const char *pid, *status, *awaited, *before, *run_folder, *trace_folder, *home;
    const char *mode, *subject, *word, *python, *settings, *checkout; // the last two: where settings lie, if anywhere
};

enum mode {
    LEAVE = 'l',    // the run stays pending
    MERGE = 'm',    // as LEAVE, and the background merge is started
    PYTHON = 'p',   // Python goes on with it
    POST_RUN = 's', // only what is open for writing is looked at: for a Python that goes on itself
};

bool note_end(const struct handoff *handoff, int status);

void report_unclosed(const struct handoff *handoff);
