// `pread FILE COUNT`: nanoseconds for one pread of 4 KiB.
#include "timing.h"

#include <fcntl.h>
#include <unistd.h>

int main(int count, char **arguments) {
    static char data[4096];
    int fd = count == 3 ? open(arguments[1], O_RDONLY) : -1;
    double best = 0;
    if (fd < 0) return 2;
    WARM_UP(if (pread(fd, data, sizeof data, 0) != sizeof data) return 1);
    TIMED(best, atol(arguments[2]), if (pread(fd, data, sizeof data, i % 256 * 4096) != sizeof data) return 1);
    printf("%.2f\n", best);
    return 0;
}
