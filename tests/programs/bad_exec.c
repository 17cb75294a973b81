/* exec with bad pointers, from an image that did I/O: each returns with EFAULT, or ENOENT for no name. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    char *const none[] = {NULL}, *bad = (char *)(uintptr_t)8, *const worse[] = {"x", bad, NULL};
    char *shut = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = open("/etc/passwd", O_RDONLY);
    close(fd);
    printf("%d %d\n", execve(bad, none, none), errno);
    printf("%d %d\n", execv("/bin/true", (char *const *)bad), errno);
    printf("%d %d\n", execv("/bin/true", worse), errno);
    printf("%d %d\n", execv(shut, none), errno);
    printf("%d %d\n", execv("", none), errno);
    return 0;
}
