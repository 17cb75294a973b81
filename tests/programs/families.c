// Calls one function of each family of calls.def with its siblings, on files below the given folder, and prints the
// expected trace: `R|W <api> <file> <calls> <bytes>`, `O <api> <operation> <file> <calls>`, `E <api> <class> <file>`.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "facts.h"

ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
char *__fgets_chk(char *, size_t, int, FILE *);
char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
int __fprintf_chk(FILE *, int, const char *, ...);
int __vfprintf_chk(FILE *, int, const char *, va_list);
int __dprintf_chk(int, int, const char *, ...);
int _IO_getc(FILE *);
int _IO_putc(int, FILE *);

static int formatted(FILE *stream, int checked, const char *format, ...) {
    va_list list;
    va_start(list, format);
#if defined(__GLIBC__)
    int result = checked ? __vfprintf_chk(stream, 1, format, list) : vfprintf(stream, format, list);
#else
    int result = vfprintf(stream, format, list);
#endif
    va_end(list);
    return result;
}

static int formatted_fd(int fd, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vdprintf(fd, format, list);
    va_end(list);
    return result;
}

static void reading(void) {
    READS(read, read(fd, data, 100), 100);
    READS(__read_chk, __read_chk(fd, data, 100, sizeof data), 100);
    READS(pread, pread(fd, data, 100, 0), 100);
    READS(pread64, pread64(fd, data, 100, 0), 100);
    READS(__pread_chk, __pread_chk(fd, data, 100, 0, sizeof data), 100);
    READS(__pread64_chk, __pread64_chk(fd, data, 100, 0, sizeof data), 100);
    READS(readv, readv(fd, parts, 2), 30);
    READS(preadv, preadv(fd, parts, 2, 5), 30);
    READS(preadv64, preadv64(fd, parts, 2, 5), 30);
    READS(preadv2, preadv2(fd, parts, 2, 5, 0), 30);
    READS(preadv64v2, preadv64v2(fd, parts, 2, 5, 0), 30);
}

static void writing(void) {
    WRITES(pwrite, pwrite(fd, data, 100, 0), 100);
    WRITES(pwrite64, pwrite64(fd, data, 100, 0), 100);
    WRITES(writev, writev(fd, parts, 2), 30);
    WRITES(pwritev, pwritev(fd, parts, 2, 5), 30);
    WRITES(pwritev64, pwritev64(fd, parts, 2, 5), 30);
    WRITES(pwritev2, pwritev2(fd, parts, 2, 5, 0), 30);
    WRITES(pwritev64v2, pwritev64v2(fd, parts, 2, 5, 0), 30);
    WRITES(dprintf, dprintf(fd, "%s", "hello"), 5);
    WRITES(__dprintf_chk, __dprintf_chk(fd, 1, "%s", "hello"), 5);
    WRITES(vdprintf, formatted_fd(fd, "%d%%", 42), 3);
}

static char *line;
static size_t line_size;

static void streams_read(void) {
    int number;
    char word[64];
    GETS(fread, fread(data, 1, 100, stream) == 100, 100);
    GETS(fread_unlocked, fread_unlocked(data, 2, 50, stream) == 50, 100);
    GETS(__fread_chk, __fread_chk(data, sizeof data, 1, 100, stream) == 100, 100);
    GETS(__fread_unlocked_chk, __fread_unlocked_chk(data, sizeof data, 1, 100, stream) == 100, 100);
    GETS(fgets, fgets(data, 100, stream) != NULL, 50);
    GETS(fgets_unlocked, fgets_unlocked(data, 100, stream) != NULL, 50);
    GETS(__fgets_chk, __fgets_chk(data, sizeof data, 100, stream) != NULL, 50);
    GETS(__fgets_unlocked_chk, __fgets_unlocked_chk(data, sizeof data, 100, stream) != NULL, 50);
    GETS(getline, (getline)(&line, &line_size, stream) == 50, 50);
    GETS(getdelim, getdelim(&line, &line_size, '\n', stream) == 50, 50);
    GETS(__getdelim, __getdelim(&line, &line_size, '\n', stream) == 50, 50);
    GETS(getc, (getc)(stream) != EOF, 1);
    GETS(_IO_getc, _IO_getc(stream) != EOF, 1);
    GETS(fgetc, (fgetc)(stream) != EOF, 1);
    GETS(getc_unlocked, (getc_unlocked)(stream) != EOF, 1);
    GETS(fgetc_unlocked, (fgetc_unlocked)(stream) != EOF, 1);
    GETS(getw, getw(stream) != EOF, 4);
#if defined(__GLIBC__)
    GETS(__isoc99_fscanf, fscanf(stream, " %s %s of fifty bytes, with a number in front %d", word, word, &number) >= 1,
         0);
#else
    GETS(fscanf, fscanf(stream, " %s %s of fifty bytes, with a number in front %d", word, word, &number) >= 1, 0);
#endif
}

