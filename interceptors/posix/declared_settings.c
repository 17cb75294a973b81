// Settings that a program declares through provio.h: a name and a typed value. Values of secrets are not written.
#include "record.h"
#include "secret_words.def"

// ---- secrets, recognized by their name as in interceptors/python/secret_words.py

#define WORD(word) word " "
static const char sure_words[] = " " SURE_WORDS(WORD);
static const char other_words[] = " " TEXT_WORDS(WORD);
static const char of_data[] = " " DATA_WORDS(WORD);
static const char keys_of[] = " " KEY_WORDS(WORD);
static const char owners[] = " " OWNER_WORDS(WORD);

enum { LONGEST_WORD = 64 }; // longer words are never secret

struct word {
    unsigned length; // with a space before and after it
    char text[LONGEST_WORD + 4];
};

struct part {
    unsigned literal;
    struct word now, last, before;
    bool sure, other;
};
static const struct part none = {.now = {1, " "}};

// Whether a word ends with `text`, possibly joined with another word.
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
    if (strchr("abcpst", word->text[1]) != NULL) { // first letters of all the words
        part->sure |= strstr(sure_words, word->text) != NULL;
        part->other |= strstr(other_words, word->text) != NULL;
    }
    part->before = part->last;
    part->last = *word;
    part->now = none.now;
    part->literal++;
}

static void word_add(struct word *word, char letter) {
    if (word->length > LONGEST_WORD + 1) return;
    word->text[word->length++] = letter >= 'A' && letter <= 'Z' ? (char)(letter | 32) : letter;
}

static bool is(const struct word *word, const char *text) {
    return strcmp(word->text, text) == 0;
}

static bool is_pass(const struct part *part) {
    if (part->literal == 2) return is(&part->last, " pass ") && strstr(owners, part->before.text) != NULL;
    if (part->literal != 1) return false;
    if (is(&part->last, " pass ")) return true;
    struct word owner = part->last;
    if (owner.length < 6 || strncmp(owner.text + owner.length - 4, "pass ", 5) != 0) return false;
    memcpy(owner.text + owner.length - 4, " ", 2);
    return strstr(owners, owner.text) != NULL;
}

static bool part_hides(const struct part *part, bool number, bool digit) {
    if (is_pass(part)) return !digit;
    bool key = part->literal > 1 && is(&part->last, " key ") && strstr(of_data, part->before.text) == NULL;
    bool keys = part->literal > 1 && is(&part->last, " keys ") && strstr(keys_of, part->before.text) != NULL;
    return part->sure || (!number && (part->other || key || keys));
}

// Whether the value of a setting must be hidden. `digit`: it is a single digit.
static bool key_hides(const char *key, bool number, bool digit) {
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

// ---- settings

static _Atomic uint64_t settings_made;

// ` <../g1/7> a :Setting ; :partOf <../g1> ; :name "…"`
static bool setting_begin(struct block *block, uint64_t of, const char *key, size_t room) {
    struct thread *thread = of != 0 && handle_is_own(of) ? recording_thread() : NULL;
    struct literal name = literal_of(key);
    if (thread == NULL || !block_begin(thread, block, DECLARATION_ROOM + literal_room(name) + room)) return false;
    TEXT(&block->text, " ");
    text_handle(&block->text, of);
    TEXT(&block->text, "/");
    text_number(&block->text, atomic_fetch_add(&settings_made, 1) + 1);
    TEXT(&block->text, "> a " TERM_Setting);
    text_reference(&block->text, TERM_partOf, of);
    text_literal(&block->text, TERM_name, TERM_nameEncoded, name);
    return true;
}

// Only the name of a secret is recorded.
static void setting_hidden(uint64_t of, const char *key) {
    struct block block;
    if (!setting_begin(&block, of, key, 64)) return;
    TEXT(&block.text, " ; " TERM_value " \"REDACTED\"");
    event_end(&block);
}

static bool text_hides(const char *key, const char *value) {
    if (value == NULL || *value == '\0') return false;
    return key_hides(key, false, *value >= '0' && *value <= '9' && value[1] == '\0');
}

void provio_setting_text(uint64_t of, const char *key, const char *value) {
    struct block block;
    if (text_hides(key, value)) {
        setting_hidden(of, key);
        return;
    }
    size_t size = value == NULL ? 0 : strlen(value);
    bool kept = value != NULL && size <= LONGEST_VALUE;
    if (!setting_begin(&block, of, key, kept ? name_room(value, size) : 32)) return;
    if (kept)
        TEXT_NAME(&block.text, value, value, size);
    else if (value != NULL)
        TEXT_NUMBER(&block.text, TERM_size, size);
    event_end(&block);
}

void provio_setting_integer(uint64_t of, const char *key, int64_t value) {
    struct block block;
    if (key_hides(key, true, value >= 0 && value <= 9)) {
        setting_hidden(of, key);
        return;
    }
    if (!setting_begin(&block, of, key, 0)) return;
    TEXT(&block.text, " ; " TERM_value " ");
    text_integer(&block.text, value);
    event_end(&block);
}

void provio_setting_real(uint64_t of, const char *key, double value) {
    struct block block;
    if (key_hides(key, true, false)) {
        setting_hidden(of, key);
        return;
    }
    if (!setting_begin(&block, of, key, 0)) return;
    TEXT(&block.text, " ; " TERM_value " ");
    text_real(&block.text, value);
    event_end(&block);
}

void provio_setting_truth(uint64_t of, const char *key, int value) {
    struct block block;
    if (!setting_begin(&block, of, key, 0)) return;
    text_string(&block.text, value ? " ; " TERM_value " true" : " ; " TERM_value " false");
    event_end(&block);
}

// Whether `type` is a type name of XML Schema and `value` may be its literal.
static bool is_typed(const char *value, const char *type) {
    size_t letters = type == NULL ? 0 : strspn(type, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (letters == 0 || letters > 32 || type[letters] != '\0' || value == NULL) return false;
    size_t size = strnlen(value, LONGEST_VALUE + 1);
    return size <= LONGEST_VALUE && text_plain(value, size);
}

void provio_setting_typed(uint64_t of, const char *key, const char *value, const char *type) {
    struct block block;
    if (text_hides(key, value) || !is_typed(value, type)) {
        provio_setting_text(of, key, value);
        return;
    }
    if (!setting_begin(&block, of, key, 64 + name_room(value, strlen(value)))) return;
    TEXT_NAME(&block.text, value, value, strlen(value));
    TEXT(&block.text, "^^xsd:");
    text_string(&block.text, type);
    event_end(&block);
}
