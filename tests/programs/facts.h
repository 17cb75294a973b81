// For test programs that call one function after the other, each on a file with its name, and print the expected trace:
// `R|W <api> <file> <calls> <bytes>`, `O <api> <operation> <file> <calls>`, `E <api> <class> <file>`.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "must.h"

static char data[4096];
static struct iovec parts[2] = {{data, 10}, {data + 10, 20}};
static FILE *expected; // a copy of standard output, which may be under test itself
#define EXPECT(...) fprintf(expected == NULL ? stdout : expected, __VA_ARGS__)

// A file named after the function, with 1000 bytes if it will be read.
static const char *made(const char *name) {
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    for (int i = 0; i < 20; i++) MUST(write(fd, "0 line of fifty bytes, with a number in front 0000\n" + 1, 50) == 50);
    close(fd);
    EXPECT("W write %s 20 1000\n", name);
    return name;
}

#define READS(api, call, bytes)                                                                                        \
    do {                                                                                                               \
        int fd = open(made(#api), O_RDONLY);                                                                           \
        MUST((call) == (bytes));                                                                                       \
        MUST((call) == (bytes));                                                                                       \
        close(fd);                                                                                                     \
        EXPECT("R " #api " " #api " 2 %d\n", 2 * (bytes));                                                             \
    } while (0)

#define WRITES(api, call, bytes)                                                                                       \
    do {                                                                                                               \
        int fd = open(#api, O_CREAT | O_RDWR, 0644);                                                                   \
        MUST((call) == (bytes));                                                                                       \
        MUST((call) == (bytes));                                                                                       \
        close(fd);                                                                                                     \
        EXPECT("W " #api " " #api " 2 %d\n", 2 * (bytes));                                                             \
    } while (0)

#define GETS(api, call, bytes)                                                                                         \
    do {                                                                                                               \
        FILE *stream = fopen(made(#api), "r");                                                                         \
        MUST(call);                                                                                                    \
        MUST(call);                                                                                                    \
        fclose(stream);                                                                                                \
        EXPECT("R " #api " " #api " 2 %d\n", 2 * (bytes));                                                             \
    } while (0)

#define PUTS(api, call, bytes)                                                                                         \
    do {                                                                                                               \
        FILE *stream = fopen(#api, "w");                                                                               \
        MUST(call);                                                                                                    \
        MUST(call);                                                                                                    \
        fclose(stream);                                                                                                \
        EXPECT("W " #api " " #api " 2 %d\nE fopen open " #api "\n", 2 * (bytes));                                        \
    } while (0)

#define OPENS(api, call)                                                                                               \
    do {                                                                                                               \
        int fd = (call);                                                                                               \
        MUST(fd >= 0);                                                                                                 \
        MUST(write(fd, data, 7) == 7);                                                                                 \
        close(fd);                                                                                                     \
        EXPECT("W write " #api " 1 7\nE " #api " open " #api "\n");                                                    \
    } while (0)

