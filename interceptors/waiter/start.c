// Starts a Python module of provio that outlives this program.

#include "waiter.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOCK_FD = 3 };

// Give the module its descriptors and no other, so that readers of the caller's output see its end. Copies are above
// the numbers that are set here.
static bool set_descriptors(int input, int lock) {
    int nowhere = open("/dev/null", O_RDWR);
    int from = input < 0 ? nowhere : fcntl(input, F_DUPFD, LOCK_FD + 1), kept = lock < 0 ? LOCK_FD : LOCK_FD + 1;
    int held = lock < 0 ? -1 : fcntl(lock, F_DUPFD, LOCK_FD + 1);
    if (dup2(from, 0) < 0 || dup2(nowhere, 1) < 0 || dup2(nowhere, 2) < 0) return false;
    if (held >= 0) dup2(held, LOCK_FD);
    if (syscall(SYS_close_range, kept, ~0U, 0) != 0)
        for (int fd = kept; fd < 1024; fd++) close(fd);
    return true;
}

// This program continues once the child has left the project: until its exec they share their memory.
pid_t start_module(const struct handoff *handoff, const char *module, const char *run, int input, int lock) {
    const char *arguments[] = {handoff->python, "-P", "-m", module, handoff->home, run, NULL, NULL, NULL};
    const char **next = &arguments[run == NULL ? 5 : 6];
    next[0] = handoff->settings;
    next[1] = handoff->checkout;
    pid_t pid = vfork();
    if (pid != 0) return pid;
    setsid();
    restore_signals(handoff);
    if (set_descriptors(input, lock) && chdir("/") == 0) execv(handoff->python, (char *const *)arguments);
    _exit(127);
}
