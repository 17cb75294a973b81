// The copy of standard output and error, for the functions of the C library that write to them.
#ifndef PROVIO_OUTPUT_H
#define PROVIO_OUTPUT_H

#include "rows.h"

enum { SHORT = 1024 };

struct formatted {
    char *text; // ends with a NUL byte
    size_t size;
    char room[SHORT];
};

// Around a write to a stream: returns its number in the run, 0 or 1; -1: none.
int output_before(FILE *stream);
void output_after(int which, FILE *stream);
void keep_parts(int which, struct iovec *parts, int count);
void output_format(struct formatted *made, const char *format, va_list list); // may change errno
void output_formatted(struct formatted *made);                                // frees it
void messages_begin(void);                                                    // messages.c

#endif
