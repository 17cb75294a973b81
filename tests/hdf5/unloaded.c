// `unloaded A B`: loads and unloads each plug-in, and prints the HDF5 that it calls.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        void *plug = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        void (*version)(unsigned *, unsigned *) =
            plug == NULL ? NULL : (void (*)(unsigned *, unsigned *))dlsym(plug, "version");
        unsigned major, minor;
        if (version == NULL) return 1;
        version(&major, &minor);
        printf("%u.%u at %p\n", major, minor, (void *)version);
        dlclose(plug);
    }
    return 0;
}
