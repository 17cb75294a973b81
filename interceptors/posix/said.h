// For the files that record what a program says of itself: handles, and texts that may be cut.
#ifndef PROVIO_SAID_H
#define PROVIO_SAID_H

#include "record.h"

enum { LONGEST_NAME = 1 << 16, LONGEST_VALUE = 1 << 20, SAID_ROOM = 256 };

// A handle is a Task's number, or a letter in the highest byte and a number.
bool handle_is_own(uint64_t handle);                                           // not its parent's
void text_handle(struct text *text, uint64_t handle);                          // `<../g3`
void text_reference(struct text *text, const char *property, uint64_t handle); // ` ; property <../g3>`
void text_integer(struct text *text, int64_t value);

struct words {
    const char *bytes; // NULL: nothing is said
    size_t size;
};
struct words words_cut(const char *bytes, size_t longest); // not within a character
struct words words_of(const char *bytes);
size_t words_room(struct words words);
void text_words(struct text *text, const char *property, const char *encoded, struct words words);

bool key_hides(const char *key, bool number, bool digit); // secret.c

#endif
