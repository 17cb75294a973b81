// A program that asks by weak references and dlsym whether libaio and liburing are loaded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#define LIBRARY_CALLS(call)                                                                                            \
    call(io_setup) call(io_submit) call(io_queue_init) call(io_uring_setup) call(io_uring_queue_init)                  \
        call(io_uring_queue_init_params) call(io_uring_queue_init_mem)

#define DECLARE(name) extern int name(void) __attribute__((weak));
LIBRARY_CALLS(DECLARE)

#define SHOW(name) printf("%s %d %d\n", #name, &name != NULL, dlsym(RTLD_DEFAULT, #name) != NULL);

int main(void) {
    LIBRARY_CALLS(SHOW)
    return 0;
}
