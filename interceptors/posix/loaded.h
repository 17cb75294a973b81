// What is among the loaded objects, for layers above the C library: libraries that were loaded privately, past the
// global scope. Not for signal handlers: the loader's list is locked meanwhile.
#ifndef PROVIO_LOADED_H
#define PROVIO_LOADED_H

#include <stdbool.h>
#include <stddef.h>

void *loaded_function(const char *name); // of the first object that leads to one that is not ours; NULL: none does
void *loaded_symbol(void *handle, const char *name); // as dlsym(3); RTLD_NEXT: behind this library
bool loaded_here(const void *function);              // whether it is one of ours
bool loaded_as(const char *part);                    // whether the name of a loaded object's file has that in it

// The loader's own functions, looked up when they are needed: every start of a process would pay for their names, and
// for the library of its own that they lie in before glibc 2.34.
struct dl_phdr_info;
extern struct loader {
    int (*dl_iterate_phdr)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    void *(*dlopen)(const char *, int);
    int (*dlclose)(void *);
} loader;
bool loader_ready(void);

#endif
