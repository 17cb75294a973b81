// What is a secret by its name, so that its value is never written. interceptors/python/secret_words.py goes by the
// same words.
#include "said.h"

static const char sure_words[] = " secret secrets password passwords passwd pwd passphrase passphrases credential "
                                 "credentials apikey apikeys ";
static const char other_words[] = " token auth authorization bearer cookie ";
static const char of_data[] =
    " column dict feature foreign group hash index join lookup map order partition primary row sort ";
static const char keys_of[] = " access api private secret ssh ";
static const char owners[] = " admin cert db database ftp http key login proxy root smtp user ";

enum { LONGEST_WORD = 64 }; // a longer one is none of these

struct word {
    unsigned length; // with a space before and behind it
    char text[LONGEST_WORD + 4];
};

struct part {
    unsigned words;
    struct word now, last, before;
    bool sure, other;
};
static const struct part none = {.now = {1, " "}};

// Whether a word ends so, perhaps joined with another.
static bool ends_in(const struct word *word, const char *text) {
    size_t length = strlen(text);
    return word->length > length && word->length <= LONGEST_WORD + 1 &&
           memcmp(word->text + word->length - length, text, length) == 0;
}

static void word_end(struct part *part) {
    struct word *word = &part->now;
    if (word->length < 2) return;
    part->sure |= ends_in(word, "password") || ends_in(word, "passwd") || ends_in(word, "secret");
    part->other |= ends_in(word, "token");
    word->text[word->length] = ' ';
    word->text[word->length + 1] = '\0';
    if (strchr("abcpst", word->text[1]) != NULL) { // as all of them begin
        part->sure |= strstr(sure_words, word->text) != NULL;
        part->other |= strstr(other_words, word->text) != NULL;
    }
    part->before = part->last;
    part->last = *word;
    part->now = none.now;
    part->words++;
}

static void word_add(struct word *word, char letter) {
    if (word->length > LONGEST_WORD + 1) return;
    word->text[word->length++] = letter >= 'A' && letter <= 'Z' ? (char)(letter | 32) : letter;
}

static bool is(const struct word *word, const char *text) {
    return strcmp(word->text, text) == 0;
}

static bool is_pass(const struct part *part) {
    if (part->words == 2) return is(&part->last, " pass ") && strstr(owners, part->before.text) != NULL;
    if (part->words != 1) return false;
    if (is(&part->last, " pass ")) return true;
    struct word owner = part->last;
    if (owner.length < 6 || strncmp(owner.text + owner.length - 4, "pass ", 5) != 0) return false;
    memcpy(owner.text + owner.length - 4, " ", 2);
    return strstr(owners, owner.text) != NULL;
}

static bool part_hides(const struct part *part, bool number, bool digit) {
    if (is_pass(part)) return !digit;
    bool key = part->words > 1 && is(&part->last, " key ") && strstr(of_data, part->before.text) == NULL;
    bool keys = part->words > 1 && is(&part->last, " keys ") && strstr(keys_of, part->before.text) != NULL;
    return part->sure || (!number && (part->other || key || keys));
}

// Whether the value of a setting is to be kept out; `digit`: it is one digit.
bool key_hides(const char *key, bool number, bool digit) {
    if (key == NULL) return false;
    struct part part = none;
    bool escaped = false;
    for (char before = '\0';; before = *key++) {
        bool joins = *key == '\0' || (*key == '.' && !escaped);
        bool ends = joins || strchr("-_.\\ ", *key) != NULL;
        escaped = *key == '\\' && !escaped;
        if (ends || (before >= 'a' && before <= 'z' && *key >= 'A' && *key <= 'Z')) word_end(&part);
        if (joins && part_hides(&part, number, digit)) return true;
        if (*key == '\0') return false;
        if (joins) part = none;
        if (!ends) word_add(&part.now, *key);
    }
}
