// What is among the loaded objects, for layers above the C library: libraries that were loaded privately, past the
// global scope. Not for signal handlers: the loader's list is locked meanwhile.
#ifndef PROVIO_LOADED_H
#define PROVIO_LOADED_H

#include <stdbool.h>

void *loaded_function(const char *name); // of the first object that leads to one that is not ours; NULL: none does
bool loaded_here(const void *function);  // whether it is one of ours
bool loaded_as(const char *part);        // whether the name of a loaded object's file has that in it

#endif
