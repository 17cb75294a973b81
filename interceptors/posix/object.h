// From a descriptor to its opening, and the facts of its file, connection and maps.
#ifndef PROVIO_OBJECT_H
#define PROVIO_OBJECT_H

#include "live.h"

// ---- object.c: descriptor -> opening

struct facts {
    uint32_t device_major, device_minor, links, mode;
    uint64_t inode, birth, modified, changed, size;
    enum { TERMINAL_SLAVE = 1, TERMINAL_MASTER, TERMINAL_CONTROLLING } terminal; // 0: none that may be followed
};

static inline uint64_t nanoseconds(int64_t seconds, int64_t more) {
    return seconds < 0 ? 0 : (uint64_t)seconds * 1000000000 + (uint64_t)more;
}

struct address {
    uint8_t bytes[16]; // IPv4 addresses are mapped to IPv6
    uint16_t port;
};

struct connection {
    uint64_t peer_inode; // AF_UNIX; 0: unknown, then peer_pid may be known
    uint32_t peer_pid;
    uint16_t family; // 0: not read yet, or none; or an end of a terminal
    union {
        char path[109]; // AF_UNIX; of a terminal, the target of its mark
        struct {
            struct address local, peer;
        };
    };
};

enum { FAMILY_MASTER = 0xfffe, FAMILY_SLAVE, TERMINAL_ROOM = 45 };

struct object {
    _Atomic uint64_t serial; // 0: opened before provio saw it; recorded at its first use
    struct counters *_Atomic hint[2];
    _Atomic uint32_t touched[2]; // detail `file`: number of the thread that recorded it last
    _Atomic uint64_t position;   // the known file offset; for a stream, only a reposition makes it jump
    _Atomic uint64_t references; // descriptors, and maps << 32
    uint32_t flags;
    _Atomic uint32_t unclosed; // its entry in the list of unclosed openings, from 1 on; 0: none
    struct access *opening;    // its own access; NULL: none
    const char *_Atomic put;   // of a stream: the buffer is counted up to here
    struct facts facts;
    const char *kind; // its class
    char *path;       // NULL: none
    uint32_t path_length;
    _Atomic bool stream, shared;     // shared: several threads write to the stream
    _Atomic uint8_t channel;         // PIPE, CONNECTION or 0; read also while another thread closes it
    bool inherited, unlinked, plain; // plain: the path needs no escapes
    union {
        char short_path[128];
        struct connection connection; // of a socket
    };
};

enum { MAP_REFERENCE = 1 }; // shifted by 32
extern struct object ignored;

struct object *object_slow(int fd);
struct object *object_known(int fd); // from the table, or NULL; only its atomics may be read
struct object *object_kept(int fd);  // the same, with a reference, until object_release(…, 1)
struct object *object_held(int fd);  // looked up if not known, with a reference; never NULL
struct object *object_open(int api, int fd, int dirfd, const char *path, int flags, uint64_t started, bool stream);
void object_pair(int api, const int fds[2], uint64_t started); // the two ends of a socketpair
void object_share(int fd, struct object *object);
void object_forget(int fd);
void object_inherit(struct object *object); // in a forked child: recorded again at its next use
void object_announce(struct thread *thread, struct object *object, int fd); // fd -1: only mapped
void object_release(struct object *object, uint64_t reference);
void objects_after_fork(void);
uint64_t serial_next(void);
extern uint64_t serials_of_parent; // serials up to this one were recorded before the last fork
void overlay_drop(void);
unsigned descriptors_end(void);

static inline bool is_same_file(const struct facts *one, const struct facts *other) {
    return one->inode == other->inode && one->device_major == other->device_major &&
           one->device_minor == other->device_minor;
}

bool statx_facts(int dirfd, const char *path, int flags, struct facts *facts);
enum { FACTS_ROOM = 192 }; // maximum size of text_facts
void text_facts(struct text *text, const struct facts *facts);
void text_object(struct text *text, const char *property, uint64_t serial); // ` ; property <../o7>`

// opening.c
struct closing {
    struct object *object;
    struct facts facts;
    bool last, known;
};
void closing_begin(struct closing *closing, int fd);
void closing_write(struct thread *thread, struct closing *closing, uint64_t serial, uint64_t time);
void closing_end(struct closing *closing, bool by_path);
void closing_undo(struct closing *closing, int fd);
void closing_range(unsigned first, unsigned last);

// unclosed.c
void unclosed_add(struct object *object, const struct live *live, uint64_t place);
void unclosed_remove(struct object *object);
void unclosed_moved(const struct facts *facts, const struct live *live, uint64_t place);

// value_files.c
void value_file_add(const char *glob);
void value_file_note(const char *path, size_t length);

// path.c
size_t path_join(char *room, int dirfd, const char *path);                           // into PATH_ROOM bytes; 0: unknown
size_t path_opened(char *room, int fd, int dirfd, const char *path, bool *unlinked); // the same, of a new descriptor
size_t name_opened(char *room, int fd, int dirfd, const char *path, struct object *object);
bool path_ignored(const char *path, size_t length);
size_t path_of_fd(int fd, char *room, bool *unlinked);
enum { FIRST_INODES = 10 };
extern _Atomic uint64_t first_inodes[FIRST_INODES]; // of the files of the first descriptors; 0: unknown
void cwd_changed(void);
void root_changed(const char *path, size_t length);

static inline void object_moved(struct object *object, uint64_t position) {
    atomic_store_explicit(&object->position, position, memory_order_relaxed);
}

// socket.c
void connection_read(int fd, struct object *object);
void text_connection(struct text *text, const struct connection *connection);
void message_taken(const struct msghdr *message);

// terminal.c
bool terminal_read(int api, int fd, struct object *object, uint64_t opened);
void text_terminal(struct text *text, const struct connection *connection);

// The opening of a descriptor, ready for counting; `&ignored` if it is not recorded.
static inline struct object *object_of(int fd) {
    if (likely((unsigned)fd < 1024 && self != NULL)) {
        struct object *object = atomic_load_explicit(&first_descriptors[fd], memory_order_acquire);
        if (likely(object != NULL && relaxed(object->serial) != 0)) return object;
    }
    return object_slow(fd);
}

void maps_after_fork(void); // map.c

// ---- object.c, for opening.c

struct object *table_set(int fd, struct object *object); // returns the previous entry

// Another thread may close the descriptor at any time, and a freed opening may be reused: without a reference, only its
// atomics may be read.
static inline bool object_hold(struct object *object) {
    uint64_t count = atomic_load(&object->references);
    while (count != 0)
        if (atomic_compare_exchange_weak(&object->references, &count, count + 1)) return true;
    return false;
}

enum { PIPE = 1, CONNECTION = 2 };

// Whether turns are recorded for it. An atomic of its own, because it is read when the opening may already be reused.
static inline void channel_note(struct object *object) {
    uint8_t channel = S_ISSOCK(object->facts.mode) ? CONNECTION : S_ISFIFO(object->facts.mode) ? PIPE : 0;
    atomic_store_explicit(&object->channel, channel, memory_order_relaxed);
}

#endif
