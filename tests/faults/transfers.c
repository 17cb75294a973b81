// `transfers FILE`: writes FILE and reads it again in calls of 100 bytes, goes on after each error, and prints the
// result of each call and then, as `W calls bytes`, `R …`, `S …` and `C …`, the writes, reads, syncs and closes that
// succeeded.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 200, SIZE = 100 };
static long made[128], bytes[128];

static long note(char kind, long result) {
    if (result < 0) {
        printf("%c: error %d\n", kind, errno);
    } else {
        printf("%c: %ld\n", kind, result);
        made[(int)kind]++, bytes[(int)kind] += result;
    }
    return result;
}

int main(int count, char **arguments) {
    char data[SIZE];
    if (count != 2) return 2;
    memset(data, 'x', SIZE);
    for (int i = 0; i < CALLS; i++) {
        int fd = open(arguments[1], O_RDWR | O_CREAT | O_APPEND, 0600);
        note('W', write(fd, data, SIZE));
        note('W', pwrite(fd, data, SIZE, 0));
        note('S', i % 2 ? fsync(fd) : fdatasync(fd));
        note('R', read(fd, data, SIZE));
        note('R', pread(fd, data, SIZE, i));
        note('C', close(fd));
    }
    for (const char *kind = "WRSC"; *kind != '\0'; kind++)
        printf("%c %ld %ld\n", *kind, made[(int)*kind], bytes[(int)*kind]);
    return 0;
}
