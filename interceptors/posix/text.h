// Text of the live file: bytes, numbers, names.
#ifndef PROVIO_TEXT_H
#define PROVIO_TEXT_H

#include "raw.h"

// ---- text.c

struct text {
    char *at, *end;
};

// FNV-1a, of several parts one after the other; the hash of nothing is HASH_START.
#define HASH_START 0xcbf29ce484222325u
static inline uint64_t hash_add(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

typedef unsigned char sixteen __attribute__((vector_size(16), may_alias));

#if defined(__SSE2__)
#include <emmintrin.h>
// All 16 digits at once: two lanes of 8 digits, then four of 4, eight of 2, sixteen of 1.
static inline sixteen sixteen_digits(uint64_t value) {
    const uint64_t high = value / 100000000;
    const __m128i eights = _mm_set_epi64x((long long)(value - high * 100000000), (long long)high);
    const __m128i upper = _mm_srli_epi64(_mm_mul_epu32(eights, _mm_set1_epi32((int)0xd1b71759)), 45);
    const __m128i lower = _mm_sub_epi32(eights, _mm_mul_epu32(upper, _mm_set1_epi32(10000)));
    const __m128i fours = _mm_or_si128(upper, _mm_slli_epi64(lower, 32));
    const __m128i hundreds = _mm_srli_epi32(_mm_mulhi_epu16(fours, _mm_set1_epi32(10486)), 4);
    const __m128i rest = _mm_sub_epi32(fours, _mm_mullo_epi16(hundreds, _mm_set1_epi32(100)));
    const __m128i twos = _mm_or_si128(hundreds, _mm_slli_epi32(rest, 16));
    const __m128i tens = _mm_mulhi_epu16(twos, _mm_set1_epi16(6554));
    const __m128i ones = _mm_sub_epi16(twos, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
    const __m128i digits = _mm_or_si128(tens, _mm_slli_epi16(ones, 8));
    return (sixteen)_mm_add_epi8(digits, _mm_set1_epi8('0'));
}
#else
static inline sixteen sixteen_digits(uint64_t value) {
    sixteen digits;
    for (int i = 15; i >= 0; i--, value /= 10) digits[i] = (unsigned char)('0' + value % 10);
    return digits;
}
#endif

// Upper bound of the number of digits: log10(2) is slightly less than 1233 / 4096.
static inline unsigned digits_at_most(uint64_t value) {
    return (64u - (unsigned)__builtin_clzll(value | 1)) * 1233 / 4096 + 1;
}

static inline void store_loosely(char *at, sixteen digits) {
    memcpy(at, &digits, 16);
}

// Write up to 16 digits that end before `end`; the bytes before them are overwritten with zeros, because a line is
// written from its end to its beginning. Returns the start of the digits.
static inline char *digits_before(char *end, uint64_t value) {
    sixteen digits = sixteen_digits(value);
    store_loosely(end - 16, digits);
#if defined(__SSE2__)
    unsigned zeros = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8((__m128i)digits, _mm_set1_epi8('0')));
    return end - 16 + __builtin_ctz(~zeros | 0x8000);
#else
    char *start = end - 16;
    while (start < end - 1 && *start == '0') start++;
    return start;
#endif
}

#define SIXTEEN_PLACES 10000000000000000u

// The same for a number of any length.
static inline char *number_before(char *end, uint64_t value) {
    if (likely(value < SIXTEEN_PLACES)) return digits_before(end, value);
    store_loosely(end - 16, sixteen_digits(value % SIXTEEN_PLACES));
    return digits_before(end - 16, value / SIXTEEN_PLACES);
}

static inline void text_bytes(struct text *text, const void *bytes, size_t size) {
    if (unlikely(size > (size_t)(text->end - text->at))) size = (size_t)(text->end - text->at);
    memcpy(text->at, bytes, size);
    text->at += size;
}
#define TEXT(text, constant) text_bytes(text, constant, sizeof(constant) - 1)
#define TEXT_API(text, api) text_bytes(text, api_name(api), api_length(api))

// Append a path to the first `at` bytes of a buffer of PATH_ROOM bytes, without `.` and empty parts. Returns the
// length; 0: too long.
size_t path_append(char *room, size_t at, const char *path);
void text_string(struct text *text, const char *string);
void text_number(struct text *text, uint64_t value);
void text_real(struct text *text, double value); // float_text.c
bool text_plain(const char *bytes, size_t size);
size_t name_room(const char *bytes, size_t size);
// ` ; property "bytes"`; with the property `encoded` if the bytes are not UTF-8
void text_name(struct text *text, const char *property, const char *encoded, const char *bytes, size_t size);
void text_argument(struct text *text, const char *argument);
size_t argument_room(const char *argument);
#define TEXT_NUMBER(text, term, value) (TEXT(text, " ; " term " "), text_number(text, value))
#define TEXT_NAME(text, name, bytes, size) text_name(text, TERM_##name, TERM_##name##Encoded, bytes, size)

#endif
