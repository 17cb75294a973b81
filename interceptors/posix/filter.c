// The filter of records: classes of record, and paths. In: the options of `provio run`. Out: settings, and yes or no
// for a path.
#include "object.h"

static bool is_word(const char *word, size_t length, const char *known) {
    return length == strlen(known) && memcmp(word, known, length) == 0;
}

// A name in the setting `record`; `-` before it filters the class out. Unknown names, of another release, are ignored.
static void word_read(const char *word, size_t length) {
    static const char classes[][14] = {"thread",        "program", "rank",       "process",  "api",
                                       "duration",      "file",    "directory",  "pipe",     "socket",
                                       "group",         "dataset", "attribute",  "datatype", "link",
                                       "configuration", "metric",  "checkpoint", "entity"};
    if (is_word(word, length, "stat")) settings.stat = true;
    if (is_word(word, length, "list")) settings.list = true;
    if (is_word(word, length, "libraries")) settings.libraries = true;
    for (unsigned i = 0; *word == '-' && i < sizeof classes / sizeof *classes; i++)
        if (is_word(word + 1, length - 1, classes[i])) settings.off |= 1u << i;
}

// `op`, or with additional or omitted classes: `call,-pipe,stat`.
bool options_read(const char *words) {
    static const char *const levels[] = {"file", "op", "call"};
    const char *end = strchrnul(words, ',');
    settings.detail = DETAIL_UNTIMED;
    for (int i = 0; i <= DETAIL_CALL; i++)
        if (is_word(words, (size_t)(end - words), levels[i])) settings.detail = (enum detail)i;
    if (settings.detail == DETAIL_UNTIMED) return false;
    for (const char *word = end; *word == ','; word = end) {
        end = strchrnul(++word, ',');
        word_read(word, (size_t)(end - word));
    }
    if (settings.detail == DETAIL_OP && filtered(CLASS_DURATION)) settings.detail = DETAIL_UNTIMED;
    return true;
}

bool kind_filtered(uint32_t mode) {
    static const unsigned char classes[16] = {[S_IFIFO >> 12] = CLASS_PIPE,
                                              [S_IFCHR >> 12] = CLASS_FILE,
                                              [S_IFBLK >> 12] = CLASS_FILE,
                                              [S_IFDIR >> 12] = CLASS_DIRECTORY,
                                              [S_IFREG >> 12] = CLASS_FILE,
                                              [S_IFSOCK >> 12] = CLASS_SOCKET,
                                              [0] = CLASS_FILE};
    return filtered(classes[(mode & S_IFMT) >> 12]);
}

// ---- paths

enum { LIMITS = 64 }; // provio/record/driver.py refuses more

static struct limit {
    const char *text;
    size_t length;
    bool include, glob;
} limits[LIMITS];
static int limit_count;
static bool only_some; // only paths that match certain folders or globs are recorded

// `-` or `+` and a folder or glob; the string is not copied.
bool limit_add(const char *limit, size_t length) {
    if (limit_count == LIMITS || length < 2 || (*limit != '-' && *limit != '+')) return false;
    struct limit *added = &limits[limit_count++];
    *added = (struct limit){.text = limit + 1, .length = length - 1, .include = *limit == '+'};
    added->glob = strcspn(added->text, "*?[") < added->length;
    only_some |= added->include;
    return settings.limited = true;
}

static size_t character(const char *at) {
    size_t length = 1;
    while (((unsigned char)at[length] & 0xc0) == 0x80) length++;
    return length;
}

// `[a-z]`, `[!a-z]`: return the text after it if it matches the character, else NULL. An unterminated `[` is an
// ordinary character.
static const char *set_end(const char *set) {
    const char *at = set + 1 + (set[1] == '!');
    if (*at == ']') at++;
    while (*at != '\0' && *at != ']') at++;
    return *at == ']' ? at : NULL;
}

