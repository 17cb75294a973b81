// Changes, queries and lists metadata below the given folder with each available function, and prints the expected
// trace: `O <api> <operation> <file> <calls>`, `E <api> <class> <file>`.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>
#if defined(__GLIBC__)
#include <fts.h>
#endif

#include "must.h"

#define EVENT(name, class, call, file) (require((call), #call), (void)printf("E " #name " " #class " " file "\n"))
#define QUERY(name, call, file) EVENT(name, Stat, call, file)

// Functions that no header declares, or only as inline functions.
int form_stat(const char *, void *) __asm__("stat");
int form_stat64(const char *, void *) __asm__("stat64");
int form_lstat(const char *, void *) __asm__("lstat");
int form_lstat64(const char *, void *) __asm__("lstat64");
int form_fstat(int, void *) __asm__("fstat");
int form_fstat64(int, void *) __asm__("fstat64");
int form___fstat64(int, void *) __asm__("__fstat64");
int form_fstatat(int, const char *, void *, int) __asm__("fstatat");
int form_fstatat64(int, const char *, void *, int) __asm__("fstatat64");
int form___xstat(int, const char *, void *) __asm__("__xstat");
int form___xstat64(int, const char *, void *) __asm__("__xstat64");
int form___lxstat(int, const char *, void *) __asm__("__lxstat");
int form___lxstat64(int, const char *, void *) __asm__("__lxstat64");
int form___fxstat(int, int, void *) __asm__("__fxstat");
int form___fxstat64(int, int, void *) __asm__("__fxstat64");
int form___fxstatat(int, int, const char *, void *, int) __asm__("__fxstatat");
int form___fxstatat64(int, int, const char *, void *, int) __asm__("__fxstatat64");
ssize_t __readlink_chk(const char *, char *, size_t, size_t);
ssize_t __readlinkat_chk(int, const char *, char *, size_t, size_t);
char *__realpath_chk(const char *, char *, size_t);
ssize_t getdirentries(int, char *, size_t, off_t *);
ssize_t getdirentries64(int, char *, size_t, off64_t *);

static void changing(int folder, int fd) {
    EVENT(chmod, SetMode, chmod("file", 0640) == 0, "file");
    EVENT(fchmod, SetMode, fchmod(fd, 0600) == 0, "file");
    EVENT(fchmodat, SetMode, fchmodat(folder, "file", 0644, 0) == 0, "file");
    if (lchmod("file", 0644) == 0) printf("E lchmod SetMode file\n");
    EVENT(chown, SetOwner, chown("file", -1, -1) == 0, "file");
    EVENT(lchown, SetOwner, lchown("symlink", -1, -1) == 0, "symlink");
    EVENT(fchown, SetOwner, fchown(fd, getuid(), -1) == 0, "file");
    EVENT(fchownat, SetOwner, fchownat(folder, "symlink", -1, getgid(), AT_SYMLINK_NOFOLLOW) == 0, "symlink");
    const struct timespec exact[2] = {{1000000000, 1}, {1000000000, 1}};
    const struct timeval coarse[2] = {{1000000000, 2}, {1000000000, 2}};
    const struct utimbuf whole = {1000000000, 1000000000};
    EVENT(futimens, SetTimes, futimens(fd, exact) == 0, "file");
    EVENT(futimes, SetTimes, futimes(fd, coarse) == 0, "file");
    EVENT(utime, SetTimes, utime("file", &whole) == 0, "file");
    EVENT(utimes, SetTimes, utimes("file", coarse) == 0, "file");
    EVENT(lutimes, SetTimes, lutimes("symlink", coarse) == 0, "symlink");
    EVENT(futimesat, SetTimes, futimesat(folder, "file", coarse) == 0, "file");
    EVENT(utimensat, SetTimes, utimensat(folder, "file", exact, 0) == 0, "file");
    if (setxattr("file", "user.a", "1", 1, 0) != 0) return; // the file system has no extended attributes
    printf("E setxattr SetAttribute file\n");
    EVENT(lsetxattr, SetAttribute, lsetxattr("file", "user.b", "1", 1, 0) == 0, "file");
    EVENT(fsetxattr, SetAttribute, fsetxattr(fd, "user.c", "1", 1, 0) == 0, "file");
    EVENT(removexattr, SetAttribute, removexattr("file", "user.a") == 0, "file");
    EVENT(lremovexattr, SetAttribute, lremovexattr("file", "user.b") == 0, "file");
    char room[100];
    EVENT(getxattr, GetAttribute, getxattr("file", "user.c", room, 100) == 1, "file");
    EVENT(lgetxattr, GetAttribute, lgetxattr("file", "user.c", room, 100) == 1, "file");
    EVENT(fgetxattr, GetAttribute, fgetxattr(fd, "user.c", room, 100) == 1, "file");
    EVENT(fremovexattr, SetAttribute, fremovexattr(fd, "user.c") == 0, "file");
    QUERY(listxattr, listxattr("file", room, 100) >= 0, "file");
    QUERY(llistxattr, llistxattr("file", room, 100) >= 0, "file");
    QUERY(flistxattr, flistxattr(fd, room, 100) >= 0, "file");
}

