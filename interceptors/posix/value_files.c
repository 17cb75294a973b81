// Notes the names of the files whose values are read at the end of the run, as `params.yaml`: all processes of the run
// on this host add them to the list `value-files`, each process a name once. The waiter reads the list.
#include "object.h"

enum { GLOBS = 64, NOTED = 512, LARGEST_LIST = 1 << 20 };

static const char *globs[GLOBS];
static int glob_count;
static uint64_t starts[4];                  // a bit for each byte with which such a name may start
static EARLY _Atomic uint64_t noted[NOTED]; // hashes of the names that this process added; 0: free

// The string is not copied. The merge reads the files of further globs.
void value_file_add(const char *glob) {
    if (glob_count == GLOBS) return;
    globs[glob_count++] = glob;
    settings.values = true;
    unsigned char first = (unsigned char)*glob;
    for (unsigned byte = 0; byte < 256; byte++)
        if (byte == first || strchr("*?[", first) != NULL) starts[byte / 64] |= 1ull << byte % 64;
}

static bool is_value_file(const char *path, size_t length) {
    const char *name = path + length;
    while (name > path && name[-1] != '/') name--;
    unsigned char first = (unsigned char)*name;
    if (likely(!(starts[first / 64] >> first % 64 & 1))) return false;
    for (int i = 0; i < glob_count; i++)
        if (glob_matches(globs[i], name)) return true;
    return false;
}

static uint64_t hash_of(const char *path, size_t length) {
    uint64_t hash = hash_add(HASH_START, path, length);
    return hash == 0 ? 1 : hash;
}

// Whether the name was noted; also if there is no space for it.
static bool is_noted(uint64_t hash) {
    for (int i = 0; i < NOTED; i++) {
        uint64_t known = relaxed(noted[i]);
        if (known == hash || known == 0) return known == hash;
    }
    return true;
}

static void remember(uint64_t hash) {
    for (int i = 0; i < NOTED; i++) {
        uint64_t known = 0;
        if (atomic_compare_exchange_strong(&noted[i], &known, hash) || known == hash) return;
    }
}

static bool list_append(const char *path, size_t length) {
    static const char list[] = "/value-files";
    char *place = pool_take(&scratches);
    if (place == NULL) return false;
    memcpy(place, settings.folder, settings.folder_length);
    memcpy(place + settings.folder_length, list, sizeof list);
    long fd = RAW(openat, AT_FDCWD, (long)place, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    pool_give(&scratches, place);
    if (fd < 0) return false;
    long size = RAW(lseek, fd, 0, SEEK_END), end = size + (long)length + 1; // with the NUL at its end
    bool has_room = size >= 0 && end <= LARGEST_LIST && size_allowed((uint64_t)end);
    bool written = has_room && RAW(write, fd, (long)path, (long)length + 1) == (long)length + 1;
    RAW(close, fd);
    return written;
}

void value_file_note(const char *path, size_t length) {
    if (likely(!is_value_file(path, length))) return;
    uint64_t hash = hash_of(path, length);
    if (!is_noted(hash) && list_append(path, length)) remember(hash);
}
