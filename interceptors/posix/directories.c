// The working directory, and calls that list or walk directories.
#include "rows.h"

// ---- the working directory

int provio_chdir(const char *path) {
    bool watched = watching();
    if (unlikely(relaxed(loaded_pending)) && watched) loaded_leave(thread_self());
    int result = REAL(chdir)(path);
    if (watched && result == 0) cwd_changed();
    return result;
}

int provio_fchdir(int fd) {
    bool watched = watching();
    if (unlikely(relaxed(loaded_pending)) && watched) loaded_leave(thread_self());
    int result = REAL(fchdir)(fd);
    if (watched && result == 0) cwd_changed();
    return result;
}

// ---- listing

DIR *provio_opendir(const char *path) {
    struct thread *thread = settings.list && watching() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    DIR *result = REAL(opendir)(path);
    if (unlikely(relaxed(python_pending))) python_request();
    if (thread != NULL && result != NULL)
        object_open(API_opendir, dirfd(result), AT_FDCWD, path, O_RDONLY | O_DIRECTORY, started, false);
    else if (thread != NULL)
        access_failed(thread, NULL, API_opendir, started);
    return result;
}

// nftw and fts change the working directory inside the C library. nftw reports it only to its callback.
static THREAD_LOCAL visiting visitor;

static int visit_elsewhere(const char *path, const void *found, int kind, void *place) {
    cwd_changed();
    return visitor(path, found, kind, place);
}

static int watched_nftw(int api, int (*real)(const char *, visiting, int, int), const char *path, visiting visit,
                        int depth, int flags) {
    enum { CHANGES_FOLDER = 4 }; // FTW_CHDIR
    struct thread *thread = watching() ? thread_self() : NULL;
    if (thread == NULL || (!settings.list && !(flags & CHANGES_FOLDER))) return real(path, visit, depth, flags);
    uint64_t started = now(thread);
    visiting outer = visitor;
    visitor = visit;
    int result = real(path, flags & CHANGES_FOLDER ? visit_elsewhere : visit, depth, flags);
    visitor = outer;
    if (flags & CHANGES_FOLDER) cwd_changed();
    if (result >= 0 && settings.list) event_lookup(api, TERM_List, AT_FDCWD, path, started);
    return result;
}
FORWARD(nftw, int, (const char *path, visiting visit, int depth, int flags), watched_nftw, path, visit, depth, flags)
FORWARD(nftw64, int, (const char *path, visiting visit, int depth, int flags), watched_nftw, path, visit, depth, flags)

static FTS *watched_fts_open(int api, FTS *(*real)(char *const *, int, const void *), char *const *paths, int options,
                             const void *compare) {
    struct thread *thread = settings.list && watching() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    FTS *result = real(paths, options, compare);
    for (; thread != NULL && result != NULL && *paths != NULL; paths++)
        event_lookup(api, TERM_List, AT_FDCWD, *paths, started);
    return result;
}
#if defined(__GLIBC__)
static bool changes_folder(const FTS *walk) {
    return !(walk->fts_options & FTS_NOCHDIR);
}
#else
static bool changes_folder(const FTS *walk) {
    return walk != NULL; // assume that it does
}
#endif

#define WALK(name, type, parameters, arguments)                                                                        \
    type provio_##name parameters {                                                                                    \
        bool moves = watching() && walk != NULL && changes_folder(walk);                                               \
        type result = REAL(name) arguments;                                                                            \
        if (moves) cwd_changed();                                                                                      \
        return result;                                                                                                 \
    }
#define FTS_OPEN_PARAMETERS (char *const *paths, int options, const void *compare)
FORWARD(fts_open, FTS *, FTS_OPEN_PARAMETERS, watched_fts_open, paths, options, compare)
FORWARD(fts64_open, FTS *, FTS_OPEN_PARAMETERS, watched_fts_open, paths, options, compare)
WALK(fts_read, FTSENT *, (FTS * walk), (walk))
WALK(fts64_read, FTSENT *, (FTS * walk), (walk))
WALK(fts_children, FTSENT *, (FTS * walk, int options), (walk, options))
WALK(fts64_children, FTSENT *, (FTS * walk, int options), (walk, options))
WALK(fts_close, int, (FTS * walk), (walk))
WALK(fts64_close, int, (FTS * walk), (walk))
