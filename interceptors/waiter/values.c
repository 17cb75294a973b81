// Passes the contents of files with parameters or metrics, as `params.yaml`, to a process that reads their values. In:
// the shim's list of names. Out: the process `provio.merge.last_values`.
//
// The next run may overwrite the files, so that the merge, which may be seconds later, is too late. The contents are
// only in memory, because they may contain secrets. The process holds the lock of the request for the run's contents,
// for which a merge of the run waits (provio/merge/contents.py). This program waits for it only where it would be
// killed with this program's caller: in a batch job, or as the first process of a container.

#include "waiter.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGEST_LIST = 1 << 20, LARGEST_REQUEST = 1 << 20, PATIENCE = 50, PAUSE = 20000 }; // PATIENCE pauses of PAUSE us
static const char LIST[] = "value-files";
static const size_t MOST_BYTES = 64 << 20; // of all files

// Return the content of a file with a NUL at its end; NULL: there is none, or it is larger.
static char *content(int fd, size_t largest, size_t *size) {
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || (size_t)found.st_size > largest) return NULL;
    char *text = malloc((size_t)found.st_size + 1);
    ssize_t got;
    for (*size = 0; text != NULL && *size < (size_t)found.st_size; *size += (size_t)got)
        if ((got = read(fd, text + *size, (size_t)found.st_size - *size)) <= 0) break;
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

// Return the descriptor of the request, locked unless another process holds the lock for long; -1: there is none.
static int lock_request(const struct handoff *handoff) {
    char path[4096];
    const char *run = strrchr(handoff->run_folder, '/');
    if (run == NULL || snprintf(path, sizeof path, "%s/hashing%s", handoff->home, run) >= (int)sizeof path) return -1;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    for (int tries = 0; fd >= 0 && tries < PATIENCE && flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) usleep(PAUSE);
    return fd;
}

// Return the limit in the request's first line: the bytes of the largest file that is read.
static size_t limit_of(int request) {
    size_t size;
    char *text = content(request, LARGEST_REQUEST, &size);
    if (text != NULL) *strchrnul(text, '\n') = '\0';
    const char *word = text == NULL ? NULL : strstr(text, " limit=");
    unsigned long long limit = word == NULL ? 0 : strtoull(word + strlen(" limit="), NULL, 10);
    free(text);
    return limit == 0 || limit > MOST_BYTES ? MOST_BYTES : (size_t)limit;
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

// Add the file to the memory unless its values are known: a line with the length of its name, its size and its facts,
// then the name and the content. Returns the added bytes of the content.
static size_t add_file(FILE *memory, const char *path, size_t limit, const char *known) {
    char facts[256], after[256];
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool has_facts = fd >= 0 && facts_of(fd, facts, sizeof facts) > 0;
    bool is_new = has_facts && (known == NULL || strstr(known, facts) == NULL);
    char *text = is_new ? content(fd, limit, &size) : NULL;
    bool whole = text != NULL && facts_of(fd, after, sizeof after) > 0 && strcmp(facts, after) == 0;
    if (whole && size > 0) {
        fprintf(memory, "%zu %zu%s\n%s", strlen(path), size, facts, path);
        fwrite(text, 1, size, memory);
    }
    free(text);
    if (fd >= 0) close(fd);
    return whole ? size : 0;
}

static int compare_names(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

// Return the names in the list, sorted; NULL: no memory.
static char **names_of(char *list, size_t size, size_t *count) {
    char **names = malloc((size + 1) * sizeof *names); // at least one byte for each
    *count = 0;
    for (char *name = list; names != NULL && name < list + size; name += strlen(name) + 1) names[(*count)++] = name;
    if (names != NULL) qsort(names, *count, sizeof *names, compare_names);
    return names;
}

// Return whether the memory received any file, and all of it.
static bool add_files(FILE *memory, char *list, size_t size, size_t limit, const char *known) {
    size_t bytes = 0, count;
    char **names = names_of(list, size, &count);
    for (size_t i = 0; names != NULL && i < count && bytes < MOST_BYTES; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) bytes += add_file(memory, names[i], limit, known);
    free(names);
    return bytes > 0 && fflush(memory) == 0 && !ferror(memory);
}

static void wait_for_values(const struct handoff *handoff, pid_t pid) {
    bool may_be_killed = *handoff->mode != MERGE || getpid() == 1;
    for (int tries = 0; may_be_killed && tries < 2 * PATIENCE && waitpid(pid, NULL, WNOHANG) == 0; tries++)
        usleep(PAUSE);
}

static void read_files(const struct handoff *handoff, char *list, size_t size, int request) {
    int memory = memfd_create("provio", MFD_CLOEXEC);
    FILE *file = memory < 0 ? NULL : fdopen(memory, "w");
    if (file == NULL) return;
    char *known = content_of(handoff->trace_folder, "contents.ttl", MOST_BYTES, &(size_t){0});
    if (add_files(file, list, size, limit_of(request), known) && lseek(memory, 0, SEEK_SET) == 0) {
        const char *run = strrchr(handoff->run_folder, '/') + 1;
        pid_t pid = start_module(handoff, "provio.merge.last_values", run, memory, request);
        close(request); // the module holds the lock
        if (pid > 0) wait_for_values(handoff, pid);
    } else {
        close(request);
    }
    free(known);
    fclose(file);
}

void pass_values(const struct handoff *handoff) {
    char path[4096];
    size_t size;
    char *list = content_of(handoff->trace_folder, LIST, LARGEST_LIST, &size);
    if (list == NULL) return;
    if (snprintf(path, sizeof path, "%s/%s", handoff->trace_folder, LIST) < (int)sizeof path) unlink(path);
    int request = lock_request(handoff);
    if (request >= 0) read_files(handoff, list, size, request);
    free(list);
}
