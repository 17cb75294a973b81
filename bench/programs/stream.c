// `stream fread|getc FILE COUNT`: nanoseconds for one fread of 64 bytes, or one getc; the file holds so much.
#include "timing.h"

#include <string.h>

static char data[64];

int main(int count, char **arguments) {
    FILE *stream = count == 4 ? fopen(arguments[2], "r") : NULL;
    double best = 0;
    if (stream == NULL) return 2;
    WARM_UP({
        if (fread(data, sizeof data, 1, stream) != 1) rewind(stream);
        if (getc(stream) == EOF) rewind(stream);
    });
    rewind(stream);
    if (strcmp(arguments[1], "fread") == 0) {
        TIMED(best, atol(arguments[3]), if (fread(data, sizeof data, 1, stream) != 1) return 1);
    } else {
        TIMED(best, atol(arguments[3]), if (getc(stream) == EOF) return 1);
    }
    printf("%.2f\n", best);
    return 0;
}