static bool set_takes(const char *set, const char *end, const char *name, size_t length) {
    bool without = set[1] == '!', found = false;
    for (const char *at = set + 1 + without; at < end;) {
        size_t size = character(at);
        const char *last = at;
        if (at[size] == '-' && at + size + 1 < end) last = at + size + 1;
        size_t last_size = character(last);
        // The byte order of UTF-8 is the order of the characters.
        bool above = length > size || (length == size && memcmp(name, at, size) >= 0);
        bool beneath = length < last_size || (length == last_size && memcmp(name, last, length) <= 0);
        found |= above && beneath;
        at = last + last_size;
    }
    return found != without;
}

// As Python's fnmatch, but a prefix of the name that ends before a `/` may match, too: a folder contains everything
// below it.
bool glob_matches(const char *glob, const char *name) {
    const char *star = NULL, *retry = NULL;
    for (;;) {
        const char *end = *glob == '[' ? set_end(glob) : NULL;
        size_t length = character(name);
        if (*glob == '\0' && (*name == '\0' || *name == '/')) return true;
        if (*glob == '*') {
            star = ++glob;
            retry = name;
        } else if (*name != '\0' && (*glob == '?' || (end != NULL && set_takes(glob, end, name, length)))) {
            glob = end == NULL ? glob + 1 : end + 1;
            name += length;
        } else if (*name != '\0' && end == NULL && *glob == *name) {
            glob++;
            name++;
        } else if (star != NULL && *retry != '\0') {
            glob = star;
            name = retry += character(retry);
        } else {
            return false;
        }
    }
}

static bool limit_takes(const struct limit *limit, const char *path, size_t length) {
    if (limit->glob) return glob_matches(limit->text, path);
    return length >= limit->length && memcmp(path, limit->text, limit->length) == 0 &&
           (path[limit->length] == '/' || path[limit->length] == '\0' || limit->length == 1);
}

enum { INCLUDED = 1, EXCLUDED = 2 };

static unsigned verdict(const char *path, size_t length) {
    unsigned found = only_some ? 0 : INCLUDED;
    for (int i = 0; i < limit_count; i++) {
        unsigned verdict = limits[i].include ? INCLUDED : EXCLUDED;
        if (!(found & verdict) && limit_takes(&limits[i], path, length)) found |= verdict;
    }
    return found;
}

static bool has_parent_parts(const char *path, size_t length) {
    return strstr(path, "/../") != NULL || (length > 3 && memcmp(path + length - 3, "/..", 3) == 0);
}

// Turn `a/../b` into `b`, judging by the name alone.
static size_t remove_parent_parts(char *path) {
    char *to = path;
    for (const char *at = path, *end; *at == '/'; at = end) {
        end = strchrnul(at + 1, '/');
        size_t length = (size_t)(end - at);
        if (length == 3 && at[1] == '.' && at[2] == '.') {
            while (to > path && *--to != '/') continue;
            continue;
        }
        while (length-- > 0) *to++ = *at++;
    }
    if (to == path) *to++ = '/';
    *to = '\0';
    return (size_t)(to - path);
}

bool path_filtered(const char *path, size_t length) {
    char *room = has_parent_parts(path, length) ? pool_take(&scratches) : NULL;
    if (room == NULL) return verdict(path, length) != INCLUDED;
    memcpy(room, path, length + 1);
    size_t left = remove_parent_parts(room);
    unsigned found = verdict(room, left);
    pool_give(&scratches, room);
    return found != INCLUDED;
}

// Decide by the name that opened the file (or NULL), and by its real name.
bool descriptor_filtered(int fd, int dirfd, const char *path) {
    char *room = pool_take(&scratches);
    if (room == NULL) return false;
    size_t length = path == NULL ? 0 : path_opened(room, fd, dirfd, path, NULL);
    unsigned found = length == 0 || has_parent_parts(room, length) ? 0 : verdict(room, length);
    size_t really = path_of_fd(fd, room, NULL);
    if (really > 0) found |= verdict(room, really);
    pool_give(&scratches, room);
    return length + really > 0 && found != INCLUDED;
}
