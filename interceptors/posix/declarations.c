// What a program says of itself beside its Tasks (provio.h): settings, metrics, checkpoints, things that are no files,
// and what it used and generated without a call that shows it.
#include "record.h"

enum { LETTER = 56 };

// How many of each there are; what has a number of the parent's was said before the last fork.
struct numbers {
    _Atomic uint64_t last;
    uint64_t parents;
};
static EARLY struct numbers configurations, metrics, checkpoints, entities;

static struct numbers *numbers_of(char letter) {
    switch (letter) {
    case 'g':
        return &configurations;
    case 'm':
        return &metrics;
    case 'c':
        return &checkpoints;
    case 'e':
        return &entities;
    default:
        return NULL;
    }
}

void said_after_fork(void) {
    struct numbers *all[] = {&configurations, &metrics, &checkpoints, &entities};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) all[i]->parents = atomic_load(&all[i]->last);
}

// ---- handles

static uint64_t number_in(uint64_t handle) {
    return handle & (((uint64_t)1 << LETTER) - 1);
}

static uint64_t handle_new(char letter) {
    return (uint64_t)letter << LETTER | (atomic_fetch_add(&numbers_of(letter)->last, 1) + 1);
}

bool handle_is_own(uint64_t handle) {
    struct numbers *numbers = numbers_of((char)(handle >> LETTER));
    if (numbers == NULL) return task_is_own(handle);
    return number_in(handle) > numbers->parents && number_in(handle) <= relaxed(numbers->last);
}

// `<../g3`
void text_handle(struct text *text, uint64_t handle) {
    char start[] = {'<', '.', '.', '/', handle >> LETTER == 0 ? 't' : (char)(handle >> LETTER)};
    text_bytes(text, start, sizeof start);
    text_number(text, number_in(handle));
}

void text_reference(struct text *text, const char *property, uint64_t handle) {
    TEXT(text, " ; ");
    text_string(text, property);
    TEXT(text, " ");
    text_handle(text, handle);
    TEXT(text, ">");
}

// ---- texts

struct words words_cut(const char *bytes, size_t longest) {
    if (bytes == NULL) return (struct words){NULL, 0};
    size_t size = strnlen(bytes, longest), least = size < longest ? size : size - 3;
    while (size > least && (bytes[size] & 0xc0) == 0x80) size--;
    return (struct words){bytes, size};
}

struct words words_of(const char *bytes) {
    return words_cut(bytes, LONGEST_NAME);
}

size_t words_room(struct words words) {
    return words.bytes == NULL ? 0 : name_room(words.bytes, words.size);
}

void text_words(struct text *text, const char *property, const char *encoded, struct words words) {
    if (words.bytes != NULL) text_name(text, property, encoded, words.bytes, words.size);
}

