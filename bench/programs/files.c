// `files FOLDER COUNT`: nanoseconds for open, fstat, read and close of one of the files FOLDER/012/01234.
#include "timing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void one_file(const char *folder, long i) {
    static char data[4096];
    char name[4096];
    struct stat facts;
    snprintf(name, sizeof name, "%s/%03ld/%05ld", folder, i / 100, i);
    int fd = open(name, O_RDONLY);
    if (fd < 0 || fstat(fd, &facts) != 0 || read(fd, data, sizeof data) != facts.st_size) exit(1);
    close(fd);
}

int main(int count, char **arguments) {
    double best = 0;
    if (count != 3) return 2;
    TIMED(best, atol(arguments[2]), one_file(arguments[1], i));
    printf("%.2f\n", best);
    return 0;
}
