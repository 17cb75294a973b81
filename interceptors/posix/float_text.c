// Floating-point numbers in Turtle, independent of the locale: the shortest digits that are read back as the same
// number, and of those the nearest (R. Giulietti, "The Schubfach way to render doubles", 2021).
#include "text.h"

enum { WORDS = 16, FIVES = 27 }; // 5^27 is the largest power that fits into 64 bits

struct decimal {
    uint64_t digits;
    int exponent; // base 10
};

static int floor_log10_of_power_of_2(int power) {
    return (int)((int64_t)power * 661971961083 >> 41);
}

static int floor_log10_of_3_quarters_of_power_of_2(int power) {
    return (int)(((int64_t)power * 661971961083 - 274743187321) >> 41);
}

// ---- value * 2^power / 10^tens, truncated; the lowest bit is set if a remainder was dropped

// Numbers of many words, the lowest first, for very large or very small values.
static void words_multiply(uint64_t *words, uint64_t by) {
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        unsigned __int128 product = (unsigned __int128)words[i] * by + carry;
        words[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
}

static bool words_divide(uint64_t *words, int count, uint64_t by) {
    uint64_t rest = 0;
    for (int i = count - 1; i >= 0; i--) {
        unsigned __int128 part = (unsigned __int128)rest << 64 | words[i];
        words[i] = (uint64_t)(part / by);
        rest = (uint64_t)(part % by);
    }
    return rest != 0;
}

static uint64_t power_of_5(int power) {
    uint64_t result = 1;
    for (; power > 0; power--) result *= 5;
    return result;
}

static uint64_t scaled_up(uint64_t value, int tens, int shift) {
    uint64_t words[WORDS] = {value};
    for (; tens > 0; tens -= FIVES) words_multiply(words, power_of_5(tens < FIVES ? tens : FIVES));
    int whole = shift / 64, rest = shift % 64;
    bool cut = rest != 0 && words[whole] << (64 - rest) != 0;
    for (int i = 0; i < whole; i++) cut |= words[i] != 0;
    return words[whole] >> rest | (rest != 0 && whole + 1 < WORDS ? words[whole + 1] << (64 - rest) : 0) | cut;
}

static uint64_t scaled_down(uint64_t value, int tens, int shift) {
    uint64_t words[WORDS] = {0};
    int whole = shift / 64, rest = shift % 64, count = whole + 2;
    bool cut = false;
    words[whole] = value << rest;
    words[whole + 1] = rest == 0 ? 0 : value >> (64 - rest);
    for (; tens > 0; tens -= FIVES) {
        cut |= words_divide(words, count, power_of_5(tens < FIVES ? tens : FIVES));
        while (count > 1 && words[count - 1] == 0) count--;
    }
    return words[0] | cut;
}

static uint64_t scaled(uint64_t value, int power, int tens) {
    int shift = power - tens;
    if (tens > FIVES || shift > 64) return scaled_down(value, tens, shift);
    if (tens < -FIVES) return scaled_up(value, -tens, -shift);
    uint64_t fives = power_of_5(tens < 0 ? -tens : tens);
    if (tens > 0) {
        unsigned __int128 whole = (unsigned __int128)value << shift;
        return (uint64_t)(whole / fives) | (whole % fives != 0);
    }
    unsigned __int128 product = (unsigned __int128)value * fives;
    if (shift >= 0) return (uint64_t)(product << shift);
    return (uint64_t)(product >> -shift) | ((product & (((unsigned __int128)1 << -shift) - 1)) != 0);
}

// Return the shortest decimal of `fraction` * 2^`power`.
static struct decimal shortest(uint64_t fraction, int power) {
    bool regular = fraction != (uint64_t)1 << 52 || power == -1074;
    uint64_t open = fraction & 1, value = fraction * 4; // the interval of an even number includes its ends
    int tens = regular ? floor_log10_of_power_of_2(power) : floor_log10_of_3_quarters_of_power_of_2(power);
    uint64_t lower = scaled(value - (regular ? 2 : 1), power, tens), upper = scaled(value + 2, power, tens);
    uint64_t exact = scaled(value, power, tens), below = exact / 4, tenth = below / 10 * 10;
    if (below >= 10) {
        bool under = lower + open <= tenth * 4, over = (tenth + 10) * 4 + open <= upper;
        if (under != over) return (struct decimal){under ? tenth : tenth + 10, tens};
    }
    bool under = lower + open <= below * 4, over = (below + 1) * 4 + open <= upper;
    if (under != over) return (struct decimal){under ? below : below + 1, tens};
    uint64_t middle = below * 4 + 2;
    bool down = exact < middle || (exact == middle && below % 2 == 0);
    return (struct decimal){down ? below : below + 1, tens};
}

// `9.3E-1`: one digit before the point, at least one after it.
static void text_decimal(struct text *text, struct decimal decimal) {
    char digits[24];
    while (decimal.digits % 10 == 0 && decimal.digits != 0) {
        decimal.digits /= 10;
        decimal.exponent++;
    }
    struct text made = {digits, digits + sizeof digits};
    text_number(&made, decimal.digits);
    size_t count = (size_t)(made.at - digits);
    int exponent = decimal.digits == 0 ? 0 : decimal.exponent + (int)count - 1;
    text_bytes(text, digits, 1);
    TEXT(text, ".");
    text_bytes(text, count > 1 ? digits + 1 : "0", count > 1 ? count - 1 : 1);
    TEXT(text, "E");
    if (exponent < 0) TEXT(text, "-");
    text_number(text, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

void text_real(struct text *text, double value) {
    uint64_t bits, fraction;
    memcpy(&bits, &value, sizeof bits);
    fraction = bits & (((uint64_t)1 << 52) - 1);
    int power = (int)(bits >> 52 & 0x7ff);
    bool negative = bits >> 63;
    if (power == 0x7ff) {
        text_string(text, fraction != 0 ? "\"NaN\"^^xsd:double"
                          : negative    ? "\"-INF\"^^xsd:double"
                                        : "\"INF\"^^xsd:double");
        return;
    }
    if (negative) TEXT(text, "-");
    if (power == 0 && fraction == 0)
        TEXT(text, "0.0E0");
    else if (power == 0)
        text_decimal(text, shortest(fraction, -1074));
    else
        text_decimal(text, shortest(fraction | (uint64_t)1 << 52, power - 1075));
}
