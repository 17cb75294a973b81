// `load_library HOW LIBRARY` loads a library: `plain`, `deep` (RTLD_DEEPBIND) or `namespace` (dlmopen); prints the error of the
// loader.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int deep = strcmp(arguments[1], "deep") == 0 ? RTLD_DEEPBIND : 0;
    void *handle = strcmp(arguments[1], "namespace") == 0 ? dlmopen(LM_ID_NEWLM, arguments[2], RTLD_NOW)
                                                      : dlopen(arguments[2], RTLD_NOW | deep);
    if (handle == NULL) puts(dlerror());
    return handle == NULL || dlclose(handle) != 0;
}
