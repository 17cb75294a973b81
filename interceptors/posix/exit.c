// The end of a process from within: the last moment to write what is not in its files yet.
#include "hand.h"

// What a program leaves in the buffer of its standard output, the C library writes after this.
__attribute__((destructor)) static void last_flush(void) {
    if (watching()) put_count(STANDARD_OUTPUT);
    lives_write();
}

void provio__exit(int status) {
    lives_write();
    REAL(_exit)(status);
    __builtin_unreachable();
}

void provio__Exit(int status) {
    lives_write();
    REAL(_Exit)(status);
    __builtin_unreachable();
}