static void streams_write(void) {
    PUTS(fwrite, fwrite(data, 2, 50, stream) == 50, 100);
    PUTS(fwrite_unlocked, fwrite_unlocked(data, 2, 50, stream) == 50, 100);
    PUTS(fputs, fputs("hello", stream) >= 0, 5);
    PUTS(fputs_unlocked, fputs_unlocked("hello", stream) >= 0, 5);
    PUTS(putc, (putc)('x', stream) == 'x', 1);
    PUTS(_IO_putc, _IO_putc('x', stream) == 'x', 1);
    PUTS(fputc, (fputc)('x', stream) == 'x', 1);
    PUTS(putc_unlocked, (putc_unlocked)('x', stream) == 'x', 1);
    PUTS(fputc_unlocked, (fputc_unlocked)('x', stream) == 'x', 1);
    PUTS(putw, putw(7, stream) == 0, 4);
    PUTS(fprintf, fprintf(stream, "%d-%s", 12, "ab") == 5, 5);
    PUTS(__fprintf_chk, __fprintf_chk(stream, 1, "%d-%s", 12, "ab") == 5, 5);
    PUTS(vfprintf, formatted(stream, 0, "%d", 123) == 3, 3);
#if defined(__GLIBC__)
    PUTS(__vfprintf_chk, formatted(stream, 1, "%d", 123) == 3, 3);
#endif
}

static void opening(int folder) {
    const int create = O_CREAT | O_RDWR;
    char name[][32] = {"mkstempXXXXXX", "mkstemp64XXXXXX", "mkostempXXXXXX", "mkstempsXXXXXX.x", "mkostempsXXXXXX.x"};
    OPENS(open, open("open", create, 0640));
    OPENS(open64, open64("./open64", create, 0640));
    OPENS(openat, openat(folder, ".//openat", create, 0640));
    OPENS(openat64, openat64(AT_FDCWD, "openat64", create, 0640));
    OPENS(creat, creat("creat", 0640));
    OPENS(creat64, creat64("creat64", 0640));
    close(creat("__open_2", 0640));
    OPENS(__open_2, __open_2("__open_2", O_WRONLY));
    close(creat("__open64_2", 0640));
    OPENS(__open64_2, __open64_2("__open64_2", O_WRONLY));
    close(creat("__openat_2", 0640));
    OPENS(__openat_2, __openat_2(folder, "__openat_2", O_WRONLY));
    close(creat("__openat64_2", 0640));
    OPENS(__openat64_2, __openat64_2(folder, "__openat64_2", O_WRONLY));
    int fds[] = {mkstemp(name[0]), mkstemp64(name[1]), mkostemp(name[2], O_APPEND), mkstemps(name[3], 2),
                 mkostemps(name[4], 2, 0)};
    const char *apis[] = {"mkstemp", "mkstemp64", "mkostemp", "mkstemps", "mkostemps"};
    for (int i = 0; i < 5; i++) {
        MUST(write(fds[i], data, 7) == 7);
        close(fds[i]);
        printf("W write %s 1 7\nE %s open %s\n", name[i], apis[i], name[i]);
    }
}

static void duplicating(void) {
    int fd = open("dup", O_CREAT | O_WRONLY, 0644);
    int copies[] = {dup(fd), dup2(fd, 50), dup3(fd, 51, O_CLOEXEC), fcntl(fd, F_DUPFD, 60),
                    fcntl(fd, F_DUPFD_CLOEXEC, 70)};
    close(fd);
    for (int i = 0; i < 5; i++) {
        MUST(write(copies[i], data, 10) == 10);
        close(copies[i]);
    }
    printf("W write dup 5 50\n");
    FILE *stream = fdopen(open("fdopen", O_CREAT | O_WRONLY, 0644), "w");
    fputs("hello", stream);
    fclose(stream);
    printf("W fputs fdopen 1 5\n");
    stream = fopen("freopen.old", "w");
    stream = freopen("freopen", "w", stream);
    fputs("hello", stream);
    fclose(stream);
    printf("W fputs freopen 1 5\nE freopen open freopen\n");
}

