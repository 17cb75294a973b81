/* `copies FOLDER NAME` reads six files of a folder, and writes six files of that name into it. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char path[4096], data[4096];
    for (int number = 0; argc == 3 && number < 6; number++) {
        snprintf(path, sizeof path, "%s/in%d", argv[1], number);
        int from = open(path, O_RDONLY);
        ssize_t size = read(from, data, sizeof data);
        close(from);
        snprintf(path, sizeof path, "%s/%s.%d", argv[1], argv[2], number);
        int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (size < 0 || write(to, data, (size_t)size) != size) return 1;
        close(to);
    }
    return argc == 3 ? 0 : 2;
}
