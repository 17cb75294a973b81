// The process that waits for a command instead of `provio run`: its input and its parts.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The content of the descriptor that PROVIO_WAIT names: strings separated by NUL, in this order. pid: of the command,
// or 0 if it has ended with `status`; mode: the actions at its end
struct handoff {
    const char *pid, *status, *awaited, *before, *run_folder, *trace_folder, *home;
    // settings, checkout: the folders of settings, if any
    const char *mode, *subject, *word, *python, *settings, *checkout;
};

enum mode {
    LEAVE = 'l',    // the run stays pending
    MERGE = 'm',    // as LEAVE, and the background merge is started
    PYTHON = 'p',   // Python does the rest
    POST_RUN = 's', // only files are examined, for a Python that does the rest
};

// `*gaps`: 1 if the command itself is not recorded, else 0.
bool record_end(const struct handoff *handoff, int status, unsigned *gaps);

unsigned report_unclosed(const struct handoff *handoff);

void pass_values(const struct handoff *handoff);

// The signals that were blocked before the command was started.
void restore_signals(const struct handoff *handoff);

// Start `python -m module .provio [run] settings checkout`. Its standard input is `input`, and its descriptor 3 `lock`;
// -1: none. Returns its process id; -1 on failure.
pid_t start_module(const struct handoff *handoff, const char *module, const char *run, int input, int lock);