static void queries(int folder, int fd) {
    struct stat64 found;
    char room[8192];
    QUERY(stat, form_stat("file", &found) == 0, "file");
    QUERY(stat64, form_stat64("file", &found) == 0, "file");
    QUERY(lstat, form_lstat("symlink", &found) == 0, "symlink");
    QUERY(lstat64, form_lstat64("symlink", &found) == 0, "symlink");
    QUERY(fstat, form_fstat(fd, &found) == 0, "file");
    QUERY(fstat64, form_fstat64(fd, &found) == 0, "file");
    QUERY(fstatat, form_fstatat(folder, "file", &found, 0) == 0, "file");
    QUERY(fstatat64, form_fstatat64(fd, "", &found, AT_EMPTY_PATH) == 0, "file");
#if defined(STATX_SIZE) // musl has it since 1.2.4
    struct statx more;
    QUERY(statx, statx(folder, "file", 0, STATX_SIZE, &more) == 0, "file");
#endif
#if defined(__GLIBC__)
    QUERY(__fstat64, form___fstat64(fd, &found) == 0, "file");
#if defined(__x86_64__)
    enum { VERSION = 1 };
#else
    enum { VERSION = 0 };
#endif
    QUERY(__xstat, form___xstat(VERSION, "file", &found) == 0, "file");
    QUERY(__xstat64, form___xstat64(VERSION, "file", &found) == 0, "file");
    QUERY(__lxstat, form___lxstat(VERSION, "file", &found) == 0, "file");
    QUERY(__lxstat64, form___lxstat64(VERSION, "file", &found) == 0, "file");
    QUERY(__fxstat, form___fxstat(VERSION, fd, &found) == 0, "file");
    QUERY(__fxstat64, form___fxstat64(VERSION, fd, &found) == 0, "file");
    QUERY(__fxstatat, form___fxstatat(VERSION, folder, "file", &found, 0) == 0, "file");
    QUERY(__fxstatat64, form___fxstatat64(VERSION, folder, "file", &found, 0) == 0, "file");
#endif
    QUERY(access, access("file", R_OK) == 0, "file");
    QUERY(eaccess, eaccess("file", R_OK) == 0, "file");
    QUERY(euidaccess, euidaccess("file", R_OK) == 0, "file");
    QUERY(faccessat, faccessat(folder, "file", R_OK, 0) == 0, "file");
    QUERY(readlink, readlink("symlink", room, 100) == 4, "symlink");
    QUERY(__readlink_chk, __readlink_chk("symlink", room, 100, sizeof room) == 4, "symlink");
    QUERY(readlinkat, readlinkat(folder, "symlink", room, 100) == 4, "symlink");
    QUERY(__readlinkat_chk, __readlinkat_chk(folder, "symlink", room, 100, sizeof room) == 4, "symlink");
    QUERY(realpath, realpath("symlink", room) == room, "symlink");
    QUERY(__realpath_chk, __realpath_chk("symlink", room, sizeof room) == room, "symlink");
#if defined(__GLIBC__)
    char *whole = canonicalize_file_name("symlink");
    QUERY(canonicalize_file_name, whole != NULL, "symlink");
    free(whole);
#endif
    MUST(form_stat("missing", &found) == -1);
}

static int visit(const char *path, const struct stat *found, int kind) {
    return 0;
}

static int visit64(const char *path, const struct stat64 *found, int kind) {
    return 0;
}

static int made;

