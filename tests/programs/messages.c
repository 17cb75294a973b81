// Prints messages that the C library writes itself: `messages KIND`. Each kind ends in its own way.
#define _GNU_SOURCE
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <error.h>
#endif

static void same_errno(int number) {
    if (errno != number) printf("errno is %d\n", errno);
}

// Calls a form that takes a va_list, with more arguments than registers.
static void listed(int status, ...) {
    va_list list;
    va_start(list, status);
    if (status == 0) vwarn("vwarn %d %d %d %d %d %d %.1f", list);
    if (status == 1) vwarnx("vwarnx %d %d %d %d %d %d %.1f", list);
    if (status == 7) verr(status, "verr %d %d %d %d %d %d %.1f", list);
    if (status == 8) verrx(status, "verrx %d %d %d %d %d %d %.1f", list);
    va_end(list);
}

static void returning(void) {
    char longer[3000];
    memset(longer, 'l', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    errno = ENOENT;
    perror("perror");
    perror("");
    errno = 12345;
    perror(NULL);
    same_errno(12345);
    errno = EACCES;
    warn("warn %d %s %.1f", 1, "two", 3.0);
    same_errno(EACCES);
    warn("%m and");
    warn(NULL);
    warnx("warnx %s", longer);
    warnx(NULL);
    warnx("a zero %c in it", 0);
    listed(0, 1, 2, 3, 4, 5, 6, 7.5);
    listed(1, 1, 2, 3, 4, 5, 6, 7.5);
    psignal(SIGTERM, "psignal");
    psignal(SIGINT, NULL);
#ifdef __GLIBC__
    errno = EPERM;
    putchar_unlocked('b');
    error(0, 0, "error %d %d %d %d %d %d %d %.1f", 1, 2, 3, 4, 5, 6, 7, 8.5);
    error(0, ENOSPC, "%s and %m", longer);
    error_at_line(0, EINVAL, "a file.c", 7, "at a line, %s", "100%");
    error_at_line(0, 0, NULL, 7, "without a file");
    program_invocation_name = "another name";
    error(0, 0, "renamed");
    printf("%u messages\n", error_message_count);
#endif
    setvbuf(stderr, NULL, _IOFBF, 4096);
    perror("in a buffer");
    warnx("in a buffer");
    fprintf(stderr, "and between\n");
    warnx("at the end");
}

int main(int count, char **arguments) {
    const char *kind = count > 1 ? arguments[1] : "";
    printf("before ");
    if (strncmp(kind, "assert", 6) == 0) fflush(stdout);
    errno = ENOENT;
    if (strcmp(kind, "err") == 0) err(3, "err %s", kind);
    if (strcmp(kind, "errx") == 0) errx(4, "errx %s", kind);
    if (strcmp(kind, "verr") == 0) listed(7, 1, 2, 3, 4, 5, 6, 7.5);
    if (strcmp(kind, "verrx") == 0) listed(8, 1, 2, 3, 4, 5, 6, 7.5);
    if (strcmp(kind, "assert") == 0) assert(count == 7);
#ifdef __GLIBC__
    if (strcmp(kind, "assert_perror") == 0) assert_perror(EIO);
    if (strcmp(kind, "error") == 0) error(5, errno, "error %s", kind);
    if (strcmp(kind, "error_at_line") == 0) error_at_line(6, errno, "f.c", 8, "error %s", kind);
#endif
    if (strcmp(kind, "") == 0) returning();
    return 0;
}
