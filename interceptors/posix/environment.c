// The environment that an exec passes on: whether the shim is in it, and a copy of it with another shim or none, or
// with a folder for Python.
#include "image.h"

#if defined(__GLIBC__)
#define OTHER_LIBRARY "musl"
#else
#define OTHER_LIBRARY "glibc"
#endif
#if defined(__x86_64__)
#define OTHER_KIND "x86_64-" OTHER_LIBRARY
#elif defined(__aarch64__)
#define OTHER_KIND "aarch64-" OTHER_LIBRARY
#else
#define OTHER_KIND "none"
#endif

// The next library that LD_PRELOAD names, of whatever the loader splits at; NULL: no more.
static const char *next_library(const char **at, size_t *length) {
    *at += strspn(*at, " :");
    const char *start = *at;
    *length = strcspn(start, " :");
    *at += *length;
    return *length == 0 ? NULL : start;
}

static bool is_shim(const char *library, size_t length) {
    const char *own = base_name(own_name());
    size_t size = strlen(own);
    return size > 0 && length >= size && memcmp(library + length - size, own, size) == 0 &&
           (length == size || library[length - size - 1] == '/');
}

#define PRELOAD "LD_PRELOAD="

static bool preloads(const char *variable) {
    size_t length;
    if (!begins(variable, PRELOAD)) return false;
    const char *at = variable + sizeof PRELOAD - 1;
    for (const char *library; (library = next_library(&at, &length)) != NULL;)
        if (is_shim(library, length)) return true;
    return false;
}

bool is_watched(char *const envp[]) {
    bool preload = false, trace = false;
    for (; envp != NULL && *envp != NULL; envp++) {
        preload |= preloads(*envp);
        trace |= begins(*envp, "PROVIO_TRACE=");
    }
    return preload && trace;
}

// The variable with another shim in place of this one, or (NULL) without it; false: nothing is left of it.
static bool with_shim(struct text *text, const char *variable, const char *shim) {
    const char *at = variable + sizeof PRELOAD - 1;
    bool any = false;
    size_t length;
    TEXT(text, PRELOAD);
    for (const char *library; (library = next_library(&at, &length)) != NULL;) {
        bool own = is_shim(library, length);
        if (own && shim == NULL) continue;
        if (any) TEXT(text, ":");
        if (own)
            text_string(text, shim);
        else
            text_bytes(text, library, length);
        any = true;
    }
    TEXT(text, "\0");
    return any;
}

static bool room_take(struct launch *launch, size_t size) {
    launch->room_size = size <= PATH_ROOM ? 0 : size;
    long room = size <= PATH_ROOM ? (long)pool_take(&scratches) : memory_map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    launch->room = room == 0 || (room < 0 && room > -PAGE) ? NULL : (char *)room;
    return launch->room != NULL;
}

#define PYTHON_PATH "PYTHONPATH="

// With the folder first whose sitecustomize waits for h5py; `variable`: as it is, or NULL.
static void with_site(struct text *text, const char *folder, const char *variable) {
    TEXT(text, PYTHON_PATH);
    text_bytes(text, folder, strlen(folder));
    const char *before = variable == NULL ? "" : variable + sizeof PYTHON_PATH - 1;
    if (*before != '\0') TEXT(text, ":");
    text_bytes(text, before, strlen(before));
    TEXT(text, "\0");
}

static size_t change_room(const struct change *change, const char *variable) {
    size_t room = strlen(variable) + 2, libraries = 1;
    for (const char *at = variable; change->shim != NULL && *at != '\0'; at++) libraries += *at == ' ' || *at == ':';
    return change->shim == NULL ? room : room + libraries * strlen(change->shim);
}

static bool to_change(const char *variable, const struct change *change) {
    return (change->preload && preloads(variable)) || (change->site != NULL && begins(variable, PYTHON_PATH));
}

// A copy of the environment with other preloads, and with that folder: the caller's own stays as it is.
void environment_change(struct launch *launch, char *const envp[], const struct change *change) {
    const char *site = change->site;
    size_t count = 2, size = site == NULL ? 0 : strlen(site) + sizeof PYTHON_PATH;
    for (char *const *at = envp; at != NULL && *at != NULL; at++, count++)
        if (to_change(*at, change)) size += change_room(change, *at);
    if (size == 0 || envp == NULL || !room_take(launch, count * sizeof *envp + size)) return;
    char **copy = (char **)launch->room, **to = copy;
    struct text text = {launch->room + count * sizeof *envp, launch->room + count * sizeof *envp + size};
    const char *path = NULL;
    for (; *envp != NULL; envp++) {
        char *start = text.at;
        if (!to_change(*envp, change))
            *to++ = *envp;
        else if (begins(*envp, PYTHON_PATH))
            path = *envp;
        else if (with_shim(&text, *envp, change->shim))
            *to++ = start;
    }
    if (site != NULL) {
        *to++ = text.at;
        with_site(&text, site, path);
    }
    *to = NULL;
    launch->environment = copy;
}

// The package's folder, in which the shim lies: or `preload/<kind>`, and that in the folder. Its length; 0: too long.
size_t package_folder(char *room) {
    const char *own = own_name();
    size_t length = (size_t)(base_name(own) - own);
    if (length == 0 || length > PATH_ROOM / 4) return 0;
    memcpy(room, own, length);
    room[length - 1] = '\0';
    char *kind = strrchr(room, '/');
    if (kind != NULL) *kind = '\0';
    bool among_others = kind != NULL && strcmp(base_name(room), "preload") == 0;
    if (kind != NULL) *kind = '/';
    room[length - 1] = '/';
    return among_others ? (size_t)(kind - room) - (sizeof "preload" - 1) : length;
}

const char *other_shim(char *room) {
    static const char place[] = "preload/" OTHER_KIND "/libprovio.so";
    size_t length = package_folder(room);
    if (length == 0) return NULL;
    memcpy(room + length, place, sizeof place);
    if (RAW(faccessat, AT_FDCWD, (long)room, R_OK) == 0) return room;
    memcpy(room + length, base_name(place), strlen(base_name(place)) + 1); // of a source build, whose own it is not
    bool own = strcmp(room, own_name()) == 0;
    return !own && RAW(faccessat, AT_FDCWD, (long)room, R_OK) == 0 ? room : NULL;
}

// Where a Python that the shim will not be in finds the layer for h5py; NULL: it is none, or needs none.
const char *python_site(char *room, const char *program, char *const envp[]) {
    static const char folder[] = "interceptors/site", wanted[] = "PROVIO_TRACE=";
    bool trace = false;
    size_t length = begins(base_name(program), "python") ? package_folder(room) : 0;
    if (length == 0) return NULL;
    memcpy(room + length, folder, sizeof folder);
    for (; envp != NULL && *envp != NULL; envp++) {
        trace |= begins(*envp, wanted);
        if (strcmp(*envp, "PROVIO_HDF5=off") == 0) return NULL;
        if (begins(*envp, PYTHON_PATH) && begins(*envp + sizeof PYTHON_PATH - 1, room)) return NULL;
    }
    bool there = strchr(room, ':') == NULL && RAW(faccessat, AT_FDCWD, (long)room, X_OK) == 0;
    return trace && there ? room : NULL;
}
