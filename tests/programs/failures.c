// Calls that fail, on the given folder; prints `api errno count` for each, with the name of the file if it has an
// opening.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char data[16];

static void expect(const char *api, int error, int count, const char *file) {
    printf("%s %d %d %s\n", api, error, count, file);
}

int main(int count, char **arguments) {
    int fds[2], fd;
    if (count < 2 || chdir(arguments[1]) != 0) return 2;
    for (int i = 0; i < 7; i++)
        if (open("none", O_RDONLY) >= 0 || errno != ENOENT) return 1;
    expect("open", ENOENT, 7, "-");
    if (open(".", O_WRONLY) >= 0 || errno != EISDIR) return 1;
    expect("open", EISDIR, 1, "-");
    if (fopen("none/none", "r") != NULL) return 1;
    expect("fopen", ENOENT, 1, "-");
    if (unlink("none") == 0 || rename("none", "some") == 0 || mkdir(".", 0755) == 0) return 1;
    expect("unlink", ENOENT, 1, "-");
    expect("rename", ENOENT, 1, "-");
    expect("mkdir", EEXIST, 1, "-");
    fd = open("file", O_CREAT | O_WRONLY, 0644);
    for (int i = 0; i < 12; i++)
        if (read(fd, data, sizeof data) >= 0 || errno != EBADF) return 1;
    expect("read", EBADF, 12, "file");
    if (lseek(fd, -1, SEEK_SET) >= 0) return 1;
    expect("lseek", EINVAL, 1, "file");
    if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED || errno != EACCES) return 1;
    expect("mmap", EACCES, 1, "file");
    if (copy_file_range(fd, NULL, fd, NULL, 10, 0) >= 0 || errno != EBADF) return 1; // not open for reading
    expect("copy_file_range", EBADF, 1, "file");
    if (freopen("none/none", "r", stdin) != NULL || errno != ENOENT) return 1;
    expect("freopen", ENOENT, 1, "-");
    pid_t pid;
    char *const argv[] = {"none", NULL};
    if (posix_spawn(&pid, "./none", NULL, NULL, argv, NULL) != ENOENT) return 1;
    expect("posix_spawn", ENOENT, 1, "-");
    if (pipe2(fds, O_NONBLOCK) != 0 || read(fds[0], data, 1) >= 0) return 1;
    if (fsync(fds[0]) == 0) return 1;
    return 0;
}
