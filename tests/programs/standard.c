// The calls that read standard input (a file of 50-byte lines) and write standard output, one of each. Prints the
// expected trace on standard error: `R|W <api> <calls> <bytes>`.
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char *gets(char *);
char *__gets_chk(char *, size_t);
int __uflow(FILE *);
int __overflow(FILE *, int);
int __printf_chk(int, const char *, ...);
int __vprintf_chk(int, const char *, va_list);
int __isoc99_scanf(const char *, ...);

#define R(api, call, bytes)                                                                                            \
    do {                                                                                                               \
        if (!(call)) return 1;                                                                                         \
        fprintf(stderr, "R " #api " 1 %d\n", (int)(bytes));                                                            \
    } while (0)
#define W(api, call, bytes)                                                                                            \
    do {                                                                                                               \
        if (!(call)) return 1;                                                                                         \
        fprintf(stderr, "W " #api " 1 %d\n", (int)(bytes));                                                            \
    } while (0)

static int scanned(int which, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = which == 0 ? vscanf(format, list) : vfscanf(stdin, format, list);
    va_end(list);
    return result;
}

static int printed(int checked, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = checked ? __vprintf_chk(1, format, list) : vprintf(format, list);
    va_end(list);
    return result;
}

int main(void) {
    static char line[200];
    R(__uflow, __uflow(stdin) != EOF, 1000); // the whole file, because the buffer is refilled
    R(getchar, (getchar)() != EOF, 1);
    R(getchar_unlocked, (getchar_unlocked)() != EOF, 1);
    R(gets, gets(line) != NULL, 47);
    R(__gets_chk, __gets_chk(line, sizeof line) != NULL, 50);
    R(__isoc99_scanf, __isoc99_scanf("%9s", line) == 1, 11);
    R(__isoc99_vscanf, scanned(0, "%9s", line) == 1, 5);
    R(__isoc99_vfscanf, scanned(1, "%9s", line) == 1, 3);
    W(__overflow, __overflow(stdout, 'x') == 'x', 1);
    W(putchar, (putchar)('x') == 'x', 1);
    W(putchar_unlocked, (putchar_unlocked)('x') == 'x', 1);
    W(puts, puts("hello") >= 0, 6);
    W(printf, printf("%d-%s", 12, "ab") == 5, 5);
    W(__printf_chk, __printf_chk(1, "%d-%s", 12, "ab") == 5, 5);
    W(vprintf, printed(0, "%d", 123) == 3, 3);
    W(__vprintf_chk, printed(1, "%d", 123) == 3, 3);
    return 0;
}
