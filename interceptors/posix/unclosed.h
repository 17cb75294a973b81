// The list of a run's openings for writing whose close nobody has seen yet: one file a host, `unclosed`, mapped by each
// process that opens a file for writing, and read by the waiter at the end of the run. docs/trace-format.md has it.
#ifndef PROVIO_UNCLOSED_H
#define PROVIO_UNCLOSED_H

#include <stdatomic.h>
#include <stdint.h>

#define UNCLOSED_FILE "unclosed"

// What an entry is: free, being written, an opening, or a rename of a file that is open.
enum { UNCLOSED_FREE, UNCLOSED_CLAIMED, UNCLOSED_OPEN, UNCLOSED_MOVED };

struct unclosed_entry {
    _Atomic uint32_t state;
    uint32_t pid, image, thread; // <pid>.<tick>.<image>.<thread>.ttl
    uint64_t tick, offset;       // of its block in that file
    uint64_t serial;             // of an opening: <../o serial>
    uint64_t inode, birth;       // of the file
    uint32_t device_major, device_minor;
};

enum { UNCLOSED_SIZE = 1 << 20, UNCLOSED_ENTRIES = UNCLOSED_SIZE / sizeof(struct unclosed_entry) - 1 };

struct unclosed_list {
    _Atomic uint32_t entries; // for which there is space by now
    _Atomic uint32_t first;   // most likely all before this one are taken
    // The identity of the file that contains the list: every process that maps the file stores the same values.
    _Atomic uint64_t inode;
    _Atomic uint32_t device_major, device_minor;
    uint32_t unused[10];
    struct unclosed_entry entry[UNCLOSED_ENTRIES];
};

_Static_assert(sizeof(struct unclosed_entry) == 64 && sizeof(struct unclosed_list) == UNCLOSED_SIZE, "a line each");

#endif
