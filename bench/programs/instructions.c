// `instructions pread|open|pipe|fread|getc|layer FILE COUNT`: COUNT calls within `measured`, for a tool that counts instructions.
#include "timing.h"

#pragma weak provio_now
#pragma weak provio_write
#pragma weak provio_file
#pragma weak provio_member
#pragma weak provio_function
#include "../../interceptors/posix/layer.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char data[4096];
static volatile long sum; // so that no call is left out

static int pipe_end; // its pipe has space for all writes: they are fewer than 65,536
static int function;
static provio_object *dataset; // NULL: the layer records nothing

static void record_in_layer(const char *path) {
    if (provio_function == NULL) return;
    struct provio_member member = {.kind = "Dataset", .path = "/data"};
    function = provio_function("layer.write", "Write");
    dataset = provio_member(provio_file(function, path, O_RDWR, provio_now()), &member);
}

// The shim's clock is measured over the first ten milliseconds of its use, which not every call at every level is.
static void measure_clock(void) {
    double until = nanoseconds() + 5e7;
    for (long i = 0; provio_now != NULL && (i < 1000 || nanoseconds() < until); i++) sum += (long)provio_now();
}

__attribute__((noinline)) void measured(const char *kind, const char *path, int fd, FILE *stream, long count) {
    if (strcmp(kind, "pread") == 0)
        for (long i = 0; i < count; i++) sum += pread(fd, data, sizeof data, i % 256 * 4096);
    else if (strcmp(kind, "fread") == 0)
        for (long i = 0; i < count; i++) sum += (long)fread(data, 64, 1, stream);
    else if (strcmp(kind, "getc") == 0)
        for (long i = 0; i < count; i++) sum += getc(stream);
    else if (strcmp(kind, "pipe") == 0)
        for (long i = 0; i < count; i++) sum += write(pipe_end, data, 1);
    else if (strcmp(kind, "layer") == 0)
        for (long i = 0; i < count && dataset != NULL; i++) provio_write(dataset, function, 8, provio_now());
    else
        for (long i = 0; i < count; i++) sum += close(open(path, O_RDONLY));
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    int fd = open(arguments[2], O_RDONLY);
    FILE *stream = fopen(arguments[2], "r");
    if (fd < 0 || stream == NULL) return 1;
    for (int i = 0; i < 64; i++) sum += (long)fread(data, 64, 1, stream), sum += getc(stream);
    int ends[2];
    if (pipe(ends) != 0) return 1;
    pipe_end = ends[1];
    for (int i = 0; i < 64; i++) sum += write(pipe_end, data, 1);
    record_in_layer(arguments[2]);
    WARM_UP(sum += pread(fd, data, sizeof data, 0));
    measure_clock();
    for (int i = 0; i < 64 && dataset != NULL; i++) provio_write(dataset, function, 8, provio_now());
    measured(arguments[1], arguments[2], fd, stream, atol(arguments[3]));
    return 0;
}
