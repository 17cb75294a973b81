// From a thread, an opening, a Task and a function to their counters.
#ifndef PROVIO_ACCESS_H
#define PROVIO_ACCESS_H

#include "object.h"

// ---- task.c: the Task that a thread is in. One that enters or leaves it gets another number, so what it did before is
// no longer its own to count on: calls look at nothing more than they do without Tasks.

extern uint64_t tasks_of_parent; // what has one of these was begun before the last fork
uint64_t scope_of(struct thread *thread);
bool numbered_so(const struct thread *thread, uint32_t number);
void scopes_begin(struct thread *thread, bool made);
uint32_t number_next(void);
void tasks_after_fork(void);
bool task_is_own(uint64_t task);
void said_after_fork(void); // said.c
void text_task(struct text *text, uint64_t scope);
static inline size_t task_room(uint64_t scope) {
    return likely(scope == 0) ? 0 : sizeof " ; " TERM_task " <../t>" + digits_at_most(scope);
}

// ---- access.c: (thread, opening, Task, function) -> its counters

enum side { READING, WRITING };

// One direction of an access: its first cache line is what one call touches, of the second it reads the start. After a
// system call cold lines and cold code are what a wrapper costs.
struct counters {
    _Atomic uint32_t owner; // the thread's number; others look at it, and at nothing else unless it is theirs
    int16_t api;            // -1: none
    int16_t side;
    uint64_t serial;
    uint64_t values[4]; // count, bytes, elapsed, last
    char *digits;       // of the count in the live file; the others follow, each 32 bytes on: see enum digits
    uint64_t next;      // the offset at which a consecutive call begins

    uint64_t low, width; // the sizes that need no counter of their own; width 0: no call had a size yet
    uint64_t longest, empty;
    struct spread *spread; // the sizes of the other calls
    uint64_t usual;        // what `width` was, where it is 0 so that each call is looked at: see turns.c
    uint64_t turn, turn_last, turn_bytes;
    unsigned turns;
    uint64_t source;  // of a Copy; of failures, their error
    uint64_t number;  // of the access in its name
    const char *term; // NULL: as the side says
    char prefix[16];  // of its calls' lines at detail `call`, ending at the last byte
    unsigned prefix_length;
};
enum { COUNT, BYTES, ELAPSED, LAST };
enum digits { FIRST = 4, LONGEST, EMPTY };

struct access {
    struct counters side[2];
    char *closed;
    struct object *object;
    struct access *next; // in the same slot of the thread's table
    struct access *mine; // of the same thread
    struct chunk *chunk;
    uint64_t scope; // the Task
};

#define AN_ERROR ((uint64_t)1 << 63) // in the place of a copy's source

// Whose failures belong to no opening.
extern struct object nobody, within; // `within`: in the place of a copy's source, of all objects of a file

struct counters *access_find(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api);
struct counters *access_counted(struct thread *thread, struct object *object, const char *term, int api,
                                struct object *source);
void count_change(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                  uint64_t started);
void count_operation(struct thread *thread, struct object *object, const char *term, int api, uint64_t bytes,
                     uint64_t started);
void access_opened(struct thread *thread, struct object *object, int api, uint64_t started, uint64_t elapsed);
void access_forget(struct thread *thread);
void access_touched(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                    uint64_t time);
void access_failed_with(struct thread *thread, struct object *object, int api, int error, uint64_t started);
static inline void access_failed(struct thread *thread, struct object *object, int api, uint64_t started) {
    access_failed_with(thread, object, api, errno, started);
}
void account_stream(struct thread *thread, struct object *object, enum side side, int api, uint64_t bytes);
void account_tenth(struct thread *thread, struct object *object, enum side side, int api);
void account_otherwise(struct thread *thread, struct object *object, uint64_t serial, enum side side, int api,
                       uint64_t offset, uint64_t bytes, uint64_t started);
struct access *access_new(struct thread *thread, struct object *object, uint64_t serial, uint64_t number,
                          struct block *block);
void access_remember(struct thread *thread, struct access *access);
void counters_begin(struct counters *counters, uint64_t bytes, uint64_t first);
void sizes_free(struct counters *counters);
void counters_longer(struct counters *counters, uint64_t elapsed);
void counters_again(struct counters *counters);
void counters_spread(struct thread *thread, struct counters *counters, uint64_t bytes, bool consecutive,
                     uint64_t first);
void call_line(struct thread *thread, struct counters *counters, uint64_t count, uint64_t offset, uint64_t bytes,
               uint64_t started, uint64_t elapsed, int error);

// turns.c: where reading goes on after the process wrote, and writing after it read
void turn_to(enum side side);
bool turns_seen(const struct counters *counters);
void turn_follow(struct counters *counters);
void turn_look(struct thread *thread, struct counters *counters, uint64_t first);
void turn_end(struct thread *thread, struct counters *counters, uint64_t first);

bool access_closed(struct thread *thread, struct object *object, uint64_t serial, uint64_t time);

// A counter in the text: a label of 16 bytes and 16 digits.
enum { COUNTER = 32 };
#define PADDING "                "
#define ZEROS "0000000000000000"

void text_counter(struct text *text, const char *label);
void text_align(struct text *text);
void text_counted_api(struct text *text, const char *property, int api);
unsigned side_counters(enum side side);
void text_side(struct text *text, struct access *access, enum side side, int api);

#endif
