// The list of a run's openings for writing without a recorded close, and the number of its gaps: one file for each
// host, `unclosed`. Each process that opens a file for writing, or states a gap, maps it; the waiter reads it at the
// end of the run. Described in docs/trace-format.md.
#ifndef PROVIO_UNCLOSED_H
#define PROVIO_UNCLOSED_H

#include <stdatomic.h>
#include <stdint.h>

#define UNCLOSED_FILE "unclosed"

// State of an entry: free, being written, an opening, or a rename of an open file.
enum { UNCLOSED_FREE, UNCLOSED_CLAIMED, UNCLOSED_OPEN, UNCLOSED_MOVED };

struct unclosed_entry {
    _Atomic uint32_t state;
    uint32_t pid, image, thread; // <pid>.<tick>.<image>.<thread>[.<part>].ttl
    uint64_t tick, place;        // of its block: part << 32 | offset in that file
    uint64_t serial;             // of an opening: <../o serial>
    uint64_t inode, birth;       // of the file
    uint32_t device_major, device_minor;
};

enum { UNCLOSED_SIZE = 1 << 20, UNCLOSED_ENTRIES = UNCLOSED_SIZE / sizeof(struct unclosed_entry) - 1 };

struct unclosed_list {
    _Atomic uint32_t entries; // for which the file has space
    _Atomic uint32_t first;   // probably the first free entry
    // The identity of the file that contains the list: every process that maps the file stores the same values.
    _Atomic uint64_t inode;
    _Atomic uint32_t device_major, device_minor;
    _Atomic uint32_t gaps; // that the traces of this host state
    uint32_t unused[9];
    struct unclosed_entry entry[UNCLOSED_ENTRIES];
};

_Static_assert(sizeof(struct unclosed_entry) == 64 && sizeof(struct unclosed_list) == UNCLOSED_SIZE, "a line each");

#endif
