// Between the files that look at what an exec is about to start: the program's file, its environment, the launch.
#ifndef PROVIO_IMAGE_H
#define PROVIO_IMAGE_H

#include "shim.h"

#if defined(__GLIBC__)
enum { OWN_MUSL = false };
#else
enum { OWN_MUSL = true };
#endif

static inline bool begins(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static inline const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

// ---- image.c

// What the exec needs beside a reason: the shim taken out of the environment, or the other C library's in its place.
struct need {
    bool strip, other_library;
};

extern const char other_library[]; // the reason that a program has which would need a shim that is not there

// Why the program cannot be watched; NULL: it can, or it will not start. Its first page is read into the room.
const char *image_reason(char *room, int dirfd, const char *path, int flags, struct need *need);

// ---- environment.c

struct change {
    bool preload;     // the shim is taken out,
    const char *shim; // or this one takes its place
    const char *site; // a folder that comes first where Python looks for modules, or NULL
};

bool is_watched(char *const envp[]);
void environment_change(struct launch *launch, char *const envp[], const struct change *change);
const char *other_shim(char *room); // for the other C library on this machine, beside this one; NULL: there is none
const char *python_site(char *room, const char *program, char *const envp[]);

#endif
