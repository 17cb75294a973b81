// Examines, right after the run, the files without a recorded close. In: the shim's list of unclosed openings. Out:
// `settled.ttl`.
//
// Only one block of the trace is read for each entry. Entries that are malformed, or with a path that no longer leads
// to the file, are left to merge, which examines all openings (provio/trace/post_run.py).

#include "../posix/unclosed.h"
#include "waiter.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char NEW[] = UNCLOSED_FILE ".new"; // another name than merge uses

enum { MOST = 10000, BLOCK = 16 << 10 };

// The text after a word; NULL: not found.
static char *after(char *text, const char *word) {
    char *found = strstr(text, word);
    return found == NULL ? NULL : found + strlen(word);
}

static int hexadecimal(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

// Two hexadecimal digits; -1: malformed.
static int byte_at(const char *at) {
    int high = hexadecimal(at[0]), low = high < 0 ? -1 : hexadecimal(at[1]);
    return low < 0 ? -1 : high << 4 | low;
}

static void decode_percent(char *text) {
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        int byte = *at == '%' ? byte_at(at + 1) : -1;
        *to++ = byte < 0 ? *at : (char)byte;
        if (byte >= 0) at += 2;
    }
    *to = '\0';
}

// Decode the escapes that the shim writes: \" \\ and \u00XX. Returns the end of the literal; NULL: malformed.
static char *decode_literal(char *text) {
    char *to = text, *at = text;
    for (; *at != '"' && *at != '\0'; at++) {
        int byte = *at == '\\' && strncmp(at + 1, "u00", 3) == 0 ? byte_at(at + 4) : -1;
        if (*at != '\\')
            *to++ = *at;
        else if (at[1] == '"' || at[1] == '\\')
            *to++ = *++at;
        else if (byte < 0)
            return NULL;
        else
            *to++ = (char)byte, at += 5;
    }
    if (*at == '\0') return NULL;
    *to = '\0';
    return at;
}

// Return the path that is the value of a property in a block, and set its end; NULL: none.
static char *read_path(char *block, const char *property, char **end) {
    char plain[32], encoded[32];
    snprintf(plain, sizeof plain, " ; :%s \"", property);
    snprintf(encoded, sizeof encoded, " ; :%sEncoded \"", property);
    char *path = after(block, plain), *percent = path == NULL ? after(block, encoded) : NULL;
    if (path == NULL) path = percent;
    *end = path == NULL ? NULL : decode_literal(path);
    if (*end == NULL) return NULL;
    if (percent != NULL) decode_percent(path);
    return path;
}

// The path in an entry's block. A property is searched only after the previous one, whose value may contain any text.
static char *path_of(char *block, uint32_t state) {
    char *end;
    *strchrnul(block, '\n') = '\0';
    if (state == UNCLOSED_OPEN) return read_path(block, "path", &end);
    return read_path(block, "from", &end) == NULL ? NULL : read_path(end + 1, "to", &end);
}

static unsigned long long nanoseconds(struct statx_timestamp time) {
    return (unsigned long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Read the facts of a file; false if the path no longer leads to it.
static bool look(const char *path, const struct unclosed_entry *entry, struct statx *found) {
    if (path == NULL || statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, found) != 0) return false;
    unsigned long long birth = found->stx_mask & STATX_BTIME ? nanoseconds(found->stx_btime) : 0;
    return found->stx_ino == entry->inode && birth == entry->birth && found->stx_dev_major == entry->device_major &&
           found->stx_dev_minor == entry->device_minor;
}

// Whether a process has more threads than its main thread, which may have ended first.
static bool has_threads(uint32_t pid) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%u/task", pid);
    DIR *place = opendir(name);
    int count = 0;
    while (place != NULL && count < 4 && readdir(place) != NULL) count++; // two of them are `.` and `..`
    if (place != NULL) closedir(place);
    return count == 4;
}

// Whether the entry's process still exists: it may still change its open files.
static bool is_alive(const struct unclosed_entry *entry) {
    char name[64], stat[1024];
    snprintf(name, sizeof name, "/proc/%u/stat", entry->pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, stat, sizeof stat - 1);
    if (fd >= 0) close(fd);
    if (size <= 0) return false;
    stat[size] = '\0';
    const char *at = strrchr(stat, ')');
    if (at != NULL && (at[2] == 'Z' || at[2] == 'X') && !has_threads(entry->pid)) return false;
    for (int number = 2; at != NULL && number < 22; number++) at = strchr(at + 1, ' ');
    return at != NULL && strtoull(at, NULL, 10) == entry->tick;
}

static bool is_one_file(const struct unclosed_entry *one, const struct unclosed_entry *other) {
    return one->pid == other->pid && one->tick == other->tick && one->image == other->image &&
           one->thread == other->thread && one->place >> 32 == other->place >> 32;
}

