// Calls the alternative names of calls in the C library; wide streams; calls on standard input and output, which are
// reopened for each. Prints like families.c.
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <gshadow.h>
#include <linux/fs.h>
#include <locale.h>
#include <mntent.h>
#include <pwd.h>
#include <shadow.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "facts.h"

// Call a function by its own name, even if a header redefines it.
#define FORM(type, name, ...) type form_##name(__VA_ARGS__) __asm__(#name);
FORM(int, __open, const char *, int, ...)
FORM(int, __open64, const char *, int, ...)
FORM(ssize_t, __read, int, void *, size_t)
FORM(ssize_t, __pread64, int, void *, size_t, off_t)
FORM(ssize_t, __write, int, const void *, size_t)
FORM(ssize_t, __pwrite64, int, const void *, size_t, off_t)
FORM(int, __close, int)
FORM(int, __dup2, int, int)
FORM(int, __fcntl, int, int, ...)
FORM(int, fcntl64, int, int, ...)
FORM(int, __pipe, int *)
FORM(int, __socket, int, int, int)
FORM(int, __connect, int, const void *, socklen_t)
FORM(int, __xmknod, int, const char *, mode_t, dev_t *)
FORM(int, __xmknodat, int, int, const char *, mode_t, dev_t *)
FORM(off_t, __lseek, int, off_t, int)
FORM(int, __fseeko64, FILE *, off64_t, int)
FORM(int, _IO_fsetpos, FILE *, const void *)
FORM(int, _IO_fsetpos64, FILE *, const void *)
FORM(int, __vdprintf_chk, int, int, const char *, va_list)
FORM(void *, __mmap, void *, size_t, int, int, int, off_t)
FORM(void *, mmap64, void *, size_t, int, int, int, off_t)
FORM(int, __munmap, void *, size_t)
FORM(int, __mprotect, void *, size_t, int)
FORM(pid_t, __fork, void)
FORM(pid_t, __vfork, void)
FORM(pid_t, __wait, int *)
FORM(pid_t, __waitpid, pid_t, int *, int)
FORM(FILE *, _IO_fopen, const char *, const char *)
FORM(FILE *, fopen64, const char *, const char *)
FORM(FILE *, freopen64, const char *, const char *, FILE *)
FORM(FILE *, _IO_popen, const char *, const char *)
FORM(FILE *, __setmntent, const char *, const char *)
FORM(int, _IO_fclose, FILE *)
FORM(int, __endmntent, FILE *)
FORM(int, _IO_fflush, FILE *)
FORM(char *, _IO_fgets, char *, int, FILE *)
FORM(char *, gets, char *)
FORM(char *, _IO_gets, char *)
FORM(size_t, _IO_fread, void *, size_t, size_t, FILE *)
FORM(size_t, _IO_fwrite, const void *, size_t, size_t, FILE *)
FORM(int, _IO_fputs, const char *, FILE *)
FORM(int, _IO_puts, const char *)
FORM(int, _IO_printf, const char *, ...)
FORM(int, _IO_fprintf, FILE *, const char *, ...)
FORM(int, _IO_vfprintf, FILE *, const char *, va_list)
FORM(int, scanf, const char *, ...)
FORM(int, fscanf, FILE *, const char *, ...)
FORM(int, vscanf, const char *, va_list)
FORM(int, vfscanf, FILE *, const char *, va_list)
FORM(int, __vfscanf, FILE *, const char *, va_list)
FORM(int, __underflow, FILE *)
FORM(struct mntent *, __getmntent_r, FILE *, struct mntent *, char *, int)
FORM(wchar_t *, __fgetws_chk, wchar_t *, size_t, int, FILE *)
FORM(wchar_t *, __fgetws_unlocked_chk, wchar_t *, size_t, int, FILE *)
FORM(int, wscanf, const wchar_t *, ...)
FORM(int, fwscanf, FILE *, const wchar_t *, ...)
FORM(int, vwscanf, const wchar_t *, va_list)
FORM(int, vfwscanf, FILE *, const wchar_t *, va_list)
FORM(int, __isoc99_wscanf, const wchar_t *, ...)
FORM(int, __isoc99_fwscanf, FILE *, const wchar_t *, ...)
FORM(int, __isoc99_vwscanf, const wchar_t *, va_list)
FORM(int, __isoc99_vfwscanf, FILE *, const wchar_t *, va_list)
FORM(int, __wprintf_chk, int, const wchar_t *, ...)
FORM(int, __fwprintf_chk, FILE *, int, const wchar_t *, ...)
FORM(int, __vwprintf_chk, int, const wchar_t *, va_list)
FORM(int, __vfwprintf_chk, FILE *, int, const wchar_t *, va_list)