void text_integer(struct text *text, int64_t value) {
    if (value < 0) TEXT(text, "-");
    text_number(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

// ---- things

struct saying {
    struct thread *thread;
    struct block block;
    uint64_t scope;
};

// ` <../m1> a :Metric ; :startedNs … ; :name "…" ; :kind "…"`
static bool thing_begin(struct saying *saying, uint64_t handle, const char *term, struct words name, struct words kind,
                        size_t room) {
    uint64_t time = now(saying->thread);
    saying->scope = scope_of(saying->thread);
    room += SAID_ROOM + task_room(saying->scope) + words_room(name) + words_room(kind);
    if (!block_begin(saying->thread, &saying->block, room)) return false;
    struct text *text = &saying->block.text;
    TEXT(text, " ");
    text_handle(text, handle);
    TEXT(text, "> a ");
    text_string(text, term);
    TEXT_NUMBER(text, TERM_startedNs, time);
    text_words(text, TERM_name, TERM_nameEncoded, name);
    text_words(text, TERM_kind, TERM_kindEncoded, kind);
    return true;
}

static void thing_end(struct saying *saying) {
    text_task(&saying->block.text, saying->scope);
    event_end(&saying->block);
}

uint64_t provio_configuration(const char *name, const char *kind) {
    struct saying saying = {.thread = left_out(CLASS_CONFIGURATION) ? NULL : hearing()};
    uint64_t handle = saying.thread == NULL ? 0 : handle_new('g');
    if (handle == 0 || !thing_begin(&saying, handle, TERM_Configuration, words_of(name), words_of(kind), 0)) return 0;
    thing_end(&saying);
    return handle;
}

void provio_configuration_end(uint64_t configuration) {
    struct thread *thread = configuration >> LETTER == 'g' && handle_is_own(configuration) ? hearing() : NULL;
    struct block block;
    if (thread == NULL || !block_begin(thread, &block, SAID_ROOM)) return;
    TEXT(&block.text, " ");
    text_handle(&block.text, configuration);
    TEXT(&block.text, "> " TERM_complete " true");
    event_end(&block);
}

uint64_t provio_entity(const char *name, const char *kind, const char *identifier) {
    struct saying saying = {.thread = left_out(CLASS_ENTITY) ? NULL : hearing()};
    struct words known = words_of(identifier);
    uint64_t handle = saying.thread == NULL ? 0 : handle_new('e');
    if (handle == 0 ||
        !thing_begin(&saying, handle, TERM_DataObject, words_of(name), words_of(kind), words_room(known)))
        return 0;
    text_words(&saying.block.text, TERM_identifier, TERM_identifierEncoded, known);
    thing_end(&saying);
    return handle;
}

static void text_step(struct text *text, int64_t step) {
    if (step == PROVIO_NO_STEP) return;
    TEXT(text, " ; " TERM_step " ");
    text_integer(text, step);
}

static uint64_t checkpoint_said(struct thread *thread, const char *path, size_t length, int64_t step) {
    struct saying saying = {.thread = thread};
    const struct words none = {NULL, 0};
    uint64_t handle = handle_new('c');
    if (!thing_begin(&saying, handle, TERM_Checkpoint, none, none, 64 + name_room(path, length))) return 0;
    if (length > 0) TEXT_NAME(&saying.block.text, path, path, length);
    text_step(&saying.block.text, step);
    thing_end(&saying);
    return handle;
}

// The whole of a path that may be told, to be given back; NULL: there is none.
static char *path_told(const char *path, size_t *length) {
    char *room = path == NULL || left_out(CLASS_FILE) ? NULL : pool_take(&scratches);
    *length = room == NULL ? 0 : path_or_address(room, path);
    if (*length > 0 && !path_ignored(room, *length)) return room;
    if (room != NULL) pool_give(&scratches, room);
    return NULL;
}

uint64_t provio_checkpoint(const char *path, int64_t step) {
    struct thread *thread = left_out(CLASS_CHECKPOINT) ? NULL : hearing();
    size_t length;
    if (thread == NULL) return 0;
    if (path == NULL) return checkpoint_said(thread, "", 0, step);
    char *told = path_told(path, &length);
    if (told == NULL) return 0;
    uint64_t handle = checkpoint_said(thread, told, length, step);
    pool_give(&scratches, told);
    return handle;
}

// ---- metrics

struct metric {
    uint64_t of;
    bool whole;
    double real;
    int64_t integer, step;
};

static void metric_said(const char *name, const char *kind, const struct metric *metric) {
    struct saying saying = {.thread = left_out(CLASS_METRIC) ? NULL : hearing()};
    if (saying.thread == NULL || (metric->of != 0 && !handle_is_own(metric->of))) return;
    struct text *text = &saying.block.text;
    if (!thing_begin(&saying, handle_new('m'), TERM_Metric, words_of(name), words_of(kind), 64)) return;
    if (metric->of != 0) text_reference(text, TERM_partOf, metric->of);
    TEXT(text, " ; " TERM_value " ");
    if (metric->whole)
        text_integer(text, metric->integer);
    else
        text_real(text, metric->real);
    text_step(text, metric->step);
    thing_end(&saying);
}

void provio_metric(const char *name, const char *kind, double value, int64_t step) {
    metric_said(name, kind, &(struct metric){.real = value, .step = step});
}

void provio_metric_integer(const char *name, const char *kind, int64_t value, int64_t step) {
    metric_said(name, kind, &(struct metric){.whole = true, .integer = value, .step = step});
}

void provio_metric_of(uint64_t checkpoint, const char *name, const char *kind, double value, int64_t step) {
    if (checkpoint != 0) metric_said(name, kind, &(struct metric){.of = checkpoint, .real = value, .step = step});
}

// ---- what was used and generated

static void event_said(const char *term, uint64_t thing, const char *path, size_t length) {
    struct thread *thread = hearing();
    struct block block;
    struct facts facts = {0};
    if (thread == NULL) return;
    uint64_t time = now(thread), number = next_number(&thread->events), scope = scope_of(thread);
    bool found = length > 0 && statx_facts(AT_FDCWD, path, 0, &facts);
    if (!block_begin(thread, &block, SAID_ROOM + FACTS_ROOM + task_room(scope) + name_room(path, length))) return;
    struct text *text = &block.text;
    TEXT(text, " <e");
    text_number(text, number);
    TEXT(text, "> a ");
    text_string(text, term);
    TEXT_NUMBER(text, TERM_at, time - thread->epoch);
    if (thing != 0) text_reference(text, TERM_object, thing);
    if (length > 0) TEXT_NAME(text, path, path, length);
    if (found) text_facts(text, &facts);
    text_task(text, scope);
    event_end(&block);
}

static void thing_or_path(const char *term, uint64_t thing, const char *path) {
    size_t length;
    if (thing != 0 && handle_is_own(thing) && thing >> LETTER != 0) event_said(term, thing, "", 0);
    char *told = hearing() == NULL ? NULL : path_told(path, &length);
    if (told == NULL) return;
    event_said(term, 0, told, length);
    pool_give(&scratches, told);
}

void provio_used(uint64_t thing, const char *path) {
    thing_or_path(TERM_UsedSaid, thing, path);
}

void provio_generated(uint64_t thing, const char *path) {
    thing_or_path(TERM_GeneratedSaid, thing, path);
}