static void allocating(void) {
    int fd = open("allocated", O_CREAT | O_RDWR, 0644);
    MUST(posix_fallocate(fd, 0, 4096) == 0 && posix_fallocate64(fd, 0, 8192) == 0 && posix_fallocate(-1, 0, 1) != 0);
    printf("O posix_fallocate Allocate allocated 1\nO posix_fallocate64 Allocate allocated 1\n");
    if (fallocate(fd, 0, 0, 10000) == 0) printf("O fallocate Allocate allocated 1\n");
    if (fallocate64(fd, 0, 0, 20000) == 0) printf("O fallocate64 Allocate allocated 1\n");
    MUST(syncfs(fd) == 0);
    printf("O syncfs Fsync allocated 1\n");
    close(fd);
    fd = shm_open("/provio-families", O_CREAT | O_RDWR, 0644);
    MUST(write(fd, data, 10) == 10 && shm_unlink("/provio-families") == 0);
    close(fd);
    FILE *nameless = tmpfile();
    MUST(fputs("hello", nameless) >= 0 && fclose(nameless) == 0 && close(memfd_create("memory", 0)) == 0);
    printf("N tmpfile open\nN memfd_create open\n");
    printf("E shm_open open /dev/shm/provio-families\nE shm_unlink Delete /dev/shm/provio-families\n");
}

static void changing(int folder) {
    int fd = open("changed", O_CREAT | O_RDWR, 0644), other = open("copy", O_CREAT | O_RDWR, 0644);
    MUST(write(fd, data, 1000) == 1000 && fsync(fd) == 0 && fdatasync(fd) == 0 && fsync(fd) == 0);
    printf("W write changed 1 1000\nO fsync Fsync changed 2\nO fdatasync Fsync changed 1\n");
    MUST(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) == 0);
    printf("O sync_file_range Fsync changed 1\n");
    MUST(ftruncate(fd, 500) == 0 && truncate("changed", 400) == 0);
    printf("E ftruncate Truncate changed\nE truncate Truncate changed\n");
    off64_t offset = 0;
    MUST(copy_file_range(fd, &offset, other, NULL, 300, 0) == 300);
    offset = 0;
    MUST(sendfile(other, fd, &offset, 100) == 100);
    printf("O copy_file_range Copy copy 1\nO sendfile Copy copy 1\n");
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *(char *)map = 'x';
    MUST(munmap(map, 4096) == 0);
    printf("E mmap Map changed\nE munmap Unmap changed\n");
    close(fd);
    close(other);
    MUST(rename("copy", "renamed") == 0 && renameat(folder, "renamed", AT_FDCWD, "again") == 0);
    printf("E rename Rename renamed\nE renameat Rename again\n");
#if defined(__GLIBC__)
    MUST(renameat2(folder, "again", folder, "final", 0) == 0);
    printf("E renameat2 Rename final\n");
#else
    MUST(rename("again", "final") == 0);
#endif
    MUST(link("final", "link") == 0 && linkat(folder, "final", folder, "linkat", 0) == 0);
    MUST(symlink("final", "symlink") == 0 && symlinkat("final", folder, "symlinkat") == 0);
    printf("E link Link link\nE linkat Link linkat\nE symlink Link symlink\nE symlinkat Link symlinkat\n");
    MUST(unlink("link") == 0 && unlinkat(folder, "linkat", 0) == 0 && remove("symlink") == 0);
    printf("E unlink Delete link\nE unlinkat Delete linkat\nE remove Delete symlink\n");
    MUST(mkdir("folder", 0755) == 0 && mkdirat(folder, "folder2", 0755) == 0 && rmdir("folder") == 0);
    printf("E mkdir Create folder\nE mkdirat Create folder2\nE rmdir Delete folder\n");
    MUST(mkfifo("fifo", 0644) == 0 && mkfifoat(folder, "fifo2", 0644) == 0 && mknod("node", S_IFREG | 0644, 0) == 0);
    printf("E mkfifo Create fifo\nE mkfifoat Create fifo2\nE mknod Create node\n");
    MUST(chdir("folder2") == 0);
    close(creat("inside", 0644));
    MUST(fchdir(folder) == 0);
    printf("E creat open folder2/inside\n");
}

int main(int count, char **arguments) {
    MUST(count == 2 && chdir(arguments[1]) == 0);
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    reading();
    writing();
    streams_read();
    streams_write();
    opening(folder);
    duplicating();
    allocating();
    changing(folder);
    return 0;
}
