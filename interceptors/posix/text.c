// Writes Turtle: numbers, dates, escaped and percent-encoded literals; joins paths.
#include "process.h"

void text_string(struct text *text, const char *string) {
    text_bytes(text, string, strlen(string));
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                            "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

// Number of digits: log10(2) is slightly more than 1233 / 4096.
static unsigned digits_of(uint32_t value) {
    static const uint32_t powers[] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    unsigned guess = (32u - (unsigned)__builtin_clz(value | 1)) * 1233 >> 12;
    return guess + (value >= powers[guess]) + (value == 0 && guess > 0);
}

// Written directly into place, from the end: a copy of text just written in smaller pieces would have to wait for those
// stores.
static void text_short_number(struct text *text, uint32_t value) {
    unsigned count = digits_of(value);
    if (unlikely((size_t)(text->end - text->at) < count)) {
        text->at = text->end;
        return;
    }
    char *end = text->at += count;
    for (; value >= 10; value /= 100) memcpy(end -= 2, pairs + value % 100 * 2, 2);
    if (end > text->at - count) end[-1] = (char)('0' + value);
}

void text_number(struct text *text, uint64_t value) {
    if (value <= UINT32_MAX) {
        text_short_number(text, (uint32_t)value);
        return;
    }
    sixteen low = sixteen_digits(value % SIXTEEN_PLACES);
    char digits[16];
    memcpy(digits, &low, 16);
    if (value >= SIXTEEN_PLACES) {
        text_short_number(text, (uint32_t)(value / SIXTEEN_PLACES));
        text_bytes(text, digits, 16);
        return;
    }
    unsigned start = 0;
    while (digits[start] == '0') start++;
    text_bytes(text, digits + start, 16 - start);
}

size_t path_append(char *room, size_t at, const char *path) {
    while (*path != '\0') {
        const char *end = strchrnul(path, '/');
        size_t length = (size_t)(end - path);
        if (length > 0 && !(length == 1 && path[0] == '.')) {
            if (at + length + 2 > PATH_ROOM) return 0;
            room[at++] = '/';
            memcpy(room + at, path, length);
            at += length;
        }
        path = *end == '\0' ? end : end + 1;
    }
    if (at == 0) room[at++] = '/';
    room[at] = '\0';
    return at;
}

static const char hexadecimal[] = "0123456789ABCDEF";

// Percent encoding keeps printable ASCII except `%`, the quote and the backslash.
static bool is_unencoded(unsigned char byte) {
    return byte > ' ' && byte < 0x7f && byte != '%' && byte != '"' && byte != '\\';
}

static void text_percent_encoded(struct text *text, unsigned char byte) {
    char encoded[3] = {'%', hexadecimal[byte >> 4], hexadecimal[byte & 15]};
    if (is_unencoded(byte))
        text_bytes(text, &byte, 1);
    else
        text_bytes(text, encoded, 3);
}

// Printable ASCII without quote and backslash, which needs no escapes. Eight bytes at a time.
bool text_plain(const char *bytes, size_t size) {
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word, quote, backslash, control, deleted;
        memcpy(&word, bytes, 8);
        quote = (word ^ ones * '"') - ones;
        backslash = (word ^ ones * '\\') - ones;
        control = word - ones * ' ';
        deleted = (word ^ ones * 0x7f) - ones;
        if ((word | quote | backslash | control | deleted) & tops) return false;
    }
    for (; size > 0; bytes++, size--) {
        unsigned char byte = (unsigned char)*bytes;
        if (byte < ' ' || byte == '"' || byte == '\\' || byte >= 0x7f) return false;
    }
    return true;
}

// The length of the well-formed UTF-8 sequence at `bytes`; 0: not well-formed.
static size_t sequence(const unsigned char *bytes, size_t size) {
    unsigned char first = bytes[0];
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (length > size) return 0;
    for (size_t i = 1; i < length; i++)
        if ((bytes[i] & 0xc0) != 0x80) return 0;
    if ((first == 0xe0 && bytes[1] < 0xa0) || (first == 0xed && bytes[1] > 0x9f)) return 0; // overlong, surrogates
    if ((first == 0xf0 && bytes[1] < 0x90) || (first == 0xf4 && bytes[1] > 0x8f)) return 0;
    return length;
}

