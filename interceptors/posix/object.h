// From a descriptor to its opening, and what is known of the file, the connection, the maps.
#ifndef PROVIO_OBJECT_H
#define PROVIO_OBJECT_H

#include "live.h"

// ---- object.c: descriptor -> opening

struct facts {
    uint32_t device_major, device_minor, links, mode;
    uint64_t inode, birth, modified, changed, size;
};

static inline uint64_t nanoseconds(int64_t seconds, int64_t more) {
    return seconds < 0 ? 0 : (uint64_t)seconds * 1000000000 + (uint64_t)more;
}

struct address {
    uint8_t bytes[16]; // of four bytes: mapped to sixteen
    uint16_t port;
};

struct connection {
    uint64_t peer_inode; // AF_UNIX; 0: unknown, then peer_pid may be known
    uint32_t peer_pid;
    uint16_t family; // 0: not looked at yet, or none
    union {
        char path[109]; // AF_UNIX
        struct {
            struct address local, peer;
        };
    };
};

struct object {
    _Atomic uint64_t serial; // 0: found open, to be announced at its first use
    struct counters *_Atomic hint[2];
    _Atomic uint32_t touched[2]; // detail `file`: the number of the thread that said so last
    _Atomic uint64_t
        position; // the file offset, as far as known; of a stream, what only a reposition changes by a leap
    _Atomic uint64_t references; // descriptors, and maps << 32
    uint32_t flags;
    uint32_t unclosed;       // its entry in the list of what is open for writing, from 1 on; 0: none
    struct access *opening;  // the access made with it, which has its `closed` counter
    const char *_Atomic put; // of a stream: up to here what lies in its buffer is counted
    struct facts facts;
    const char *kind; // its class
    char *path;       // NULL: none
    uint32_t path_length;
    _Atomic bool stream, shared;     // shared: several threads write to the stream
    _Atomic bool channel;            // a pipe or a connection; read also where another thread closes it
    bool inherited, unlinked, plain; // the last: the path needs no escapes
    union {
        char short_path[128];
        struct connection connection; // of a socket
    };
};

enum { MAP_REFERENCE = 1 }; // shifted by 32
extern struct object ignored;

struct object *object_slow(int fd);
struct object *object_known(int fd); // as the table has it, or NULL: only for its atomics
struct object *object_kept(int fd);  // the same, held until object_release(…, 1)
struct object *object_held(int fd);  // known or looked up now, held: never NULL
struct object *object_open(int api, int fd, int dirfd, const char *path, int flags, uint64_t started, bool stream);
void object_pair(int api, const int fds[2], uint64_t started); // the two ends of a socketpair
void object_share(int fd, struct object *object);
void object_forget(int fd);
void object_release(struct object *object, uint64_t reference);
void objects_after_fork(void);
uint64_t serial_next(void);
extern uint64_t serials_of_parent; // what has one of these was announced before the last fork
void overlay_drop(void);
unsigned descriptors_end(void);
struct mounts {
    uint64_t space, hash; // the mount namespace and what its table hashes to; 0: not known
    bool other;           // than that of what watches
};
void mounts_look(struct mounts *mounts); // header.c
void text_mounts(struct text *text, const struct mounts *mounts);
enum { MOUNTS_ROOM = 64 };

bool statx_facts(int dirfd, const char *path, int flags, struct facts *facts);
enum { FACTS_ROOM = 192 }; // what text_facts takes at most
void text_facts(struct text *text, const struct facts *facts);
void text_object(struct text *text, const char *property, uint64_t serial); // ` ; property <../o7>`

// opening.c
struct closing {
    struct object *object;
    struct facts facts;
    bool last, known;
};
void closing_begin(struct closing *closing, int fd);
void closing_look(struct closing *closing);
void closing_write(struct thread *thread, struct closing *closing, uint64_t serial, uint64_t time);
void closing_end(struct closing *closing, bool by_path);
void closing_undo(struct closing *closing, int fd);
void closing_range(unsigned first, unsigned last);

// unclosed.c
void unclosed_add(struct object *object, const struct live *live, uint64_t offset);
void unclosed_remove(struct object *object);
void unclosed_moved(const struct facts *facts, const struct live *live, uint64_t offset);

// path.c
size_t path_join(char *room, int dirfd, const char *path); // into PATH_ROOM bytes; 0: cannot be said
bool path_ignored(const char *path, size_t length);
size_t path_of_fd(int fd, char *room, bool *unlinked);
void cwd_changed(void);
void root_changed(const char *path, size_t length);

static inline void object_moved(struct object *object, uint64_t position) {
    atomic_store_explicit(&object->position, position, memory_order_relaxed);
}

// socket.c
void connection_read(int fd, struct object *object);
void text_connection(struct text *text, const struct connection *connection);
void message_taken(const struct msghdr *message);

// The opening behind a descriptor, ready to be counted on; `&ignored` where nothing is recorded.
static inline struct object *object_of(int fd) {
    if (likely((unsigned)fd < 1024 && self != NULL)) {
        struct object *object = atomic_load_explicit(&first_descriptors[fd], memory_order_acquire);
        if (likely(object != NULL && relaxed(object->serial) != 0)) return object;
    }
    return object_slow(fd);
}

// ---- map.c: shared writable maps, until the last part of each is unmapped

struct map {
    _Atomic uintptr_t address;
    _Atomic size_t size;
    struct object *object;
    _Atomic uint64_t event; // the Map that it came from, and whose event that is; looked at while another thread has it
    _Atomic int ordinal;
    uintptr_t was;
    struct map *next; // of those that one call ends
};
void map_follow(void *address, size_t size, const struct map *like);
bool map_at(const void *address, struct map *found); // with a reference to its object
bool maps_any(void);
struct map *maps_cut(const void *address, size_t size);
void maps_restore(struct map *gone);
void maps_gone(int api, struct map *gone, uint64_t started);
void maps_after_fork(void);

// ---- between object.c and opening.c

// ---- object.c

struct object *table_set(int fd, struct object *object); // returns what it named before
bool table_add(int fd, struct object *object);           // false: no room, or another thread looked it up meanwhile

// ---- object.c

extern _Atomic uint64_t serials; // how many openings have a number
struct object *object_new(void);
void object_path(struct object *object, const char *path, size_t length);
void object_free(struct object *object);

// Another thread may close the descriptor at any moment, and what was freed may be another opening by now: until it is
// held, nothing but an opening's atomics may be looked at.
static inline bool object_hold(struct object *object) {
    uint64_t count = atomic_load(&object->references);
    while (count != 0)
        if (atomic_compare_exchange_weak(&object->references, &count, count + 1)) return true;
    return false;
}

// Whether turns are followed there: asked where the opening may be another one by now, so kept as an atomic of its own.
static inline void channel_note(struct object *object) {
    bool channel = S_ISFIFO(object->facts.mode) || S_ISSOCK(object->facts.mode);
    atomic_store_explicit(&object->channel, channel, memory_order_relaxed);
}

#endif
