// Settings of what a program told of (provio.h): a name and a value of a type.
#include "said.h"

static _Atomic uint64_t settings_made;

// ` <../g1/7> a :Setting ; :partOf <../g1> ; :name "…"`
static bool setting_begin(struct block *block, uint64_t of, const char *key, size_t room) {
    struct thread *thread = of != 0 && handle_is_own(of) ? hearing() : NULL;
    struct words name = words_of(key);
    if (thread == NULL || !block_begin(thread, block, SAID_ROOM + words_room(name) + room)) return false;
    TEXT(&block->text, " ");
    text_handle(&block->text, of);
    TEXT(&block->text, "/");
    text_number(&block->text, atomic_fetch_add(&settings_made, 1) + 1);
    TEXT(&block->text, "> a " TERM_Setting);
    text_reference(&block->text, TERM_partOf, of);
    text_words(&block->text, TERM_name, TERM_nameEncoded, name);
    return true;
}

// A secret's name alone is said.
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

// A word of XML Schema, and a value that can be one of its.
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
