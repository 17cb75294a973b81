// The test programs print their expected trace, a line for each call:
//   write a.h5 /g/x 1 80      operation, file, path, calls, bytes
//   event Rename a.h5 - - /a /b
//   object Dataset a.h5 /g/x created
#ifndef EXPECT_H
#define EXPECT_H

#include <hdf5.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const file_name = "a.h5";

static inline long must_(long result, const char *what) {
    if (result < 0) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
    return result;
}
#define MUST(call) must_((long)(call), #call)

static inline hid_t line_of(hsize_t size) {
    return H5Screate_simple(1, &size, NULL);
}
#endif
