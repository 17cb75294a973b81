/* Every way to set a file's times; prints how many worked. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

int main(void)
{
    struct timespec exact[2] = {{1000000000, 1}, {1000000000, 1}};
    struct timeval coarse[2] = {{1000000000, 2}, {1000000000, 2}};
    struct utimbuf whole = {1000000000, 1000000000};
    int fd = open("timed", O_WRONLY | O_CREAT, 0644), worked = 0;
    if (write(fd, "content", 7) != 7) return 1;
    worked += futimens(fd, exact) == 0;
    worked += futimes(fd, coarse) == 0;
    close(fd);
    worked += utime("timed", &whole) == 0;
    worked += utimes("timed", coarse) == 0;
    worked += lutimes("timed", exact ? coarse : NULL) == 0;
    worked += futimesat(AT_FDCWD, "timed", coarse) == 0;
    worked += utimensat(AT_FDCWD, "timed", exact, 0) == 0;
    printf("%d\n", worked);
    return 0;
}
