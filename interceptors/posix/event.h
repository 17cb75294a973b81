// Events, a block for each call: changes of names, processes and their programs, and gaps in the record.
#ifndef PROVIO_EVENT_H
#define PROVIO_EVENT_H

#include "access.h"

// ---- event.c: single calls, a block each

uint64_t event_begin(struct thread *thread, struct block *block, const char *term, int api, uint64_t started,
                     size_t room);
void event_end(struct block *block);
void event_rename(int api, const char *term, int fromfd, const char *from, int tofd, const char *to, uint64_t started);
void event_symbolic(int api, const char *target, int dirfd, const char *path, uint64_t started);
void event_delete(int api, int dirfd, const char *path, const struct facts *facts, uint64_t started);
void event_create(int api, int dirfd, const char *path, uint64_t started);
void event_times(int api, int dirfd, const char *path, int flags, const struct facts *before, uint64_t started);
void event_mode(int api, int dirfd, const char *path, int flags, mode_t mode, uint64_t started);
void event_owner(int api, int dirfd, const char *path, int flags, uid_t owner, gid_t group, uint64_t started);
void event_attribute(const char *term, int api, int dirfd, const char *path, int flags, const char *attribute,
                     uint64_t started);
void event_attribute_got(int api, int dirfd, const char *path, int flags, const char *attribute, uint64_t started);
void event_lookup(int api, const char *term, int dirfd, const char *path, uint64_t started);
void event_pattern(int api, const char *pattern, uint64_t started);
void event_truncate(int api, int fd, const char *path, off64_t length, uint64_t started);
uint64_t event_map(int api, struct object *object, size_t size, int protection, bool shared, uint64_t started);
void event_unmap(int api, int ordinal, uint64_t map, const struct facts *facts, uint64_t started);
void event_child(int api, const char *term, int pid, const char *path, char *const argv[], uint64_t started);
void event_child_end(int api, int pid, int status, uint64_t started);
uint64_t event_exec(int api, const char *path, char *const argv[], bool wanted);
void event_exec_failed(int api, uint64_t exec, int error);
void event_copy(struct thread *thread, int api, struct object *from, struct object *to, uint64_t bytes,
                uint64_t started);

// map.c: after mprotect(2)
void map_protected(int api, const void *address, size_t size, int protection, uint64_t started);

// ---- launch.c: the program that an exec will start

struct launch {
    char *const *environment; // for the new program
    char *const *argv;
    const char *reason; // why it cannot be recorded, or NULL
    char *path;         // of a program that cannot be recorded, absolute
    char *room;         // memory of the environment, if it is a copy
    size_t room_size;   // 0: from the pool
    uint32_t path_length;
    bool legible;
    bool hidden;      // it could not open the shim
    struct block gap; // withdrawn if the exec fails
    uint64_t event;
};

void launch_begin(struct launch *launch, int dirfd, const char *path, int flags, bool searched, char *const argv[],
                  char *const envp[]);
void launch_end(struct launch *launch);
void launch_returned(void);

// Around system and popen, which start a shell with the environment of this process.
struct shell {
    const char *reason; // why it cannot be recorded, or NULL
    char *before;       // the variable that was replaced
    char *changed;      // by this one, or NULL
};

void shell_begin(struct shell *shell);
void shell_end(struct shell *shell);
const char *own_name(void); // resolve.c: the shim's file
// launch.c: the folder that contains the shim or `preload`; returns its length, 0: unknown
size_t package_folder(char *room);

// children.c
void launch_report(struct launch *launch, int api, const char *shown);
void launch_failed(struct launch *launch, int api, int error);
pid_t forked(int api, pid_t pid, struct thread *thread, uint64_t started);

// event.c
void event_unwatched(struct launch *launch, int api, int pid);
void event_withdraw(struct block *block);
void event_gap(int api, const char *reason, const char *path);
void event_gap_about(int api, const char *about, const char *reason, const char *path);
void callers_unloaded(void); // ../hdf5/library.c

// ---- copies.c: a copy between two descriptors; one that is not recorded is `ignored`

struct copy {
    struct thread *thread;
    struct object *from, *to;
    uint64_t started;
    const off64_t *offsets[2]; // NULL: the copy moves the position of the file
    uint64_t serials[2];       // of both openings before the call
    bool stays;                // the data is still in the pipe that it comes from
};

void copy_begin(struct copy *copy, int api, int from, const off64_t *from_offset, int to, const off64_t *to_offset);
ssize_t copy_end(struct copy *copy, int api, ssize_t result);

// ---- unfollowed.c: ways of data that are not followed

enum way {
    SENDS_MESSAGES,
    RECEIVES_MESSAGES,
    SHARES_MEMORY,
    READS_MEMORY,
    WRITES_MEMORY,
    KERNEL_AIO,
    IO_URING,
    SECOND_LIBC,
    LOST_TERMINAL,
    LOST_CHILD,
    WAYS,
    NO_WAY
};

void unfollowed(enum way way, int api);
bool is_other_process(long pid);
enum way ptrace_way(long request);
void *shared_map_made(void *address);
void shared_map_ended(const void *address);
void library_loads(const char *path);

// ---- sandbox.c: restrictions that later keep the shim from its files

extern _Atomic bool sandboxed; // the root, the user or the namespaces were changed

struct seccomp_entry {
    struct thread *thread;
    bool strict;
};

struct thread *sandbox_begin(void);
int sandbox_end(int result);
void seccomp_begin(struct seccomp_entry *seccomp_entry, bool strict);
void seccomp_end(struct seccomp_entry *seccomp_entry, int api, bool done);
void seccomp_undo(void);

#if defined(__GLIBC__)
enum { OWN_MUSL = false };
#else
enum { OWN_MUSL = true };
#endif

static inline bool begins(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static inline const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

// ---- executable.c

// The change that the exec needs in addition to a reason: remove the shim from the environment, or replace it by the
// shim of the other C library.
struct need {
    bool strip, other_library;
};

extern const char other_library[]; // the reason for programs that need a shim that is missing

// Return why the program cannot be recorded; NULL: it can, or it will not start. The first page of its file is read
// into `room`.
const char *image_reason(char *room, int dirfd, const char *path, int flags, struct need *need);

#endif
