// Shared maps that are moved, split, mapped over, numerous, and made writable, in the given folder; prints the expected
// trace like families.c, and `U <file> <maps created> <maps ended>`.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "must.h"

static size_t page;

static char *mapped_as(const char *name, size_t pages, int protection) {
    int fd = open(name, O_CREAT | O_RDWR, 0644);
    MUST(fd >= 0 && ftruncate(fd, pages * page) == 0);
    char *map = mmap(NULL, pages * page, protection, MAP_SHARED, fd, 0);
    MUST(map != MAP_FAILED);
    close(fd);
    return map;
}

static char *mapped(const char *name, size_t pages) {
    return mapped_as(name, pages, PROT_READ | PROT_WRITE);
}

static char *room(size_t pages) {
    char *map = mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(map != MAP_FAILED);
    return map;
}

static void moving(void) {
    char *map = mapped("moved", 2), *there = room(8);
    MUST(mremap(map, 2 * page, page, 0, NULL) == map && mremap(map + page, page, 2 * page, 0, NULL) == MAP_FAILED);
    MUST(mremap(there, page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, map + 1) == MAP_FAILED);
    char *new = mremap(map, page, 8 * page, MREMAP_MAYMOVE | MREMAP_FIXED, there);
    MUST(new == there);
    new[page] = 'x';
    MUST(msync(new, 2 * page, MS_SYNC) == 0);
    close(creat("moved.between", 0644));
    MUST(munmap(new, 8 * page) == 0);
    printf("E mmap Map moved\nE munmap Unmap moved\nO msync Fsync moved 1\nU moved 1 1\n");
}

static void doubling(void) {
    char *map = mapped("doubled", 2), *again = mremap(map, 0, 2 * page, MREMAP_MAYMOVE, NULL);
    if (again == MAP_FAILED) return; // an emulator may not support it
    MUST(munmap(map, 2 * page) == 0);
    close(creat("doubled.between", 0644));
    MUST(munmap(again, 2 * page) == 0);
    printf("U doubled 1 1\n");
}

static void cutting(void) {
    char *map = mapped("cut", 6);
    MUST(munmap(map + 2 * page, 2 * page) == 0 && munmap(map, page) == 0 && munmap(map + 5 * page, page) == 0);
    map[page] = map[4 * page] = 'x';
    MUST(munmap(map + page, page) == 0 && munmap(map + 1, page) == -1);
    close(creat("cut.between", 0644));
    MUST(munmap(map + 4 * page, page) == 0);
    printf("E munmap Unmap cut\nU cut 1 1\n");
}

static void covering(void) {
    char *map = mapped("covered", 2);
    MUST(mmap(map, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == map);
    printf("E mmap Unmap covered\nU covered 1 1\n");
    map = mapped("covered.by.a.file", 2);
    int fd = open("covered", O_RDWR);
    MUST(mmap(map, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == map);
    printf("U covered.by.a.file 1 1\nU covered 2 1\n");
}

static void many(void) {
    enum { COUNT = 1000 };
    static char *maps[COUNT];
    for (int i = 0; i < COUNT; i++) maps[i] = mapped("many", 1);
    for (int i = 0; i < COUNT; i++) MUST(munmap(maps[i], page) == 0);
    printf("U many %d %d\n", COUNT, COUNT);
}

static void protecting(void) {
    char *map = mapped_as("protected", 3, PROT_READ);
    MUST(mprotect(map, 3 * page, PROT_NONE) == 0 && mprotect(map, page, PROT_WRITE | 0x40000000) == -1);
    MUST(mprotect(map + page, page, PROT_READ | PROT_WRITE) == 0 && mprotect(map, 3 * page, PROT_WRITE) == 0);
    map[page] = 'x';
    MUST(munmap(map, 3 * page) == 0);
    printf("E mprotect Map protected\nU protected 2 2\n");
    map = mapped_as("protected.in.parts", 3, PROT_READ);
    MUST(munmap(map + page, page) == 0 && mprotect(map, page, PROT_WRITE) == 0);
    MUST(mprotect(map + 2 * page, page, PROT_WRITE) == 0 && munmap(map, page) == 0 &&
         munmap(map + 2 * page, page) == 0);
    printf("U protected.in.parts 3 3\n");
}

int main(int count, char **arguments) {
    MUST(count == 2 && chdir(arguments[1]) == 0);
    page = (size_t)sysconf(_SC_PAGESIZE);
    moving();
    doubling();
    cutting();
    covering();
    many();
    protecting();
    return 0;
}
