// For the files that record what a layer above the C library says.
#ifndef PROVIO_RECORD_H
#define PROVIO_RECORD_H

#include "event.h"

#pragma GCC visibility push(default)
#include "layer.h"
#pragma GCC visibility pop

struct provio_object {
    struct object object;
    provio_object *file; // NULL: it is one
    _Atomic bool replaced;
    bool plain; // a file of whose inside its library knows nothing
    uint32_t length, room;
    char *text; // of a file its path; of a member what is said of it wherever it is announced, as Turtle
    char short_text[128];
};

// The calling thread, where it is heard under its own name.
static inline struct thread *recording_thread(void) {
    return likely(watching()) && likely(lender == NULL) ? thread_self() : NULL;
}

// When a call began that is told of now: not before its thread did, nor later than now.
static inline uint64_t clamped_start(const struct thread *thread, uint64_t started, uint64_t time) {
    if (likely(started - thread->epoch <= time - thread->epoch)) return started;
    return started < thread->epoch ? thread->epoch : time;
}

static inline bool function_known(int function) {
    if (likely((unsigned)function < API_NAMED)) return true;
    return (unsigned)function < API_NAMED + REGISTERED && relaxed(registered[function - API_NAMED].length) != 0;
}

size_t path_or_address(char *room, const char *path); // path_join(), but for what is no file
uint64_t announce_again(struct thread *thread, provio_object *object, uint64_t parents);

// Its number in this process: what a parent announced is announced anew in its child, at its first use there.
static inline uint64_t serial_of(struct thread *thread, provio_object *object) {
    uint64_t serial = atomic_load_explicit(&object->object.serial, memory_order_acquire);
    return likely(serial > serials_of_parent) || serial == 0 ? serial : announce_again(thread, object, serial);
}

enum { LONGEST_NAME = 1 << 16, LONGEST_VALUE = 1 << 20, DECLARATION_ROOM = 256 };

// A handle is a Task's number, or a letter in the highest byte and a number.
bool handle_is_own(uint64_t handle);                                           // not its parent's
void text_handle(struct text *text, uint64_t handle);                          // `<../g3`
void text_reference(struct text *text, const char *property, uint64_t handle); // ` ; property <../g3>`
void text_integer(struct text *text, int64_t value);

struct literal {
    const char *bytes; // NULL: nothing is said
    size_t size;
};
struct literal literal_cut(const char *bytes, size_t longest); // not within a character
struct literal literal_of(const char *bytes);
size_t literal_room(struct literal literal);
void text_literal(struct text *text, const char *property, const char *encoded, struct literal literal);

bool key_hides(const char *key, bool number, bool digit); // declared_settings.c

#endif
