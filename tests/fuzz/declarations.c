// Any bytes as names, kinds, keys, values, identifiers and paths in declarations: each statement must fit the requested
// space, and be one line of Turtle. Built with libFuzzer, or with its own main: then the files on the command line are
// the inputs, and the declarations made from each are printed as a document of Turtle. The functions at the top replace
// the rest of the shim: a recorded thread, and blocks of exactly the requested size.
#include "../../interceptors/posix/record.h"

#include <stdlib.h>

#define MUST(condition)                                                                                                \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

enum { TEXTS = 4 };

union process_page page;
struct settings settings;
struct pool scratches;
static struct thread watched;
THREAD_LOCAL struct thread *self = &watched, *lender;
static bool prints;

bool wake(void) {
    return true;
}
struct thread *thread_begin(void) {
    return &watched;
}
uint64_t clock_slow(struct thread *thread) {
    return ++thread->latest;
}
uint64_t scope_of(struct thread *thread) {
    return thread->depth >= 0 ? 0 : 1;
}
bool task_is_own(uint64_t task) {
    return task == 1;
}
void text_task(struct text *text, uint64_t scope) {
    MUST(scope == 0 && text->at < text->end);
}
bool path_ignored(const char *path, size_t length) {
    return strlen(path) != length;
}
bool statx_facts(int dirfd, const char *path, int flags, struct facts *facts) {
    return dirfd != AT_FDCWD || path == NULL || flags != 0 || facts == NULL;
}
void text_facts(struct text *text, const struct facts *facts) {
    MUST(text == NULL && facts == NULL);
}
void *pool_take(struct pool *pool) {
    return pool == &scratches ? malloc(PATH_ROOM) : NULL;
}
void pool_give(struct pool *pool, void *item) {
    MUST(pool == &scratches);
    free(item);
}
size_t path_or_address(char *room, const char *path) {
    strcpy(room, "/base");
    return path_append(room, 5, path);
}

bool block_begin(struct thread *thread, struct block *block, size_t room) {
    char *start = malloc(room);
    MUST(start != NULL);
    *block = (struct block){.text = {start, start + room}, .start = start, .thread = thread};
    return true;
}

// A line without control characters, with closed literals and only Turtle's escapes.
static void must_be_a_line(const char *at, const char *end) {
    for (bool within = false; at < end || (MUST(!within), false); at++) {
        MUST((unsigned char)*at >= ' ');
        if (*at == '"') within = !within;
        if (*at != '\\') continue;
        MUST(within && end - at > 1);
        if (*++at == '"' || *at == '\\') continue;
        MUST(*at == 'u' && end - at > 4 && strspn(at + 1, "0123456789ABCDEF") >= 4);
        at += 4;
    }
}

void event_end(struct block *block) {
    TEXT(&block->text, " .");
    MUST(block->text.at < block->text.end);
    must_be_a_line(block->start, block->text.at);
    if (prints) printf("%.*s\n", (int)(block->text.at - block->start), block->start);
    free(block->start);
}

static void say(char *const texts[TEXTS], int64_t number) {
    double real;
    memcpy(&real, &number, sizeof real);
    uint64_t made = provio_configuration(texts[0], texts[1]);
    provio_setting_text(made, texts[2], texts[3]);
    provio_setting_typed(made, texts[2], texts[3], texts[1]);
    provio_setting_typed(made, texts[2], texts[3], "dateTime");
    provio_setting_integer(made, texts[2], number);
    provio_setting_real(made, texts[2], real);
    provio_setting_truth(made, texts[2], (int)(number & 1));
    provio_configuration_end(made);
    provio_metric(texts[0], texts[1], real, number);
    provio_metric_integer(texts[0], texts[1], number, PROVIO_NO_STEP);
    uint64_t saved = provio_checkpoint(texts[3], number);
    provio_metric_of(saved, texts[0], texts[1], real, number);
    uint64_t thing = provio_entity(texts[0], texts[1], texts[3]);
    provio_used(thing, texts[3]);
    provio_generated(thing, NULL);
}

// Texts separated by NUL; each in a separate allocation, so that a read beyond the end is detected. A missing text is
// NULL.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *texts[TEXTS] = {NULL};
    int64_t number = 0;
    memcpy(&number, data, size < sizeof number ? size : sizeof number);
    const char *at = (const char *)data, *end = at + size;
    for (int i = 0; i < TEXTS && at < end; i++) {
        size_t length = strnlen(at, (size_t)(end - at));
        texts[i] = strndup(at, length);
        at += length + 1;
    }
    say(texts, number);
    for (int i = 0; i < TEXTS; i++) free(texts[i]);
    return 0;
}

#ifndef FUZZER
int main(int count, char **arguments) {
    prints = true;
    printf("@prefix : <https://w3id.org/provio/ns#> .\n@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n");
    for (int i = 1; i < count; i++) {
        static uint8_t content[1 << 16];
        FILE *file = fopen(arguments[i], "rb");
        MUST(file != NULL);
        size_t size = fread(content, 1, sizeof content, file);
        fclose(file);
        printf("@base <http://x/%d/thread/> .\n", i);
        LLVMFuzzerTestOneInput(content, size);
    }
    return 0;
}
#endif
