// An exec that fails, then execl with five arguments.
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count != 2 || chdir(arguments[1]) != 0) return 1;
    close(open("file", O_CREAT | O_WRONLY, 0644));
    execl("/does/not/exist", "x", "y", (char *)NULL);
    execl("/bin/echo", "echo", "ONE", "TWO", "THREE", (char *)NULL);
    return 1;
}
