// What of a run that ended cannot wait for its merge: provio/pressing.py once more, for a process that has no Python.
//
// A file whose close nobody saw, a path that leads through a link or `..`, and whatever is not as the shim writes it.

#include "waiter.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Beyond this many versions, or bytes of a file, Python has a look: it is not about time any more.
enum { VERSIONS = 4096, LONGEST = 32 << 20, FOLDERS = 256 };

struct looked {
    uint64_t opened[VERSIONS], closed[VERSIONS]; // hashes of a process and a name in its file
    size_t openings, closes;
    struct {
        uint64_t name;
        bool straight;
    } folders[FOLDERS];
};

static struct looked looked;

static uint64_t hash(uint64_t hash, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
    return hash;
}

static bool starts(const char *text, const char *end, const char *word) {
    size_t length = strlen(word);
    return (size_t)(end - text) >= length && memcmp(text, word, length) == 0;
}

static const char *after(const char *text, const char *end, const char *word) {
    const char *found = memmem(text, (size_t)(end - text), word, strlen(word));
    return found == NULL ? NULL : found + strlen(word);
}

static int hexadecimal(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

// The path that a line names; false where it is too long for any call.
static bool path_of(const char *said, const char *end, char path[4096]) {
    const char *encoded = after(said, end, " ; :pathEncoded \""), *at = encoded;
    size_t length = 0;
    if (at == NULL && (at = after(said, end, " ; :path \"")) == NULL) at = end;
    for (; at < end && *at != '"'; at++) {
        if (length > 4094) return false;
        bool escape = encoded != NULL && *at == '%' && end - at > 2;
        int high = escape ? hexadecimal(at[1]) : -1, low = high < 0 ? -1 : hexadecimal(at[2]);
        path[length++] = low < 0 ? *at : (char)(high << 4 | low);
        if (low >= 0) at += 2;
    }
    path[length] = '\0';
    return true;
}

static bool is_link(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
}

// Whether a folder's path is the one that it has without links.
static bool leads_straight(char *folder) {
    if (*folder == '\0') return true;
    for (char *part = folder, *end; *part != '\0'; part = end) {
        end = *part == '/' ? strchrnul(part + 1, '/') : part;
        size_t length = (size_t)(end - part);
        if (length < 2 || (part[1] == '.' && (length == 2 || (part[2] == '.' && length == 3)))) return false;
        char kept = *end;
        *end = '\0';
        bool link = is_link(folder);
        *end = kept;
        if (link) return false;
    }
    return true;
}

static bool straight(char *folder) {
    uint64_t name = hash(1, folder, strlen(folder));
    if (looked.folders[name % FOLDERS].name != name) {
        looked.folders[name % FOLDERS].straight = leads_straight(folder);
        looked.folders[name % FOLDERS].name = name;
    }
    return looked.folders[name % FOLDERS].straight;
}

// Links of the system's own, for which nobody waits: what is read there is known by its name as it is.
static bool leads_through_a_link(char *path) {
    static const char *const system[] = {"/bin/", "/lib/", "/lib64/", "/sbin/", "/proc/", "/sys/"};
    if (strcmp(path, "/") == 0) return false;
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (strncmp(path, system[i], strlen(system[i])) == 0) return false;
    char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    char none[1] = "";
    if (*name == '\0' || strcmp(name, "..") == 0 || is_link(path)) return true;
    if (slash != NULL) *slash = '\0';
    return !straight(slash == NULL ? none : path);
}

// Whether a file of a launcher of ranks is gone, of which there is nothing left to tell.
static bool left(const char *path) {
    static const char *const sessions[] = {"/dev/shm/vader_segment.",
                                           "/dev/shm/sm_segment.",
                                           "/dev/shm/osc_rdma.",
                                           "/dev/shm/open_mpi.",
                                           "/dev/shm/mpich_shar",
                                           "/ompi.",
                                           "/prte."};
    struct stat found;
    for (size_t i = 0; i < sizeof sessions / sizeof *sessions; i++)
        if (strstr(path, sessions[i]) != NULL) return lstat(path, &found) != 0;
    return false;
}

// -1 where it is no number.
static long flags_of(const char *said, const char *end) {
    const char *at = after(said, end, " :flags ");
    long flags = 0;
    if (at == NULL || at == end || *at == ' ') return 0;
    for (; at < end && *at != ' '; at++) {
        if (*at < '0' || *at > '9' || flags > 0xffffffffff) return -1;
        flags = flags * 10 + (*at - '0');
    }
    return flags;
}

static bool keep(uint64_t *kept, size_t *count, uint64_t name) {
    if (*count == VERSIONS) return false;
    kept[(*count)++] = name;
    return true;
}

// Whether a statement's paths, if it has any, are not those of the file system: what was read and written has none,
// what is inside an HDF5 file says so first.
static bool of_no_path(const char *said, const char *end) {
    const char *class = starts(said, end, " a :") ? memchr(said + 4, ' ', (size_t)(end - said) - 4) : NULL;
    return class != NULL && (starts(said, end, " a :Access ") || starts(class, end, " ; :inFile "));
}

static bool line_presses(const char *line, const char *end, uint64_t process) {
    char path[4096];
    while (line < end && *line == ' ') line++;
    const char *said = memchr(line, '>', (size_t)(end - line));
    if (said == NULL) return false;
    if (of_no_path(said + 1, end)) return false;
    uint64_t name = hash(process, line, (size_t)(said - line));
    if (starts(++said, end, " a :") && after(said, end, " ; :path") != NULL) {
        if (!path_of(said, end, path)) return true;
        bool gone = left(path);
        if (leads_through_a_link(path)) return true;
        if (gone || !starts(said, end, " a :FileVersion ")) return false;
        long flags = flags_of(said, end);
        return flags < 0 || ((flags & (O_WRONLY | O_RDWR)) && !keep(looked.opened, &looked.openings, name));
    }
    if (*line != '<' || after(said, end, " :closedMtimeNs ") == NULL) return false;
    return !keep(looked.closed, &looked.closes, name);
}

static bool text_presses(const char *text, size_t length, uint64_t process) {
    for (const char *line = text, *last = text + length; line < last;) {
        const char *end = memchr(line, '\n', (size_t)(last - line));
        if (end == NULL) end = last;
        if (end > line && line_presses(line, end, process)) return true;
        line = end + 1;
    }
    return false;
}

// The process of a file: the first three parts of its name.
static uint64_t process_of(const char *name) {
    const char *end = name;
    for (int dots = 0; *end != '\0' && (*end != '.' || ++dots < 3); end++)
        ;
    return hash(0xcbf29ce484222325, name, (size_t)(end - name));
}

static bool file_presses(int place, const char *name) {
    struct stat found;
    if (fstatat(place, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (!S_ISREG(found.st_mode)) return false;
    char *text = found.st_size > LONGEST ? NULL : malloc((size_t)found.st_size + 1);
    int fd = text == NULL ? -1 : openat(place, name, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    for (ssize_t got; fd >= 0 && length < (size_t)found.st_size; length += (size_t)got)
        if ((got = read(fd, text + length, (size_t)found.st_size - length)) <= 0) break;
    bool pressing = fd < 0 || length < (size_t)found.st_size || text_presses(text, length, process_of(name));
    if (fd >= 0) close(fd);
    free(text);
    return pressing;
}

static int compare(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool all_closed(void) {
    qsort(looked.closed, looked.closes, sizeof *looked.closed, compare);
    for (size_t i = 0; i < looked.openings; i++)
        if (!bsearch(&looked.opened[i], looked.closed, looked.closes, sizeof *looked.closed, compare)) return false;
    return true;
}

static bool ends_in(const char *name, const char *ending) {
    size_t length = strlen(name), last = strlen(ending);
    return length >= last && strcmp(name + length - last, ending) == 0;
}

bool presses(const char *folder) {
    DIR *place = opendir(folder);
    if (place == NULL) return true;
    bool pressing = false;
    for (struct dirent *entry; !pressing && (entry = readdir(place)) != NULL;)
        if (ends_in(entry->d_name, ".ttl") && !ends_in(entry->d_name, ".calls.ttl"))
            pressing = file_presses(dirfd(place), entry->d_name);
    closedir(place);
    return pressing || !all_closed();
}
