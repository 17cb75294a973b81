// `writer FILE COUNT`: COUNT writes of 64 bytes.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    static char data[64];
    int fd = open(arguments[1], O_CREAT | O_WRONLY, 0644);
    if (count != 3 || fd < 0) return 1;
    for (long i = atol(arguments[2]); i > 0; i--)
        if (write(fd, data, sizeof data) != sizeof data) return 1;
    return 0;
}
