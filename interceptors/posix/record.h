// Declarations for the sources that record calls of layers above the C library, and data that a program declares.
#ifndef PROVIO_RECORD_H
#define PROVIO_RECORD_H

#include "event.h"

#pragma GCC visibility push(default)
#include "layer.h"
#pragma GCC visibility pop

struct provio_object {
    struct object object;
    provio_object *file; // NULL: it is a file itself
    _Atomic bool replaced;
    bool plain; // a file with content that the library does not interpret
    uint32_t length, room;
    char *text; // of a file its path; of a member its Turtle properties, for each announcement
    char short_text[128];
};

// The calling thread, or NULL if it is not recorded under its own name.
static inline struct thread *recording_thread(void) {
    return likely(watching()) && likely(lender == NULL) ? thread_self() : NULL;
}

// Return the start of a call, not before the start of its thread nor after now.
static inline uint64_t clamped_start(const struct thread *thread, uint64_t started, uint64_t time) {
    if (likely(started - thread->epoch <= time - thread->epoch)) return started;
    return started < thread->epoch ? thread->epoch : time;
}

static inline bool function_known(int function) {
    if (likely((unsigned)function < API_NAMED)) return true;
    return (unsigned)function < API_NAMED + REGISTERED && relaxed(registered[function - API_NAMED].length) != 0;
}

size_t path_or_address(char *room, const char *path); // path_join(), extended to names that are no files
uint64_t announce_again(struct thread *thread, provio_object *object, uint64_t parents);

// Its number in this process. An object that the parent recorded is recorded again in the child, at its first use
// there.
static inline uint64_t serial_of(struct thread *thread, provio_object *object) {
    uint64_t serial = atomic_load_explicit(&object->object.serial, memory_order_acquire);
    return likely(serial > serials_of_parent) || serial == 0 ? serial : announce_again(thread, object, serial);
}

enum { LONGEST_NAME = 1 << 16, LONGEST_VALUE = 1 << 20, DECLARATION_ROOM = 256 };

// A handle is the number of a Task, or a letter in the highest byte and a number.
bool handle_is_own(uint64_t handle);                                           // not the parent's
void text_handle(struct text *text, uint64_t handle);                          // `<../g3`
void text_reference(struct text *text, const char *property, uint64_t handle); // ` ; property <../g3>`
void text_integer(struct text *text, int64_t value);

struct literal {
    const char *bytes; // NULL: absent
    size_t size;
};
struct literal literal_cut(const char *bytes, size_t longest); // truncated between characters
struct literal literal_of(const char *bytes);
size_t literal_room(struct literal literal);
void text_literal(struct text *text, const char *property, const char *encoded, struct literal literal);

#endif