// Read the block of an entry; the file of the previous entry stays open.
static bool read_block(int place, const struct unclosed_entry *entry, char block[BLOCK]) {
    static struct unclosed_entry before;
    static int fd = -1;
    if (fd < 0 || !is_one_file(entry, &before)) {
        char name[96], part[16] = "";
        if (entry->place >> 32 != 0) snprintf(part, sizeof part, ".%u", (unsigned)(entry->place >> 32));
        snprintf(name, sizeof name, "%u.%llu.%u.%u%s.ttl", entry->pid, (unsigned long long)entry->tick, entry->image,
                 entry->thread, part);
        if (fd >= 0) close(fd);
        fd = openat(place, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        before = *entry;
    }
    ssize_t size = fd < 0 ? -1 : pread(fd, block, BLOCK - 1, (off_t)(entry->place & UINT32_MAX));
    if (size > 0) block[size] = '\0';
    return size > 0 && *block == ' ';
}

static void state(FILE *report, const struct handoff *handoff, const struct unclosed_entry *entry,
                  struct statx *found) {
    int run = (int)(strchr(handoff->subject, '>') - handoff->subject);
    fprintf(report, "%.*s/%s/%u.%llu.%u/o%llu> :settledMtimeNs %llu ; :settledCtimeNs %llu ; :settledSize %llu .\n",
            run, handoff->subject, strrchr(handoff->trace_folder, '/') + 1, entry->pid, (unsigned long long)entry->tick,
            entry->image, (unsigned long long)entry->serial, nanoseconds(found->stx_mtime),
            nanoseconds(found->stx_ctime), (unsigned long long)found->stx_size);
}

static bool examine(int place, const struct unclosed_entry *entry, const struct unclosed_entry *of,
                    struct statx *found) {
    char block[BLOCK];
    return read_block(place, entry, block) && look(path_of(block, atomic_load(&entry->state)), of, found);
}

// Examine the file by the name that opened it, or by a later name.
static bool find(int place, const struct unclosed_list *list, size_t entries, const struct unclosed_entry *entry,
                 struct statx *found) {
    if (examine(place, entry, entry, found)) return true;
    for (const struct unclosed_entry *moved = list->entry; moved < list->entry + entries; moved++)
        if (atomic_load(&moved->state) == UNCLOSED_MOVED && moved->inode == entry->inode &&
            examine(place, moved, entry, found))
            return true;
    return false;
}

static int report_entry(int place, FILE *report, const struct handoff *handoff, const struct unclosed_list *list,
                        size_t entries) {
    const struct unclosed_entry *before = NULL;
    bool alive = false;
    struct statx found;
    int stated = 0, left = MOST;
    for (const struct unclosed_entry *entry = list->entry; entry < list->entry + entries && left > 0; entry++) {
        if (atomic_load(&entry->state) != UNCLOSED_OPEN) continue;
        left--;
        if (before == NULL || before->pid != entry->pid || before->tick != entry->tick) alive = is_alive(entry);
        before = entry;
        if (alive || !find(place, list, entries, entry, &found)) continue;
        state(report, handoff, entry, &found);
        stated++;
    }
    return stated;
}

// A copy of the list, because processes may still write to it; NULL: none.
static struct unclosed_list *read_list(int place, size_t *entries) {
    int fd = openat(place, UNCLOSED_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct unclosed_list *list = fd < 0 ? NULL : malloc(UNCLOSED_SIZE);
    ssize_t size = list == NULL ? 0 : read(fd, list, UNCLOSED_SIZE);
    if (fd >= 0) close(fd);
    *entries = size < (ssize_t)sizeof(struct unclosed_entry) ? 0 : (size_t)size / sizeof(struct unclosed_entry) - 1;
    return list;
}

// The result of another process stays.
static FILE *begin(int place) {
    if (faccessat(place, "settled.ttl", F_OK, AT_SYMLINK_NOFOLLOW) == 0) return NULL;
    unlinkat(place, NEW, 0);
    int fd = openat(place, NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *report = fd < 0 ? NULL : fdopen(fd, "w");
    if (report != NULL) fprintf(report, "@prefix : <https://w3id.org/provio/ns#> .\n");
    return report;
}

// Returns the number of gaps that the traces of this host state.
unsigned report_unclosed(const struct handoff *handoff) {
    size_t entries = 0;
    int place = open(handoff->trace_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct unclosed_list *list = place < 0 ? NULL : read_list(place, &entries);
    FILE *report = entries == 0 ? NULL : begin(place);
    if (report != NULL) {
        int stated = report_entry(place, report, handoff, list, entries);
        bool whole = fclose(report) == 0 && stated > 0;
        if (!whole || renameat(place, NEW, place, "settled.ttl") != 0) unlinkat(place, NEW, 0);
    }
    unsigned gaps = entries == 0 ? 0 : atomic_load(&list->gaps);
    free(list);
    if (place >= 0) close(place);
    return gaps;
}
