# needs: gcc gcc
# any: *.so program
# also: run
# reads: constructed
# writes: constructed destroyed
# dlopen of a library that does I/O in its constructor, and in its destructor at dlclose, twice.
set -e
cat >library.c <<'END'
#include <fcntl.h>
#include <unistd.h>
static void put(const char *name, const char *text, size_t size) {
    int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0644);
    write(fd, text, size);
    close(fd);
}
__attribute__((constructor)) static void begin(void) { put("constructed", "begun\n", 6); }
__attribute__((destructor)) static void end(void) { put("destroyed", "ended\n", 6); }
int answer(void) { return 42; }
END
cat >program.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    for (int i = 0; i < 2; i++) {
        void *library = dlopen("./library.so", i == 0 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
        if (library == NULL) return puts(dlerror()), 1;
        printf("%d\n", ((int (*)(void))dlsym(library, "answer"))());
        printf("none: %d\n", dlsym(library, "no_such_name") == NULL && dlerror() != NULL && dlerror() == NULL);
        dlclose(library);
    }
    return 0;
}
END
gcc -shared -fPIC -w -o library.so library.c
gcc -w -o program program.c -ldl
./program
cat constructed destroyed
