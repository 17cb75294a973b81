// Any bytes as a name, an argument and a path: the shim must write Turtle that fits the requested space and represents
// exactly these bytes. Built with libFuzzer, or with its own main: then the files on the command line are the inputs,
// and a statement of Turtle is printed for each.
#include "../../interceptors/posix/process.h"

#include <stdlib.h>

#define MUST(condition)                                                                                                \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

static struct text room_of(size_t size) {
    char *start = malloc(size + 1);
    return (struct text){start, start + size + 1};
}

static int worth(char digit) {
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

// Decode one character of a string literal or, with `percent`, of percent-encoded text; returns the rest.
static const char *decoded(const char *at, bool percent, unsigned char *byte) {
    int digits = percent && *at == '%' ? 2 : !percent && at[0] == '\\' && at[1] == 'u' ? 4 : 0;
    if (digits == 0 && !percent && *at == '\\') {
        MUST(at[1] == '"' || at[1] == '\\');
        *byte = (unsigned char)at[1];
        return at + 2;
    }
    if (digits == 0) {
        MUST(*at != '"' && (unsigned char)*at >= ' ' && *at != '\\');
        *byte = (unsigned char)*at;
        return at + 1;
    }
    unsigned value = 0;
    for (at += digits == 2 ? 1 : 2; digits > 0; digits--, at++) {
        MUST(worth(*at) >= 0);
        value = value * 16 + (unsigned)worth(*at);
    }
    MUST(value < 256);
    *byte = (unsigned char)value;
    return at;
}

static void must_say(const char *at, const char *end, bool percent, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte;
        MUST(at < end);
        at = decoded(at, percent, &byte);
        MUST(byte == (unsigned char)bytes[i]);
    }
    MUST(at == end);
}

// By decoding code points, independent of the shim's implementation.
static bool is_utf8(const unsigned char *at, size_t size) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    for (const unsigned char *end = at + size; at < end;) {
        int more = *at < 0x80 ? 0 : *at >> 5 == 6 ? 1 : *at >> 4 == 14 ? 2 : *at >> 3 == 30 ? 3 : -1;
        if (more < 0 || end - at <= more) return false;
        uint32_t point = more == 0 ? *at : *at & (0x3f >> more);
        for (int i = 1; i <= more; i++) {
            if (at[i] >> 6 != 2) return false;
            point = point << 6 | (at[i] & 0x3f);
        }
        if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
        at += more + 1;
    }
    return true;
}

static void check_name(const char *bytes, size_t size) {
    static const char plain[] = " ; :p \"", encoded[] = " ; :pEncoded \"";
    struct text text = room_of(name_room(bytes, size) + sizeof encoded);
    char *start = text.at;
    bool whole = is_utf8((const unsigned char *)bytes, size);
    text_name(&text, ":p", ":pEncoded", bytes, size);
    size_t head = whole ? sizeof plain - 1 : sizeof encoded - 1;
    MUST(text.at < text.end && memcmp(start, whole ? plain : encoded, head) == 0 && text.at[-1] == '"');
    must_say(start + head, text.at - 1, !whole, bytes, size);
    free(start);
}

static void check_argument(const char *argument) {
    struct text text = room_of(argument_room(argument));
    char *start = text.at;
    text_argument(&text, argument);
    MUST(text.at < text.end);
    for (char *at = start; at < text.at; at++) MUST(*at > ' ' && *at < 0x7f);
    if (*argument == '\0')
        MUST(text.at == start + 1 && *start == '%');
    else
        must_say(start, text.at, true, argument, strlen(argument));
    free(start);
}

static void check_path(const char *path) {
    char *room = malloc(PATH_ROOM), *copy = strdup(path), *expected = calloc(1, strlen(path) + 16), *rest = NULL;
    strcpy(room, "/base");
    strcpy(expected, "/base");
    size_t length = path_append(room, 5, path);
    for (char *part = strtok_r(copy, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest))
        if (strcmp(part, ".") != 0) strcat(strcat(expected, "/"), part);
    if (length > 0)
        MUST(strlen(room) == length && strcmp(room, expected) == 0);
    else
        MUST(strlen(expected) + 2 > PATH_ROOM);
    free(room);
    free(copy);
    free(expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    // a separate allocation, so that a read beyond the end is detected
    char *string = malloc(size + 1), *bytes = malloc(size + (size == 0));
    memcpy(string, data, size);
    memcpy(bytes, data, size);
    string[size] = '\0';
    check_name(bytes, size);
    check_argument(string);
    check_path(string);
    free(string);
    free(bytes);
    return 0;
}

#ifndef FUZZER
static char *file_content(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *content = calloc(1, 1 << 16);
    MUST(file != NULL && content != NULL);
    *size = fread(content, 1, (1 << 16) - 1, file);
    fclose(file);
    return content;
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        size_t size;
        char *bytes = file_content(arguments[i], &size);
        LLVMFuzzerTestOneInput((const uint8_t *)bytes, size);
        struct text text = room_of(2 * (name_room(bytes, size) + argument_room(bytes) + 3 * size) + 256);
        char *start = text.at;
        TEXT(&text, "<urn:x:");
        text_number(&text, (uint64_t)i);
        TEXT(&text, "> a <urn:x:Name>");
        text_name(&text, "<urn:x:name>", "<urn:x:encoded>", bytes, size);
        TEXT(&text, " ; <urn:x:argument> \"");
        text_argument(&text, bytes);
        TEXT(&text, "\" .\n");
        fwrite(start, 1, (size_t)(text.at - start), stdout);
        free(start);
        free(bytes);
    }
    return 0;
}
#endif
