// `killed FILE SEEN`: reads FILE until it is killed; SEEN, a shared map, holds how many reads have returned.
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **arguments) {
    static char data[4096];
    if (count != 3) return 2;
    int fd = open(arguments[1], O_RDONLY), seen = open(arguments[2], O_RDWR);
    volatile uint64_t *returned = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, seen, 0);
    if (fd < 0 || returned == MAP_FAILED) return 1;
    for (;;) {
        if (pread(fd, data, sizeof data, 0) != sizeof data) return 1;
        *returned += 1;
    }
}
