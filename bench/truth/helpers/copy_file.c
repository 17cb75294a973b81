// Copies a file in the way that the first argument names.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int by_stdio(const char *source, const char *target) {
    char room[4096];
    FILE *from = fopen(source, "r"), *to = fopen(target, "w");
    for (size_t got; (got = fread(room, 1, sizeof room, from)) > 0;) fwrite(room, 1, got, to);
    return fclose(from) | fclose(to);
}

int main(int count, char **given) {
    if (count != 4) return 2;
    const char *way = given[1];
    if (strcmp(way, "stdio") == 0) return by_stdio(given[2], given[3]);
    int from = open(given[2], O_RDONLY), to = open(given[3], O_RDWR | O_CREAT | O_TRUNC, 0644);
    struct stat of;
    if (from < 0 || to < 0 || fstat(from, &of) != 0) return 1;
    size_t size = (size_t)of.st_size;
    char room[65536];
    if (strcmp(way, "read") == 0) return write(to, room, (size_t)read(from, room, size)) != of.st_size;
    if (strcmp(way, "pread") == 0) return pwrite(to, room, (size_t)pread(from, room, size, 0), 0) != of.st_size;
    if (strcmp(way, "readv") == 0) {
        struct iovec one = {room, size};
        return readv(from, &one, 1) != of.st_size || writev(to, &one, 1) != of.st_size;
    }
    if (strcmp(way, "sendfile") == 0) return sendfile(to, from, NULL, size) != of.st_size;
    if (strcmp(way, "copy_file_range") == 0) return copy_file_range(from, NULL, to, NULL, size, 0) != of.st_size;
    if (strcmp(way, "splice") == 0) {
        int ends[2];
        if (pipe(ends) != 0) return 1;
        return splice(from, NULL, ends[1], NULL, size, 0) != of.st_size ||
               splice(ends[0], NULL, to, NULL, size, 0) != of.st_size;
    }
    if (ftruncate(to, of.st_size) != 0) return 1;
    char *old = mmap(NULL, size, PROT_READ, MAP_PRIVATE, from, 0);
    if (strcmp(way, "mmap") == 0) {
        char *new = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
        memcpy(new, old, size);
        return munmap(new, size);
    }
    if (strcmp(way, "map and write") == 0) return pwrite(to, old, size, 0) != of.st_size;
    return 2;
}
