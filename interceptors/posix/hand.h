// For the files that hold calls written out by hand: HAND(...) of the table as declarations under the C library's
// names.
#ifndef PROVIO_HAND_H
#define PROVIO_HAND_H

#include "shim.h"

#define CALL(...)
#define CHARACTER(...)
#define VARIADIC(...)
#define FRESH(...)
#define SKIP(...)
#define SKIPS(...)
#define HAND EXPORTED
#include "calls.def"

// The same body for a name and its siblings.
#define FORWARD(name, type, parameters, function, ...)                                                                 \
    type provio_##name parameters {                                                                                    \
        return function(API_##name, REAL(name), __VA_ARGS__);                                                          \
    }

// descriptors.c
int object_doubled(struct object *object, int copy);
int access_mode(int fd); // of its opening: O_RDONLY, O_WRONLY or O_RDWR
void forget_standard(void);

// streams.c
int watched_fclose(int (*real)(FILE *), FILE *stream);

#endif
