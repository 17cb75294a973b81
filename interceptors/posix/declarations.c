// Data that a program declares through provio.h, except Tasks and settings: configurations, metrics, checkpoints,
// entities that are no files, and inputs and outputs without a visible call.
#include "record.h"

enum { LETTER = 56 };

// The number of each kind; numbers up to `parents` were declared before the last fork.
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

void declarations_after_fork(void) {
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

struct literal literal_cut(const char *bytes, size_t longest) {
    if (bytes == NULL) return (struct literal){NULL, 0};
    size_t size = strnlen(bytes, longest), least = size < longest ? size : size - 3;
    while (size > least && (bytes[size] & 0xc0) == 0x80) size--;
    return (struct literal){bytes, size};
}

struct literal literal_of(const char *bytes) {
    return literal_cut(bytes, LONGEST_NAME);
}

size_t literal_room(struct literal literal) {
    return literal.bytes == NULL ? 0 : name_room(literal.bytes, literal.size);
}

void text_literal(struct text *text, const char *property, const char *encoded, struct literal literal) {
    if (literal.bytes != NULL) text_name(text, property, encoded, literal.bytes, literal.size);
}

void text_integer(struct text *text, int64_t value) {
    if (value < 0) TEXT(text, "-");
    text_number(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

// ---- configurations, checkpoints, entities

struct declaration {
    struct thread *thread;
    struct block block;
    uint64_t scope;
};

// ` <../m1> a :Metric ; :startedNs … ; :name "…" ; :kind "…"`
static bool declaration_begin(struct declaration *declaration, uint64_t handle, const char *term, struct literal name,
                              struct literal kind, size_t room) {
    uint64_t time = now(declaration->thread);
    declaration->scope = scope_of(declaration->thread);
    room += DECLARATION_ROOM + task_room(declaration->scope) + literal_room(name) + literal_room(kind);
    if (!block_begin(declaration->thread, &declaration->block, room)) return false;
    struct text *text = &declaration->block.text;
    TEXT(text, " ");
    text_handle(text, handle);
    TEXT(text, "> a ");
    text_string(text, term);
    TEXT_NUMBER(text, TERM_startedNs, time);
    text_literal(text, TERM_name, TERM_nameEncoded, name);
    text_literal(text, TERM_kind, TERM_kindEncoded, kind);
    return true;
}

static void declaration_end(struct declaration *declaration) {
    text_task(&declaration->block.text, declaration->scope);
    event_end(&declaration->block);
}

uint64_t provio_configuration(const char *name, const char *kind) {
    struct declaration declaration = {.thread = filtered(CLASS_CONFIGURATION) ? NULL : recording_thread()};
    uint64_t handle = declaration.thread == NULL ? 0 : handle_new('g');
    if (handle == 0 ||
        !declaration_begin(&declaration, handle, TERM_Configuration, literal_of(name), literal_of(kind), 0))
        return 0;
    declaration_end(&declaration);
    return handle;
}

void provio_configuration_end(uint64_t configuration) {
    struct thread *thread = configuration >> LETTER == 'g' && handle_is_own(configuration) ? recording_thread() : NULL;
    struct block block;
    if (thread == NULL || !block_begin(thread, &block, DECLARATION_ROOM)) return;
    TEXT(&block.text, " ");
    text_handle(&block.text, configuration);
    TEXT(&block.text, "> " TERM_complete " true");
    event_end(&block);
}

uint64_t provio_entity(const char *name, const char *kind, const char *identifier) {
    struct declaration declaration = {.thread = filtered(CLASS_ENTITY) ? NULL : recording_thread()};
    struct literal known = literal_of(identifier);
    uint64_t handle = declaration.thread == NULL ? 0 : handle_new('e');
    if (handle == 0 || !declaration_begin(&declaration, handle, TERM_DataObject, literal_of(name), literal_of(kind),
                                          literal_room(known)))
        return 0;
    text_literal(&declaration.block.text, TERM_identifier, TERM_identifierEncoded, known);
    declaration_end(&declaration);
    return handle;
}

static void text_step(struct text *text, int64_t step) {
    if (step == PROVIO_NO_STEP) return;
    TEXT(text, " ; " TERM_step " ");
    text_integer(text, step);
}

static uint64_t checkpoint_write(struct thread *thread, const char *path, size_t length, int64_t step) {
    struct declaration declaration = {.thread = thread};
    const struct literal none = {NULL, 0};
    uint64_t handle = handle_new('c');
    if (!declaration_begin(&declaration, handle, TERM_Checkpoint, none, none, 64 + name_room(path, length))) return 0;
    if (length > 0) TEXT_NAME(&declaration.block.text, path, path, length);
    text_step(&declaration.block.text, step);
    declaration_end(&declaration);
    return handle;
}

// Return the absolute path, unless it is not to be recorded; the caller returns the memory to the pool. NULL: none.
static char *path_declared(const char *path, size_t *length) {
    char *room = path == NULL || filtered(CLASS_FILE) ? NULL : pool_take(&scratches);
    *length = room == NULL ? 0 : path_or_address(room, path);
    if (*length > 0 && !path_ignored(room, *length)) return room;
    if (room != NULL) pool_give(&scratches, room);
    return NULL;
}

uint64_t provio_checkpoint(const char *path, int64_t step) {
    struct thread *thread = filtered(CLASS_CHECKPOINT) ? NULL : recording_thread();
    size_t length;
    if (thread == NULL) return 0;
    if (path == NULL) return checkpoint_write(thread, "", 0, step);
    char *absolute = path_declared(path, &length);
    if (absolute == NULL) return 0;
    uint64_t handle = checkpoint_write(thread, absolute, length, step);
    pool_give(&scratches, absolute);
    return handle;
}

// ---- metrics

struct metric {
    uint64_t of;
    bool whole;
    double real;
    int64_t integer, step;
};

static void metric_write(const char *name, const char *kind, const struct metric *metric) {
    struct declaration declaration = {.thread = filtered(CLASS_METRIC) ? NULL : recording_thread()};
    if (declaration.thread == NULL || (metric->of != 0 && !handle_is_own(metric->of))) return;
    struct text *text = &declaration.block.text;
    if (!declaration_begin(&declaration, handle_new('m'), TERM_Metric, literal_of(name), literal_of(kind), 64)) return;
    if (metric->of != 0) text_reference(text, TERM_partOf, metric->of);
    TEXT(text, " ; " TERM_value " ");
    if (metric->whole)
        text_integer(text, metric->integer);
    else
        text_real(text, metric->real);
    text_step(text, metric->step);
    declaration_end(&declaration);
}

void provio_metric(const char *name, const char *kind, double value, int64_t step) {
    metric_write(name, kind, &(struct metric){.real = value, .step = step});
}

void provio_metric_integer(const char *name, const char *kind, int64_t value, int64_t step) {
    metric_write(name, kind, &(struct metric){.whole = true, .integer = value, .step = step});
}

void provio_metric_of(uint64_t checkpoint, const char *name, const char *kind, double value, int64_t step) {
    if (checkpoint != 0) metric_write(name, kind, &(struct metric){.of = checkpoint, .real = value, .step = step});
}

// ---- inputs and outputs

static void event_declared(const char *term, uint64_t entity, const char *path, size_t length) {
    struct thread *thread = recording_thread();
    struct block block;
    struct facts facts = {0};
    if (thread == NULL) return;
    uint64_t time = now(thread), number = next_number(&thread->events), scope = scope_of(thread);
    bool found = length > 0 && statx_facts(AT_FDCWD, path, 0, &facts);
    if (!block_begin(thread, &block, DECLARATION_ROOM + FACTS_ROOM + task_room(scope) + name_room(path, length)))
        return;
    struct text *text = &block.text;
    TEXT(text, " <e");
    text_number(text, number);
    TEXT(text, "> a ");
    text_string(text, term);
    TEXT_NUMBER(text, TERM_at, time - thread->epoch);
    if (entity != 0) text_reference(text, TERM_object, entity);
    if (length > 0) TEXT_NAME(text, path, path, length);
    if (found) text_facts(text, &facts);
    text_task(text, scope);
    event_end(&block);
}

static void entity_or_path(const char *term, uint64_t entity, const char *path) {
    size_t length;
    if (entity != 0 && handle_is_own(entity) && entity >> LETTER != 0) event_declared(term, entity, "", 0);
    char *absolute = recording_thread() == NULL ? NULL : path_declared(path, &length);
    if (absolute == NULL) return;
    event_declared(term, 0, absolute, length);
    pool_give(&scratches, absolute);
}

void provio_used(uint64_t entity, const char *path) {
    entity_or_path(TERM_UsedSaid, entity, path);
}

void provio_generated(uint64_t entity, const char *path) {
    entity_or_path(TERM_GeneratedSaid, entity, path);
}
