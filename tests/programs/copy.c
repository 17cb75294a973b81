// Copies a file with read and write; prints its arguments. Built in several ways: static, for another C library, with
// the rights of another user.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **arguments) {
    char data[4096];
    if (count != 3) return 1;
    int from = open(arguments[1], O_RDONLY), to = open(arguments[2], O_CREAT | O_TRUNC | O_WRONLY, 0666);
    for (ssize_t size; (size = read(from, data, sizeof data)) > 0;)
        if (write(to, data, (size_t)size) != size) return 1;
    printf("%s to %s\n", arguments[1], arguments[2]);
    return from < 0 || to < 0;
}
