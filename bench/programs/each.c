// `each r|w FOLDER COUNT [TIMES]`: reads, or makes and writes, each of the files FOLDER/012/01234, and repeats this TIMES
// times; prints how many.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **arguments) {
    static char data[4096], name[4096];
    if (count != 4 && count != 5) return 2;
    int writes = arguments[1][0] == 'w';
    long files = atol(arguments[3]), times = count == 5 ? atol(arguments[4]) : 1;
    memset(data, 'x', sizeof data);
    for (long i = 0; i < files * times; i++) {
        long file = i % files;
        snprintf(name, sizeof name, "%s/%03ld", arguments[2], file / 100);
        if (writes && i < files && file % 100 == 0 && mkdir(name, 0777) != 0) return 1;
        snprintf(name, sizeof name, "%s/%03ld/%05ld", arguments[2], file / 100, file);
        int fd = writes ? open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666) : open(name, O_RDONLY);
        if (fd < 0 || (writes ? write(fd, data, 40) : read(fd, data, sizeof data)) != 40 || close(fd) != 0) return 1;
    }
    printf("%ld files\n", files);
    return 0;
}
