// In the given folder: no descriptor is left at the first recorded call, and later there is no space for the trace.
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int count, char **arguments) {
    struct rlimit descriptors, space;
    int fd = count == 2 && chdir(arguments[1]) == 0 ? open("file", O_RDWR | O_CREAT, 0644) : -1;
    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &descriptors) != 0 || getrlimit(RLIMIT_FSIZE, &space) != 0) return 1;
    struct rlimit few = {(rlim_t)fd + 1, descriptors.rlim_max}, little = {4096, space.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &few) != 0 || write(fd, "x", 1) != 1) return 2;
    if (setrlimit(RLIMIT_NOFILE, &descriptors) != 0 || setrlimit(RLIMIT_FSIZE, &little) != 0) return 3;
    for (int i = 0; i < 20; i++) close(open("file", O_RDONLY));
    return 0;
}
