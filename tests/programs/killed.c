// `killed FILE COUNT STEP`: COUNT writes of 64 bytes, and one more, during which SIGKILL ends the program after STEP
// instructions (0: before it). If it has fewer, the program ends with exit code 0.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "stepped.h"

int main(int count, char **arguments) {
    static char data[64];
    int fd = open(arguments[1], O_CREAT | O_WRONLY, 0644);
    if (count != 4 || fd < 0) return 1;
    for (long i = atol(arguments[2]); i > 0; i--)
        if (write(fd, data, sizeof data) != sizeof data) return 1;
    kill_after(atol(arguments[3]), getpid());
    long written = write(fd, data, sizeof data);
    go_on();
    return written != sizeof data;
}
