// Unrecorded callbacks: each calls the native connector's callback in the calling library.
#include "pass.h"

#define PASS(name, parameters, arguments)                                                                              \
    herr_t pass_##name parameters {                                                                                    \
        struct library *library = LIBRARY;                                                                             \
        return library->H5VL##name arguments;                                                                          \
    }
#include "pass.def"
#undef PASS
