// also: run
// reads: two
// writes: one two three four
// All descriptors above 2 are closed, one by one, as a range and by closefrom; the next open returns 3.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void one(const char *name) {
    char text[64] = "";
    int fd = open(name, O_CREAT | O_RDWR, 0644);
    for (int i = 0; i < 100; i++) dprintf(fd, "%s %d\n", name, i);
    printf("%s: %d, read %d\n", name, fd, (int)pread(fd, text, 8, 0));
}

int main(void) {
    one("one");
    for (int fd = 3; fd < 2000; fd++) close(fd);
    printf("closed twice: %d, %s\n", close(3), strerror(errno));
    one("two");
    printf("range: %d\n", close_range(3, ~0U, 0));
    one("three");
    printf("on exec: %d\n", close_range(3, ~0U, CLOSE_RANGE_CLOEXEC));
    printf("flags: %d\n", fcntl(3, F_GETFD));
    closefrom(3);
    one("four");
    for (int fd = 0; fd < 1000; fd++)
        if (fd != 1) close(fd);
    one("five");
    return 0;
}
