// A preloaded library that lets calls on the files below a folder fail: FAULTS is a list of `CALL:TURN:ERROR`. Each
// TURN-th CALL of a process fails with the number ERROR; with 0 it transfers at most one byte. If TURN is negative, all
// calls from that one on fail. FAULTS_BELOW is the folder. A failing `close` closes the file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 16 };
static struct {
    char name[16];
    long turn;
    int error;
    atomic_long count;
} faults[CALLS];

static __attribute__((constructor)) void begin(void) {
    const char *at = getenv("FAULTS");
    for (int i = 0, length; at != NULL && i < CALLS - 1; i++, at += length)
        if (sscanf(at, " %15[^:]:%ld:%d%n", faults[i].name, &faults[i].turn, &faults[i].error, &length) != 3) break;
}

static int is_below(const char *path) {
    const char *folder = getenv("FAULTS_BELOW");
    size_t length = folder == NULL ? 0 : strlen(folder);
    return length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/';
}

static int is_file_below(int fd) {
    char link[64], path[PATH_MAX + 1];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX);
    path[length < 0 ? 0 : length] = '\0';
    return is_below(path);
}

// The error of this call, 0 for a short one, or -1: it is made as it is.
static int fault(const char *name) {
    for (int i = 0; faults[i].turn != 0; i++) {
        if (strcmp(faults[i].name, name) != 0) continue;
        long count = atomic_fetch_add(&faults[i].count, 1) + 1, turn = faults[i].turn;
        return (turn > 0 ? count % turn == 0 : count >= -turn) ? faults[i].error : -1;
    }
    return -1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL(name, found)                                                                                              \
    int failed = (found) ? fault(name) : -1;                                                                           \
    if (failed > 0) return errno = failed, -1

#define TRANSFER(name, fault_name, parameters, ...)                                                                    \
    ssize_t name parameters {                                                                                          \
        FAIL(fault_name, is_file_below(fd));                                                                           \
        if (failed == 0 && size > 1) size = 1;                                                                         \
        return NEXT(name)(__VA_ARGS__);                                                                                \
    }
TRANSFER(read, "read", (int fd, void *data, size_t size), fd, data, size)
TRANSFER(write, "write", (int fd, const void *data, size_t size), fd, data, size)
TRANSFER(pread, "read", (int fd, void *data, size_t size, off_t at), fd, data, size, at)
TRANSFER(pread64, "read", (int fd, void *data, size_t size, off_t at), fd, data, size, at)
TRANSFER(pwrite, "write", (int fd, const void *data, size_t size, off_t at), fd, data, size, at)
TRANSFER(pwrite64, "write", (int fd, const void *data, size_t size, off_t at), fd, data, size, at)

#define ON_FILE(name)                                                                                                  \
    int name(int fd) {                                                                                                 \
        FAIL("sync", is_file_below(fd));                                                                               \
        return NEXT(name)(fd);                                                                                         \
    }
ON_FILE(fsync)
ON_FILE(fdatasync)

int close(int fd) {
    int failed = is_file_below(fd) ? fault("close") : -1, result = NEXT(close)(fd);
    return failed > 0 && result == 0 ? (errno = failed, -1) : result;
}

int rename(const char *from, const char *to) {
    FAIL("rename", is_below(to));
    return NEXT(rename)(from, to);
}
