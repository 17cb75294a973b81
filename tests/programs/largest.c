// Offsets and sizes of more than sixteen digits: reads far beyond the end of the given file, and one of nearly all
// memory.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static char byte;

static void read_all(int fd) {
    struct aiocb request = {.aio_fildes = fd, .aio_buf = &byte, .aio_nbytes = SSIZE_MAX};
    if (aio_read(&request) != 0) return;
    while (aio_error(&request) == EINPROGRESS) usleep(1000);
    aio_return(&request);
}

int main(int count, char **arguments) {
    int fd = count == 2 ? open(arguments[1], O_RDWR | O_CREAT, 0644) : -1;
    if (fd < 0 || pread(fd, &byte, 1, 12345678901234567) != 0 || pread(fd, &byte, 1, INT64_MAX - 20) != 0) return 1;
    read_all(fd);
    read_all(fd);
    return 0;
}
