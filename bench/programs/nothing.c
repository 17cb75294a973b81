// A program without any I/O; `nothing FILE` opens one file and reads it.
#include <fcntl.h>
#include <unistd.h>

int main(int count, char **arguments) {
    char data[64];
    int fd = count < 2 ? -1 : open(arguments[1], O_RDONLY);
    return count < 2 || (fd >= 0 && read(fd, data, sizeof data) >= 0 && close(fd) == 0) ? 0 : 1;
}
