// also: run
// unseen: plain because it is only created
// O_TMPFILE and O_CREAT with modes and a umask; flags that a file keeps.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void show(const char *name, int fd) {
    struct stat facts;
    fstat(fd, &facts);
    printf("%s: %d, mode %o, links %d, flags %x\n", name, fd, facts.st_mode, (int)facts.st_nlink, fcntl(fd, F_GETFL));
}

int main(void) {
    char name[64];
    umask(0);
    int fd = open(".", O_TMPFILE | O_RDWR, 0640);
    show("O_TMPFILE", fd);
    write(fd, "without a name\n", 15);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    printf("linked: %d\n", linkat(AT_FDCWD, name, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW));
    show("linked", fd);
    show("openat", openat(AT_FDCWD, ".", O_TMPFILE | O_WRONLY | O_EXCL, 0604));
    show("open64", open64(".", O_TMPFILE | O_RDWR | O_APPEND, 0200));
    show("plain", open("plain", O_CREAT | O_WRONLY, 0461));
    umask(027);
    show("under a umask", open(".", O_TMPFILE | O_RDWR, 0777));
    return 0;
}