static bool utf8(const char *bytes, size_t size) {
    for (size_t at = 0, length; at < size; at += length)
        if ((length = sequence((const unsigned char *)bytes + at, size - at)) == 0) return false;
    return true;
}

static void text_escaped(struct text *text, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == '"' || byte == '\\') {
            char escaped[2] = {'\\', (char)byte};
            text_bytes(text, escaped, 2);
        } else if (byte < 0x20 || byte == 0x7f) {
            char escaped[6] = {'\\', 'u', '0', '0', hexadecimal[byte >> 4], hexadecimal[byte & 15]};
            text_bytes(text, escaped, 6);
        } else {
            text_bytes(text, bytes + i, 1);
        }
    }
}

// Space for text_name: property, quotes and the longest form of each byte.
size_t name_room(const char *bytes, size_t size) {
    return 32 + (text_plain(bytes, size) ? size : 6 * size);
}

void text_name(struct text *text, const char *property, const char *encoded, const char *bytes, size_t size) {
    bool whole = text_plain(bytes, size), valid = whole || utf8(bytes, size);
    TEXT(text, " ; ");
    text_string(text, valid ? property : encoded);
    TEXT(text, " \"");
    if (whole)
        text_bytes(text, bytes, size);
    else if (valid)
        text_escaped(text, bytes, size);
    else
        for (size_t i = 0; i < size; i++) text_percent_encoded(text, (unsigned char)bytes[i]);
    TEXT(text, "\"");
}

size_t argument_room(const char *argument) {
    size_t room = 2;
    for (; *argument != '\0'; argument++) room += is_unencoded((unsigned char)*argument) ? 1 : 3;
    return room;
}

void text_argument(struct text *text, const char *argument) {
    if (*argument == '\0') TEXT(text, "%");
    for (; *argument != '\0'; argument++) text_percent_encoded(text, (unsigned char)*argument);
}

// "2026-11-20T12:15:46". Days to civil date: H. Hinnant, chrono-compatible low-level date algorithms.
static void second_text(char *room, uint64_t seconds) {
    uint64_t days = seconds / 86400, rest = seconds % 86400;
    uint64_t shifted = days + 719468, era = shifted / 146097, of_era = shifted % 146097;
    uint64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t shifted_month = (5 * of_year + 2) / 153, day = of_year - (153 * shifted_month + 2) / 5 + 1;
    uint64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    uint64_t year = year_of_era + era * 400 + (month <= 2);
    const uint64_t parts[] = {year / 100, year % 100, month, day, rest / 3600, rest / 60 % 60, rest % 60};
    static const unsigned char places[] = {0, 2, 5, 8, 11, 14, 17};
    memcpy(room, "0000-00-00T00:00:00", 19);
    for (int i = 0; i < 7; i++) memcpy(room + places[i], pairs + parts[i] % 100 * 2, 2);
}

// xsd:dateTime in UTC, microseconds. The text of the second is cached; a signal handler inside the shim does not use
// the cache.
void text_date(struct text *text, struct thread *thread, uint64_t nanoseconds) {
    enum { SECOND = sizeof "2026-11-20T12:15:46" - 1, DATE = SECOND + sizeof ".123456Z" - 1 };
    uint64_t second = nanoseconds / 1000000000;
    char made[20], *date = thread->depth > 2 ? made : thread->date_text, *start = text->at;
    if (date == made || thread->date_second != second) {
        second_text(date, second);
        if (date != made) thread->date_second = second;
    }
    if (unlikely((size_t)(text->end - start) < DATE)) {
        text->at = text->end;
        return;
    }
    text->at += DATE;
    digits_before(start + DATE - 1, nanoseconds / 1000 % 1000000); // with zeros before it, of which six places stay
    memcpy(start, date, SECOND);
    start[SECOND] = '.';
    start[DATE - 1] = 'Z';
}