// Like GETS and PUTS, on reopened standard input and output.
#define GETS_STANDARD(api, call, bytes)                                                                                \
    do {                                                                                                               \
        MUST(freopen(made(#api), "r", stdin) != NULL);                                                                 \
        MUST(call);                                                                                                    \
        MUST(call);                                                                                                    \
        EXPECT("R " #api " " #api " 2 %d\n", 2 * (bytes));                                                                \
    } while (0)

#define PUTS_STANDARD(api, call, bytes)                                                                                \
    do {                                                                                                               \
        MUST(freopen(#api, "w", stdout) != NULL);                                                                      \
        MUST(call);                                                                                                    \
        MUST(call);                                                                                                    \
        EXPECT("W " #api " " #api " 2 %d\n", 2 * (bytes));                                                                \
    } while (0)

// Passes its variable arguments to a function that takes a va_list.
#define WITH_LIST(name, format_type, call)                                                                             \
    static int with_##name(FILE *stream, const format_type *format, ...) {                                             \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        int result = call;                                                                                             \
        va_end(list);                                                                                                  \
        return result;                                                                                                 \
    }
WITH_LIST(__vdprintf_chk, char, form___vdprintf_chk(fileno(stream), 1, format, list))
WITH_LIST(_IO_vfprintf, char, form__IO_vfprintf(stream, format, list))
WITH_LIST(vscanf, char, form_vscanf(format, list))
WITH_LIST(vfscanf, char, form_vfscanf(stream, format, list))
WITH_LIST(__vfscanf, char, form___vfscanf(stream, format, list))
WITH_LIST(vwscanf, wchar_t, form_vwscanf(format, list))
WITH_LIST(vfwscanf, wchar_t, form_vfwscanf(stream, format, list))
WITH_LIST(__isoc99_vwscanf, wchar_t, form___isoc99_vwscanf(format, list))
WITH_LIST(__isoc99_vfwscanf, wchar_t, form___isoc99_vfwscanf(stream, format, list))
WITH_LIST(vwprintf, wchar_t, vwprintf(format, list))
WITH_LIST(vfwprintf, wchar_t, vfwprintf(stream, format, list))
WITH_LIST(__vwprintf_chk, wchar_t, form___vwprintf_chk(1, format, list))
WITH_LIST(__vfwprintf_chk, wchar_t, form___vfwprintf_chk(stream, 1, format, list))

static void descriptors(void) {
    const int create = O_CREAT | O_RDWR;
    OPENS(__open, form___open("__open", create, 0640));
    OPENS(__open64, form___open64("__open64", create, 0640));
    READS(__read, form___read(fd, data, 100), 100);
    READS(__pread64, form___pread64(fd, data, 100, 5), 100);
    WRITES(__write, form___write(fd, data, 100), 100);
    WRITES(__pwrite64, form___pwrite64(fd, data, 100, 5), 100);
    int fd = open("copies", create, 0644);
    int copies[] = {form___dup2(fd, 90), form___fcntl(fd, F_DUPFD, 91), form_fcntl64(fd, F_DUPFD_CLOEXEC, 92)};
    MUST(form___close(fd) == 0);
    for (int i = 0; i < 3; i++) MUST(write(copies[i], data, 10) == 10 && close(copies[i]) == 0);
    EXPECT("W write copies 3 30\n");
    char name[][32] = {"mkostemp64XXXXXX", "mkstemps64XXXXXX.x", "mkostemps64XXXXXX.x"};
    int fds[] = {mkostemp64(name[0], O_APPEND), mkstemps64(name[1], 2), mkostemps64(name[2], 2, 0)};
    const char *apis[] = {"mkostemp64", "mkstemps64", "mkostemps64"};
    for (int i = 0; i < 3; i++) {
        MUST(write(fds[i], data, 7) == 7 && close(fds[i]) == 0);
        EXPECT("W write %s 1 7\nE %s open %s\n", name[i], apis[i], name[i]);
    }
    dev_t none = 0;
    MUST(form___xmknod(0, "node", S_IFREG | 0644, &none) == 0);
    MUST(form___xmknodat(0, AT_FDCWD, "nodeat", S_IFREG | 0644, &none) == 0);
    EXPECT("E __xmknod Create node\nE __xmknodat Create nodeat\n");
    fd = open("length", create, 0644);
    MUST(write(fd, data, 100) == 100 && ftruncate64(fd, 50) == 0 && truncate64("length", 40) == 0);
    EXPECT("E ftruncate64 Truncate length\nE truncate64 Truncate length\n");
    void *map = form___mmap(NULL, 40, PROT_READ, MAP_PRIVATE, fd, 0);
    void *map64 = form_mmap64(NULL, 40, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(map != MAP_FAILED && form___munmap(map, 40) == 0 && form___munmap(map64, 40) == 0);
    map = mmap(NULL, 40, PROT_READ, MAP_SHARED, fd, 0), map64 = mmap(NULL, 40, PROT_READ, MAP_SHARED, fd, 0);
    MUST(form___mprotect(map, 40, PROT_WRITE) == 0 && pkey_mprotect(map64, 40, PROT_WRITE, -1) == 0 && close(fd) == 0);
    EXPECT("E __mmap Map length\nE mmap64 Map length\nE __munmap Unmap length\n"
           "E __mprotect Map length\nE pkey_mprotect Map length\n");
    MUST(close(posix_openpt(O_RDWR | O_NOCTTY)) == 0 && close(getpt()) == 0);
    MUST(chroot("/does/not/exist") == -1);
}

// Through pipes: the only known fact is that no other file is involved.
static void piping(void) {
    int from[2], to[2], file = open("piped", O_CREAT | O_RDWR, 0644);
    MUST(form___pipe(from) == 0 && form___pipe(to) == 0);
    MUST(vmsplice(from[1], parts, 2, 0) == 30 && tee(from[0], to[1], 30, 0) == 30);
    struct iovec back = {data, 20};
    MUST(vmsplice(to[0], &back, 1, 0) == 20 && splice(from[0], NULL, file, NULL, 30, 0) == 30);
    EXPECT("O splice Copy piped 1\n");
    int unconnected = form___socket(AF_UNIX, SOCK_STREAM, 0);
    MUST(form___connect(unconnected, NULL, 0) == -1 && close(unconnected) == 0);
    int number, other = open("cloned", O_CREAT | O_RDWR, 0644);
    MUST(ioctl(from[0], FIONREAD, &number) == 0 && number == 0);
    if (ioctl(other, FICLONE, file) == 0) EXPECT("O ioctl Copy cloned 1\n"); // only some file systems support it
    close(file);
    close(other);
}

static void children(void) {
    if (form___fork() == 0) _exit(0);
    MUST(form___wait(NULL) > 0);
    pid_t pid = form___vfork();
    if (pid == 0) _exit(0);
    MUST(form___waitpid(pid, NULL, 0) == pid);
    FILE *stream = form__IO_popen("echo hello", "r");
    MUST(stream != NULL && fgets(data, sizeof data, stream) != NULL && pclose(stream) == 0);
}

static void streams(void) {
    char word[64];
    GETS(_IO_fread, form__IO_fread(data, 1, 100, stream) == 100, 100);
    GETS(_IO_fgets, form__IO_fgets(data, 100, stream) != NULL, 50);
    GETS(fscanf, form_fscanf(stream, "%2c", word) == 1, 2);
    GETS(vfscanf, with_vfscanf(stream, "%2c", word) == 1, 2);
    GETS(__vfscanf, with___vfscanf(stream, "%2c", word) == 1, 2);
    GETS(__underflow, form___underflow(stream) != EOF, 1000);
    GETS_STANDARD(scanf, form_scanf("%2c", word) == 1, 2);
    GETS_STANDARD(vscanf, with_vscanf(stdin, "%2c", word) == 1, 2);
    GETS_STANDARD(gets, form_gets(data) != NULL, 50);
    GETS_STANDARD(_IO_gets, form__IO_gets(data) != NULL, 50);
    PUTS(_IO_fwrite, form__IO_fwrite(data, 2, 50, stream) == 50, 100);
    PUTS(_IO_fputs, form__IO_fputs("hello", stream) >= 0, 5);
    PUTS(_IO_fprintf, form__IO_fprintf(stream, "%d-%s", 12, "ab") == 5, 5);
    PUTS(_IO_vfprintf, with__IO_vfprintf(stream, "%d", 123) == 3, 3);
    PUTS(__vdprintf_chk, with___vdprintf_chk(stream, "%d", 123) == 3, 3);
    PUTS_STANDARD(_IO_puts, form__IO_puts("hello") >= 0, 6);
    PUTS_STANDARD(_IO_printf, form__IO_printf("%d-%s", 12, "ab") == 5, 5);
    FILE *stream = form__IO_fopen("_IO_fopen", "w");
    MUST(fputs("hello", stream) >= 0 && form__IO_fflush(stream) == 0 && form__IO_fflush(stream) == 0);
    MUST(fputs("hello", stream) >= 0 && fflush_unlocked(stream) == 0 && fflush_unlocked(stream) == 0);
    MUST(fputs("hello", stream) >= 0 && fflush(stream) == 0 && fputs("hello", stream) >= 0 && fflush(stream) == 0);
    MUST(fflush(stream) == 0 && fflush(NULL) == 0 && form__IO_fclose(stream) == 0);
    EXPECT("W fputs _IO_fopen 4 20\nE _IO_fopen open _IO_fopen\nO _IO_fflush Flush _IO_fopen 1\n");
    EXPECT("O fflush_unlocked Flush _IO_fopen 1\nO fflush Flush _IO_fopen 2\n");
    stream = form_freopen64("freopen64", "w", form_fopen64("fopen64", "w"));
    MUST(fputs("hello", stream) >= 0 && fclose(stream) == 0);
    EXPECT("W fputs freopen64 1 5\nE freopen64 open freopen64\nE fopen64 open fopen64\n");
    stream = tmpfile64();
    MUST(fputs("hello", stream) >= 0 && fclose(stream) == 0);
    EXPECT("N tmpfile64 open\n");
}

static wchar_t wide_text[] = L"h\u00e9llo \u20ac"; // 10 bytes of UTF-8

static void wide_streams(void) {
    wchar_t wide[200];
    GETS(fgetwc, fgetwc(stream) != WEOF, 1);
    GETS(fgetwc_unlocked, fgetwc_unlocked(stream) != WEOF, 1);
    GETS(getwc, (getwc)(stream) != WEOF, 1);
    GETS(getwc_unlocked, (getwc_unlocked)(stream) != WEOF, 1);
    GETS_STANDARD(getwchar, (getwchar)() != WEOF, 1);
    GETS_STANDARD(getwchar_unlocked, (getwchar_unlocked)() != WEOF, 1);
    GETS(fgetws, fgetws(wide, 200, stream) != NULL, 50);
    GETS(fgetws_unlocked, fgetws_unlocked(wide, 200, stream) != NULL, 50);
    GETS(__fgetws_chk, form___fgetws_chk(wide, 200, 200, stream) != NULL, 50);
    GETS(__fgetws_unlocked_chk, form___fgetws_unlocked_chk(wide, 200, 200, stream) != NULL, 50);
    GETS(fwscanf, form_fwscanf(stream, L"%2lc", wide) == 1, 2);
    GETS(vfwscanf, with_vfwscanf(stream, L"%2lc", wide) == 1, 2);
    GETS(__isoc99_fwscanf, form___isoc99_fwscanf(stream, L"%2lc", wide) == 1, 2);
    GETS(__isoc99_vfwscanf, with___isoc99_vfwscanf(stream, L"%2lc", wide) == 1, 2);
    GETS_STANDARD(wscanf, form_wscanf(L"%2lc", wide) == 1, 2);
    GETS_STANDARD(vwscanf, with_vwscanf(stdin, L"%2lc", wide) == 1, 2);
    GETS_STANDARD(__isoc99_wscanf, form___isoc99_wscanf(L"%2lc", wide) == 1, 2);
    GETS_STANDARD(__isoc99_vwscanf, with___isoc99_vwscanf(stdin, L"%2lc", wide) == 1, 2);
    PUTS(fputwc, fputwc(L'\u20ac', stream) != WEOF, 3);
    PUTS(fputwc_unlocked, fputwc_unlocked(L'\u20ac', stream) != WEOF, 3);
    PUTS(putwc, (putwc)(L'\u00e9', stream) != WEOF, 2);
    PUTS(putwc_unlocked, (putwc_unlocked)(L'x', stream) != WEOF, 1);
    PUTS_STANDARD(putwchar, (putwchar)(L'\u20ac') != WEOF, 3);
    PUTS_STANDARD(putwchar_unlocked, (putwchar_unlocked)(L'\U0001f600') != WEOF, 4);
    PUTS(fputws, fputws(wide_text, stream) >= 0, 10);
    PUTS(fputws_unlocked, fputws_unlocked(wide_text, stream) >= 0, 10);
    PUTS(fwprintf, fwprintf(stream, L"%ls", wide_text) == 7, 10);
    PUTS(vfwprintf, with_vfwprintf(stream, L"%ls", wide_text) == 7, 10);
    PUTS(__fwprintf_chk, form___fwprintf_chk(stream, 1, L"%ls", wide_text) == 7, 10);
    PUTS(__vfwprintf_chk, with___vfwprintf_chk(stream, L"%ls", wide_text) == 7, 10);
    PUTS_STANDARD(wprintf, wprintf(L"%ls", wide_text) == 7, 10);
    PUTS_STANDARD(vwprintf, with_vwprintf(stdout, L"%ls", wide_text) == 7, 10);
    PUTS_STANDARD(__wprintf_chk, form___wprintf_chk(1, L"%ls", wide_text) == 7, 10);
    PUTS_STANDARD(__vwprintf_chk, with___vwprintf_chk(stdout, L"%ls", wide_text) == 7, 10);
}

// Tables of users and mounts, which the C library reads and writes line by line.
#define ENTRIES(name, type, put_call, get_call, text)                                                                  \
    do {                                                                                                               \
        type *entry, room;                                                                                             \
        char words[500];                                                                                               \
        FILE *stream = fopen(#name ".in", "w");                                                                        \
        MUST(fputs(text text text, stream) >= 0 && fclose(stream) == 0);                                               \
        stream = fopen(#name ".in", "r");                                                                              \
        FILE *out = fopen("put" #name, "w");                                                                           \
        MUST((entry = fget##name(stream)) != NULL && (put_call) == 0 && (get_call) == 0);                              \
        fclose(stream);                                                                                                \
        fclose(out);                                                                                                   \
        EXPECT("R fget" #name " " #name ".in 1 %d\nR fget" #name "_r " #name ".in 1 %d\nW put" #name " put" #name " 1 %d\n",  \
            (int)strlen(text), (int)strlen(text), (int)strlen(text));                                                  \
    } while (0)

static void tables(void) {
    ENTRIES(pwent, struct passwd, putpwent(entry, out), fgetpwent_r(stream, &room, words, 500, &entry),
            "ada:x:1:1:Ada:/home/ada:/bin/sh\n");
    ENTRIES(grent, struct group, putgrent(entry, out), fgetgrent_r(stream, &room, words, 500, &entry),
            "users:x:100:ada\n");
    ENTRIES(spent, struct spwd, putspent(entry, out), fgetspent_r(stream, &room, words, 500, &entry),
            "ada:x:1:2:3:4:5:6:\n");
    ENTRIES(sgent, struct sgrp, putsgent(entry, out), fgetsgent_r(stream, &room, words, 500, &entry), "a:!:b:c\n");
    struct mntent *mount, found;
    FILE *stream = form___setmntent("mounts", "w");
    mount = &(struct mntent){"dev", "/m", "ext4", "rw", 0, 0};
    MUST(addmntent(stream, mount) == 0 && addmntent(stream, mount) == 0 && addmntent(stream, mount) == 0);
    MUST(form___endmntent(stream) == 1);
    EXPECT("E __setmntent open mounts\nW addmntent mounts 3 57\n");
    stream = setmntent("mounts", "r");
    MUST(getmntent(stream) != NULL && getmntent_r(stream, &found, data, 500) != NULL);
    MUST(form___getmntent_r(stream, &found, data, 500) != NULL && endmntent(stream) == 1);
    EXPECT("E setmntent open mounts\nR getmntent mounts 1 19\nR getmntent_r mounts 1 19\nR __getmntent_r mounts 1 19\n");
}

// Streams without a descriptor leave no trace and add no cost.
static ssize_t cookie_write(void *cookie, const char *bytes, size_t size) {
    return (ssize_t)size;
}

static void nowhere(void) {
    char room[100], *text;
    wchar_t *wide;
    size_t size;
    FILE *made[] = {fmemopen(room, sizeof room, "w+"), open_memstream(&text, &size), open_wmemstream(&wide, &size),
                    fopencookie(NULL, "w", (cookie_io_functions_t){.write = cookie_write})};
    for (int i = 0; i < 4; i++) {
        MUST(made[i] != NULL);
        if (i == 2)
            MUST(fputws(L"abc", made[i]) >= 0 && fwprintf(made[i], L"%d", 1) == 1);
        else
            MUST(fputs("abc", made[i]) >= 0 && fprintf(made[i], "%d", 1) == 1 && putc('x', made[i]) == 'x');
        MUST(fflush(made[i]) == 0);
        if (i == 0) rewind(made[i]), MUST(fgetc(made[i]) == 'a' && fread(data, 1, 1, made[i]) == 1);
        MUST(fclose(made[i]) == 0);
    }
}

// Bytes that pass through a full buffer inside a call belong to that call.
static void long_texts(void) {
    FILE *stream = fopen("long", "w");
    MUST(fprintf(stream, "%20000d%s", 1, "x") == 20001);
    for (int i = 0; i < 20000; i++) MUST((putc)('x', stream) == 'x');
    MUST(fclose(stream) == 0);
    EXPECT("W fprintf long 1 20001\nW putc long 20000 20000\n");
    stream = fopen("long", "r");
    for (int i = 0; i < 20000; i++) MUST((getc)(stream) != EOF);
    MUST(fread(data, 0, 10, stream) == 0 && ungetc('a', stream) == 'a' && (fgetc)(stream) == 'a');
    fclose(stream);
    stream = fopen("long", "r");
    fpos64_t place;
    MUST(fgetpos64(stream, &place) == 0 && form___fseeko64(stream, 10, SEEK_SET) == 0);
    MUST(form__IO_fsetpos(stream, &place) == 0 && form__IO_fsetpos64(stream, &place) == 0);
    MUST(ftell(stream) == 0 && form___lseek(fileno(stream), 5, SEEK_SET) == 5 && fclose(stream) == 0);
    EXPECT("R getc long 20000 20000\nR fread long 1 0\nR fgetc long 1 1\n");
}

int main(int count, char **arguments) {
    MUST(count == 2 && chdir(arguments[1]) == 0 && setlocale(LC_ALL, "C.UTF-8") != NULL);
    expected = fdopen(dup(STDOUT_FILENO), "w");
    descriptors();
    piping();
    children();
    streams();
    wide_streams();
    tables();
    nowhere();
    long_texts();
    MUST(freopen("/dev/null", "w", stdout) != NULL);
    return fclose(expected);
}
