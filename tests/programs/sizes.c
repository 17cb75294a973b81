// Calls of known sizes and offsets on the given file; prints the expected access of each function: api, calls, bytes,
// empty calls, consecutive bytes, and the calls of each of the ten sizes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static char data[3 << 20];

static void expect(const char *text) {
    puts(text);
}

static void writes(const char *path) {
    int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
    for (int i = 0; i < 10; i++) write(fd, data, 100);   // consecutive
    write(fd, data, 101);                                 // another size
    lseek(fd, 4096, SEEK_SET);                            // a reposition
    write(fd, data, 5000);
    lseek64(fd, 0, SEEK_CUR);                             // no reposition
    write(fd, data, 1 << 20);
    write(fd, data, 2 << 20);
    write(fd, data, 0);
    expect("write 15 3151829 0 3146829 11 1 1 0 1 1 0 0 0 0");
    close(fd);
}

static void reads(const char *path) {
    int fd = open(path, O_RDONLY);
    read(fd, data, 4096);
    read(fd, data, sizeof data);
    read(fd, data, sizeof data);
    read(fd, data, sizeof data); // the end
    expect("read 4 3154824 1 3154824 0 0 2 0 0 1 0 0 0 0");
    for (int i = 0; i < 8; i++) pread(fd, data, 64, i * 64);
    pread(fd, data, 64, 8192);
    pread(fd, data, 64, 8192 + 64);
    pread(fd, data, 64, 64);
    expect("pread 11 704 0 576 11 0 0 0 0 0 0 0 0 0");
    struct iovec part = {data, 20};
    lseek(fd, 0, SEEK_SET);
    preadv2(fd, &part, 1, -1, 0); // at the file offset
    preadv2(fd, &part, 1, -1, 0);
    expect("preadv2 2 40 0 40 2 0 0 0 0 0 0 0 0 0");
    close(fd);
}

static void streams(const char *path) {
    FILE *stream = fopen(path, "r");
    fpos_t position;
    fpos64_t position64;
    fgetpos(stream, &position);
    fgetpos64(stream, &position64);
    fread(data, 1, 6000, stream);
    fread(data, 1, 6000, stream);
    fseek(stream, 100000, SEEK_SET);
    fread(data, 1, 6000, stream);
    fseeko(stream, 200000, SEEK_SET);
    fread(data, 1, 6000, stream);
    fseeko64(stream, 300000, SEEK_SET);
    fread(data, 1, 6000, stream);
    fsetpos(stream, &position);
    fread(data, 1, 6000, stream);
    fsetpos64(stream, &position64);
    fread(data, 1, 6000, stream);
    rewind(stream);
    fread(data, 1, 6000, stream);
    expect("fread 8 48000 0 12000 0 0 8 0 0 0 0 0 0 0");
    fclose(stream);
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    writes(arguments[1]);
    reads(arguments[1]);
    streams(arguments[1]);
    return 0;
}
