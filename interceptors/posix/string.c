// The functions of <string.h> that the shim and the compiler need, hidden. The shim must not call the program's: a
// sanitizer replaces them by functions with state, which a signal handler must not enter twice, and which report the
// shim's synchronization between threads as races of the program.
#include "raw.h"

typedef unsigned char loose16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t loose8 __attribute__((aligned(1), may_alias));
typedef uint32_t loose4 __attribute__((aligned(1), may_alias));
typedef uint64_t word __attribute__((may_alias));

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "strlen counts the bytes of a word from its lowest");

// Without it, the compiler would replace a loop by a call of the function that contains it.
#define AS_WRITTEN(pointer) asm volatile("" : "+r"(pointer))

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    char *at = to, *end = at + size;
    const char *source = from, *last = source + size;
    if (size >= 16) {
        for (; end - at > 16; at += 16, source += 16) {
            *(loose16 *)at = *(const loose16 *)source;
            AS_WRITTEN(at);
        }
        *(loose16 *)(end - 16) = *(const loose16 *)(last - 16);
    } else if (size >= 8) {
        *(loose8 *)at = *(const loose8 *)source;
        *(loose8 *)(end - 8) = *(const loose8 *)(last - 8);
    } else if (size >= 4) {
        *(loose4 *)at = *(const loose4 *)source;
        *(loose4 *)(end - 4) = *(const loose4 *)(last - 4);
    } else {
        for (; at < end; at++) {
            *at = *source++;
            AS_WRITTEN(at);
        }
    }
    return to;
}

void *memset(void *to, int byte, size_t size) {
    char *at = to, *end = at + size;
    const loose16 all = (loose16){0} + (unsigned char)byte;
    for (; end - at >= 16; at += 16) {
        *(loose16 *)at = all;
        AS_WRITTEN(at);
    }
    for (; at < end; at++) {
        *at = (char)byte;
        AS_WRITTEN(at);
    }
    return to;
}

int memcmp(const void *one, const void *other, size_t size) {
    const unsigned char *a = one, *b = other;
    for (; size >= 8 && *(const loose8 *)a == *(const loose8 *)b; size -= 8, a += 8, b += 8) AS_WRITTEN(a);
    for (; size > 0; size--, a++, b++) {
        if (*a != *b) return *a - *b;
        AS_WRITTEN(a);
    }
    return 0;
}

// Eight aligned bytes at a time: those before the start and beyond the end are on the same pages.
__attribute__((no_sanitize("address", "thread"))) size_t strlen(const char *string) {
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    unsigned before = (uintptr_t)string % 8;
    const char *at = string - before;
    uint64_t bytes = *(const word *)at | (((uint64_t)1 << 8 * before) - 1), zeros;
    for (; (zeros = (bytes - ones) & ~bytes & tops) == 0; bytes = *(const word *)at) at += 8;
    return (size_t)(at - string) + (unsigned)__builtin_ctzll(zeros) / 8;
}

size_t strnlen(const char *string, size_t most) {
    size_t size = 0;
    for (; size < most && string[size] != '\0'; size++) AS_WRITTEN(string);
    return size;
}

char *strchrnul(const char *string, int byte) {
    for (; *string != '\0' && *string != (char)byte; string++) AS_WRITTEN(string);
    return (char *)string;
}

char *(strchr)(const char *string, int byte) {
    char *found = strchrnul(string, byte);
    return *found == (char)byte ? found : NULL;
}

char *(strrchr)(const char *string, int byte) {
    for (const char *at = string + strlen(string); at >= string; at--) {
        if (*at == (char)byte) return (char *)at;
        AS_WRITTEN(at);
    }
    return NULL;
}

size_t strcspn(const char *string, const char *stops) {
    const char *at = string;
    while (*strchrnul(stops, *at) == '\0' && *at != '\0') at++;
    return (size_t)(at - string);
}

size_t strspn(const char *string, const char *wanted) {
    const char *at = string;
    while (*at != '\0' && *strchrnul(wanted, *at) != '\0') at++;
    return (size_t)(at - string);
}

int strncmp(const char *one, const char *other, size_t size) {
    for (; size > 0; size--, one++, other++) {
        if (*one != *other || *one == '\0') return (unsigned char)*one - (unsigned char)*other;
        AS_WRITTEN(one);
    }
    return 0;
}

int strcmp(const char *one, const char *other) {
    return strncmp(one, other, SIZE_MAX);
}

char *(strstr)(const char *string, const char *part) {
    size_t length = strlen(part);
    for (; *string != '\0' || length == 0; string++)
        if (strncmp(string, part, length) == 0) return (char *)string;
    return NULL;
}

int bcmp(const void *one, const void *other, size_t size) __attribute__((alias("memcmp"))); // used by clang
