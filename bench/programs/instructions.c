// `instructions pread|open|fread|getc FILE COUNT`: COUNT calls within `measured`, for a tool that counts instructions.
#include "timing.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char data[4096];
static volatile long sum; // so that no call is left out

__attribute__((noinline)) void measured(const char *what, const char *path, int fd, FILE *stream, long count) {
    if (strcmp(what, "pread") == 0)
        for (long i = 0; i < count; i++) sum += pread(fd, data, sizeof data, i % 256 * 4096);
    else if (strcmp(what, "fread") == 0)
        for (long i = 0; i < count; i++) sum += (long)fread(data, 64, 1, stream);
    else if (strcmp(what, "getc") == 0)
        for (long i = 0; i < count; i++) sum += getc(stream);
    else
        for (long i = 0; i < count; i++) sum += close(open(path, O_RDONLY));
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    int fd = open(arguments[2], O_RDONLY);
    FILE *stream = fopen(arguments[2], "r");
    if (fd < 0 || stream == NULL) return 1;
    for (int i = 0; i < 64; i++) sum += (long)fread(data, 64, 1, stream), sum += getc(stream);
    WARM_UP(sum += pread(fd, data, sizeof data, 0));
    measured(arguments[1], arguments[2], fd, stream, atol(arguments[3]));
    return 0;
}
