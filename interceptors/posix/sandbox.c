// Restrictions that later keep the shim from its files: seccomp, another root, another user, other namespaces. Before
// each of them, space is added for the rest of the record. Under seccomp the shim makes no system calls.
#include "rows.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>

enum { AHEAD = 1 << 20 };

EARLY _Atomic bool under_seccomp, sandboxed;
static _Atomic bool sealed_by_child; // by a child of vfork, in its parent's memory

static const char seccomp_reason[] =
    "entered seccomp, under which the shim makes no system call: files opened from then on are known by name alone, "
    "and its children are not recorded",
                  clock_reason[] =
                      "entered strict seccomp, under which the shim has no clock: times stand still from then on";

struct thread *sandbox_begin(void) {
    struct thread *thread = watching() ? thread_self() : NULL;
    if (thread == NULL || relaxed(under_seccomp)) return thread;
    shim_enter(thread);
    live_gain_ahead(thread, AHEAD);
    memory_gain_ahead();
    gaps_changed(0); // creates the list that has their number
    shim_leave(thread);
    return thread;
}

// ---- seccomp

void seccomp_begin(struct seccomp_entry *seccomp_entry, bool strict) {
    seccomp_entry->thread = sandbox_begin();
    seccomp_entry->strict = strict;
    if (seccomp_entry->thread != NULL && strict)
        clock_stop(seccomp_entry->thread); // the counter itself will be forbidden
}

void seccomp_end(struct seccomp_entry *seccomp_entry, int api, bool done) {
    if (seccomp_entry->thread == NULL) return;
    if (!done) {
        if (seccomp_entry->strict) clock_resume();
        return;
    }
    // reading the system's clock may be a system call
    if (!settings.time_stamp_counter) clock_stop(seccomp_entry->thread);
    if (lender != NULL) atomic_store(&sealed_by_child, true);
    if (!atomic_exchange(&under_seccomp, true))
        event_gap(api, seccomp_entry->strict ? clock_reason : seccomp_reason, NULL);
}

// In the parent after vfork: a restriction of the child does not hold for the parent.
void seccomp_undo(void) {
    if (!relaxed(sealed_by_child)) return;
    atomic_store(&sealed_by_child, false);
    atomic_store(&under_seccomp, false);
    clock_resume();
}

int provio_prctl(int option, unsigned long first, unsigned long second, unsigned long third, unsigned long fourth) {
    if (option != PR_SET_SECCOMP && option != PR_SET_TSC) return REAL(prctl)(option, first, second, third, fourth);
    struct seccomp_entry seccomp_entry;
    struct thread *thread = option == PR_SET_TSC && watching() ? thread_self() : NULL;
    if (thread != NULL && first == PR_TSC_SIGSEGV) clock_without_counter(thread);
    if (option == PR_SET_SECCOMP) seccomp_begin(&seccomp_entry, first == SECCOMP_MODE_STRICT);
    int result = REAL(prctl)(option, first, second, third, fourth);
    if (option == PR_SET_SECCOMP) seccomp_end(&seccomp_entry, API_prctl, result == 0);
    return result;
}

// ---- another root, user, namespace

int sandbox_end(int result) {
    if (result == 0 && watching()) atomic_store(&sandboxed, true);
    return result;
}

int provio_chroot(const char *path) {
    char *room = sandbox_begin() == NULL ? NULL : pool_take(&scratches);
    if (room != NULL) path_join(room, AT_FDCWD, ""); // read it now: the working directory may be outside the new root
    size_t size = room == NULL ? 0 : path_join(room, AT_FDCWD, path);
    int result = sandbox_end(REAL(chroot)(path));
    if (result == 0 && size > 0 && lender == NULL) root_changed(room, size);
    if (room != NULL) pool_give(&scratches, room);
    return result;
}

int provio_unshare(int flags) {
    if ((flags & (CLONE_NEWNS | CLONE_NEWUSER)) == 0) return REAL(unshare)(flags);
    sandbox_begin();
    return sandbox_end(REAL(unshare)(flags));
}

int provio_setns(int fd, int kind) {
    sandbox_begin();
    return sandbox_end(REAL(setns)(fd, kind));
}

// Another user may lack permission to write the files. No space is added if the call changes nothing.
#define BECOMES(name, parameters, arguments, user)                                                                     \
    int provio_##name parameters {                                                                                     \
        bool changes = watching() && (user) != (uid_t)-1 && (long)(user) != RAW(geteuid, 0);                           \
        if (changes) sandbox_begin();                                                                                  \
        int result = REAL(name) arguments;                                                                             \
        return changes ? sandbox_end(result) : result;                                                                 \
    }
BECOMES(setuid, (uid_t user), (user), user)
BECOMES(seteuid, (uid_t user), (user), user)
BECOMES(setreuid, (uid_t real, uid_t user), (real, user), user)
BECOMES(setresuid, (uid_t real, uid_t user, uid_t saved), (real, user, saved), user)
