// Passes the contents of files with parameters or metrics, as `params.yaml`, to a process that reads their values. In:
// the shim's list of names. Out: the process `provio.merge.last_values`.
//
// The next run may overwrite the files, so that the merge, which may be seconds later, is too late. The contents are
// only in memory, because they may contain secrets, and this program does not wait until they are read. Until then the
// process holds the lock of the request for the run's contents, for which a merge of the run waits.

#include "waiter.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_FILES = 1000, LARGEST_LIST = 1 << 20, LARGEST_REQUEST = 1 << 20, PATIENCE = 50, LOCK_FD = 3 };
static const unsigned long long MOST_BYTES = 64 << 20; // of all files

// Return the content of a file with a NUL at its end; NULL: there is none, or it is larger.
static char *content(int fd, size_t largest, size_t *size) {
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || (size_t)found.st_size > largest) return NULL;
    char *text = malloc((size_t)found.st_size + 1);
    *size = 0;
    for (ssize_t got = 1; text != NULL && got > 0 && *size < (size_t)found.st_size; *size += got > 0 ? (size_t)got : 0)
        got = read(fd, text + *size, (size_t)found.st_size - *size);
    if (text != NULL) text[*size] = '\0';
    return text;
}

static char *content_of(const char *folder, const char *name, size_t largest, size_t *size) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *text = content(fd, largest, size);
    if (fd >= 0) close(fd);
    return text;
}

// Return the descriptor of the locked request; -1: there is none, or it stays locked. The process of another rank of
// the run may hold the lock for a moment.
static int lock_request(const struct handoff *handoff) {
    char path[4096];
    const char *run = strrchr(handoff->run_folder, '/');
    if (run == NULL || snprintf(path, sizeof path, "%s/hashing%s", handoff->home, run) >= (int)sizeof path) return -1;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    for (int tries = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (tries == PATIENCE) return close(fd), -1;
        usleep(20000);
    }
    return fd;
}

// Return the limit in the request's first line: the bytes of the largest file that is read.
static unsigned long long limit_of(int request) {
    size_t size;
    char *text = content(request, LARGEST_REQUEST, &size);
    if (text != NULL) *strchrnul(text, '\n') = '\0';
    const char *word = text == NULL ? NULL : strstr(text, " limit=");
    unsigned long long limit = word == NULL ? 0 : strtoull(word + strlen(" limit="), NULL, 10);
    free(text);
    return limit == 0 || limit > MOST_BYTES ? MOST_BYTES : limit;
}

static unsigned long long nanoseconds(struct statx_timestamp time) {
    return (unsigned long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

// The facts that identify a version, as in `contents.ttl`.
static int facts_of(int fd, char *facts, size_t room) {
    struct statx found;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) return -1;
    return snprintf(facts, room, " ; :device \"%u:%u\" ; :inode %llu ; :birthNs %llu ; :mtimeNs %llu ; :size %llu",
                    found.stx_dev_major, found.stx_dev_minor, (unsigned long long)found.stx_ino,
                    found.stx_mask & STATX_BTIME ? nanoseconds(found.stx_btime) : 0, nanoseconds(found.stx_mtime),
                    (unsigned long long)found.stx_size);
}

// Add the file to the memory unless its values are known: a line with its facts and the length of its name, the name,
// the content. Returns the added bytes of the content; -1: none.
static long long add_file(FILE *memory, const char *path, unsigned long long limit, const char *known) {
    char facts[256], after[256];
    size_t size;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool has_facts = fd >= 0 && facts_of(fd, facts, sizeof facts) > 0;
    bool is_new = has_facts && (known == NULL || strstr(known, facts) == NULL);
    char *text = is_new ? content(fd, limit, &size) : NULL;
    bool whole = text != NULL && size > 0 && facts_of(fd, after, sizeof after) > 0 && strcmp(facts, after) == 0;
    if (whole) {
        fprintf(memory, "%zu %zu%s\n%s", strlen(path), size, facts, path);
        fwrite(text, 1, size, memory);
    }
    free(text);
    if (fd >= 0) close(fd);
    return whole ? (long long)size : -1;
}

static int compare_names(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

// Return whether the memory received any file.
static bool add_files(FILE *memory, char *list, size_t size, unsigned long long limit, const char *known) {
    static char *names[MOST_FILES];
    unsigned long long bytes = 0;
    size_t count = 0;
    bool any = false;
    for (char *name = list; name < list + size && count < MOST_FILES; name += strlen(name) + 1) names[count++] = name;
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count && bytes < MOST_BYTES; i++) {
        long long added = i > 0 && strcmp(names[i], names[i - 1]) == 0 ? -1 : add_file(memory, names[i], limit, known);
        any |= added >= 0;
        bytes += added > 0 ? (unsigned long long)added : 0;
    }
    return fflush(memory) == 0 && any;
}

// In a child that shares this program's memory until the exec: its standard input is the memory, descriptor 3 the lock.
static void start(const struct handoff *handoff, int memory, int request) {
    setsid();
    int nowhere = open("/dev/null", O_RDWR), lock = fcntl(request, F_DUPFD, LOCK_FD + 1);
    lseek(memory, 0, SEEK_SET);
    if (dup2(memory, 0) < 0 || dup2(nowhere, 1) < 0 || dup2(nowhere, 2) < 0 || dup2(lock, LOCK_FD) < 0) _exit(127);
    if (syscall(SYS_close_range, LOCK_FD + 1, ~0U, 0) != 0)
        for (int fd = LOCK_FD + 1; fd < 1024; fd++) close(fd);
    if (chdir("/") != 0) _exit(127);
    execl(handoff->python, handoff->python, "-P", "-m", "provio.merge.last_values", handoff->home,
          strrchr(handoff->run_folder, '/') + 1, handoff->settings, handoff->checkout, (char *)NULL);
    _exit(127);
}

void pass_values(const struct handoff *handoff) {
    static const char LIST[] = "value-files";
    size_t size, known_size;
    char *list = content_of(handoff->trace_folder, LIST, LARGEST_LIST, &size), path[4096];
    int request = list == NULL ? -1 : lock_request(handoff), memory = request < 0 ? -1 : memfd_create("provio", 0);
    FILE *file = memory < 0 ? NULL : fdopen(memory, "w");
    if (file != NULL) {
        char *known = content_of(handoff->trace_folder, "contents.ttl", MOST_BYTES, &known_size);
        if (add_files(file, list, size, limit_of(request), known) && vfork() == 0) start(handoff, memory, request);
        free(known);
        fclose(file);
        if (snprintf(path, sizeof path, "%s/%s", handoff->trace_folder, LIST) < (int)sizeof path) unlink(path);
    } else if (memory >= 0) {
        close(memory);
    }
    if (request >= 0) close(request);
    free(list);
}
