// The rank of this process in a parallel program: launchers number ranks in environment variables.
#include "launchers.def"
#include "process.h"

#define RANK(launcher, rank, size) rank,
#define RANK_LENGTH(launcher, rank, size) sizeof(rank) - 1,
#define SIZE(launcher, rank, size) size,
#define SIZE_LENGTH(launcher, rank, size) sizeof(size) - 1,
#define TITLE(launcher, rank, size) launcher,
#define NAME(text) text,
#define LENGTH(text) sizeof(text) - 1,
#define ONE(text) +1
static const char names[][24] = {LAUNCHERS(RANK) LAUNCHERS(SIZE) BATCHES(NAME) STEPS(NAME)};
static const unsigned char lengths[] = {LAUNCHERS(RANK_LENGTH) LAUNCHERS(SIZE_LENGTH) BATCHES(LENGTH) STEPS(LENGTH)};
static const char *const launchers[] = {LAUNCHERS(TITLE)};
enum {
    RANKS = sizeof launchers / sizeof *launchers,
    ALONE = RANKS - 1,
    BATCH = 2 * RANKS,
    STEP = BATCH + BATCHES(ONE)
};
_Static_assert(sizeof lengths == RANK_VARIABLES, "a value for each name");

// Called for every variable of every starting process: the most selective test is first.
void rank_match(const char **values, const char *name, size_t length, const char *value) {
    if (*name != 'O' && *name != 'P' && *name != 'S' && *name != 'F' && *name != 'L') return;
    for (size_t i = 0; i < RANK_VARIABLES; i++)
        if (length == lengths[i] && memcmp(name, names[i], length) == 0) values[i] = value;
}

static bool rank_number(const char *value, uint32_t *number) {
    size_t digits = value == NULL ? 0 : strspn(value, "0123456789");
    if (digits == 0 || digits > 9 || value[digits] != '\0') return false;
    *number = 0;
    for (size_t at = 0; at < digits; at++) *number = *number * 10 + (uint32_t)(value[at] - '0');
    return true;
}

// Append the characters that can be written without escapes, up to the available space.
static size_t name_add(size_t at, const char *value) {
    for (; *value != '\0' && at < sizeof settings.program - 1; value++) {
        bool plain = (*value >= '0' && *value <= '9') || ((*value | 32) >= 'a' && (*value | 32) <= 'z') ||
                     strchr("-._@:", *value) != NULL;
        settings.program[at++] = plain ? *value : '_';
    }
    return at;
}

static void program_read(const char **values) {
    const char *job = NULL, *step = NULL;
    for (int i = STEP; i-- > BATCH;)
        if (values[i] != NULL && *values[i] != '\0') job = values[i];
    for (int i = RANK_VARIABLES; i-- > STEP;)
        if (values[i] != NULL && *values[i] != '\0') step = values[i];
    if (step == NULL) return;
    size_t at = 0;
    if (job != NULL) at = name_add(name_add(at, job), ".");
    name_add(at, step);
}

// Slurm also numbers the single process of a job that is no parallel program, and the daemons of other launchers. If
// the other variables disagree, none is used.
void rank_read(const char **values) {
    const char *tasks = values[RANKS + ALONE];
    uint32_t number;
    if (tasks == NULL || strcmp(tasks, "1") == 0) values[ALONE] = NULL;
    int first = 0;
    for (int i = 0; i <= ALONE; i++) {
        if ((i == ALONE && settings.ranked) || !rank_number(values[i], &number)) continue;
        bool agrees = !settings.ranked || number == settings.rank;
        if (!settings.ranked) {
            settings.launcher = launchers[i];
            first = i;
            if (!rank_number(values[RANKS + i], &settings.world_size)) settings.world_size = 0;
        }
        settings.ranked = agrees;
        settings.rank = number;
        if (!agrees) {
            settings.conflicting[0] = names[first], settings.conflicting[1] = names[i];
            return;
        }
    }
    if (settings.ranked) program_read(values);
}

size_t rank_room(void) {
    return settings.ranked || settings.conflicting[0] != NULL ? 160 + sizeof settings.program : 0;
}

// Written by each process concerned; merge reports it once.
void text_conflicting_ranks(struct text *text) {
    if (settings.conflicting[0] == NULL || filtered(CLASS_RANK)) return;
    TEXT(text, " <ranks> a " TERM_Gap " ; " TERM_reason " \"");
    text_string(text, settings.conflicting[0]);
    TEXT(text, " and ");
    text_string(text, settings.conflicting[1]);
    TEXT(text, " contradict each other, so that ranks are unknown: unset the variables left by another launcher\" ; ");
    TEXT(text, TERM_about " <../> .");
}

void text_rank(struct text *text) {
    if (!settings.ranked || filtered(CLASS_RANK)) return;
    TEXT_NUMBER(text, TERM_rank, settings.rank);
    if (settings.world_size != 0) TEXT_NUMBER(text, TERM_worldSize, settings.world_size);
    TEXT(text, " ; " TERM_launcher " \"");
    text_string(text, settings.launcher);
    TEXT(text, "\"");
    if (settings.program[0] == '\0') return;
    TEXT(text, " ; " TERM_parallelProgram " \"");
    text_string(text, settings.program);
    TEXT(text, "\"");
}