// With FTW_CHDIR, the callback runs in the folder of the visited file.
static int make(const char *path, const struct stat *found, int kind, struct FTW *place) {
    if (kind == FTW_F && strcmp(path + place->base, "leaf") == 0) made += close(creat("made", 0644)) == 0;
    return 0;
}

static int visit_deep64(const char *path, const struct stat64 *found, int kind, struct FTW *place) {
    return 0;
}

static void walking(void) {
    char *paths[] = {"tree", NULL};
#if defined(__GLIBC__)
    FTS *walk = fts_open(paths, FTS_PHYSICAL, NULL);
    MUST(walk != NULL && fts_children(walk, 0) != NULL);
    printf("E fts_open List tree\n");
    for (FTSENT *entry; (entry = fts_read(walk)) != NULL;)
        if (entry->fts_info == FTS_F && strcmp(entry->fts_name, "leaf") == 0) {
            close(creat("walked", 0644));
            printf("E creat open tree/branch/walked\n");
        }
    MUST(fts_close(walk) == 0);
    FTS64 *walk64 = fts64_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    MUST(walk64 != NULL && fts64_children(walk64, 0) != NULL);
    while (fts64_read(walk64) != NULL) {}
    MUST(fts64_close(walk64) == 0);
    printf("E fts64_open List tree\n");
#endif
    EVENT(ftw, List, ftw("tree", visit, 4) == 0, "tree");
    EVENT(ftw64, List, ftw64("tree", visit64, 4) == 0, "tree");
    EVENT(nftw, List, nftw("tree", make, 4, FTW_CHDIR | FTW_PHYS) == 0 && made == 1, "tree");
#if defined(__GLIBC__) // musl does not change the folder
    printf("E creat open tree/branch/made\n");
#endif
    EVENT(nftw64, List, nftw64("tree", visit_deep64, 4, 0) == 0, "tree");
    close(creat("after", 0644));
    printf("E creat open after\n");
}

static void listing(int folder) {
    struct dirent **entries, plain, *next;
    struct dirent64 **entries64, plain64, *next64;
    char room[4096];
    off64_t base = 0;
    glob_t found;
    glob64_t found64;
    DIR *directory = opendir("tree");
    MUST(directory != NULL && readdir(directory) != NULL && readdir(directory) != NULL && readdir64(directory) != NULL);
    rewinddir(directory);
    MUST(readdir_r(directory, &plain, &next) == 0 && readdir64_r(directory, &plain64, &next64) == 0);
    closedir(directory);
    printf("E opendir open tree\nO readdir List tree 2\nO readdir64 List tree 1\n");
    printf("O readdir_r List tree 1\nO readdir64_r List tree 1\n");
    int fd = open("tree", O_RDONLY | O_DIRECTORY);
#if defined(__GLIBC__)
    MUST(getdents64(fd, room, sizeof room) > 0 && lseek(fd, 0, SEEK_SET) == 0);
    MUST(getdirentries(fd, room, sizeof room, &base) > 0 && getdirentries64(fd, room, sizeof room, &base) == 0);
    close(fd);
    printf("O getdents64 List tree 1\nO getdirentries List tree 1\nO getdirentries64 List tree 1\n");
#endif
    EVENT(scandir, List, scandir("tree", &entries, NULL, alphasort) > 0, "tree");
    EVENT(scandir64, List, scandir64("tree", &entries64, NULL, alphasort64) > 0, "tree");
    EVENT(scandirat, List, scandirat(folder, "tree", &entries, NULL, alphasort) > 0, "tree");
    EVENT(scandirat64, List, scandirat64(folder, "tree", &entries64, NULL, alphasort64) > 0, "tree");
    EVENT(glob, List, glob("tree/b*", 0, NULL, &found) == 0, "tree");
    EVENT(glob64, List, glob64("tree/branch/l*", 0, NULL, &found64) == 0, "tree/branch");
}

int main(int count, char **arguments) {
    MUST(count == 2 && chdir(arguments[1]) == 0);
    int folder = open(".", O_RDONLY | O_DIRECTORY), fd = open("file", O_CREAT | O_RDWR, 0644);
    MUST(symlink("file", "symlink") == 0 && mkdir("tree", 0755) == 0 && mkdir("tree/branch", 0755) == 0);
    close(creat("tree/branch/leaf", 0644));
    changing(folder, fd);
    queries(folder, fd);
    listing(folder);
    walking();
    return 0;
}
