// What the supervisor set, this image's identity, and the state of its threads.
#include "shim.h"

#include <sys/mman.h>

extern char **environ;

union process_page page __attribute__((aligned(PAGE)));
EARLY struct settings settings;
THREAD_LOCAL struct thread *self, *lender;
THREAD_LOCAL __typeof__(muted) muted;

static struct pool threads = POOL(struct thread);
static pthread_key_t thread_key;
static bool thread_key_made;

// One field of PROVIO_TRACE, `%XX` undone, into the room. NULL: too long or malformed; else behind its NUL.
static char *field(const char **at, char *room, const char *end) {
    for (; **at != '\0' && **at != ';'; (*at)++) {
        unsigned value;
        char byte = **at;
        if (byte == '%') {
            char pair[3] = {(*at)[1], (*at)[1] ? (*at)[2] : '\0', '\0'};
            value = 0;
            for (int i = 0; i < 2; i++) {
                char digit = pair[i];
                int worth = digit >= '0' && digit <= '9'                 ? digit - '0'
                            : (digit | 32) >= 'a' && (digit | 32) <= 'f' ? (digit | 32) - 'a' + 10
                                                                         : -1;
                if (worth < 0) return NULL;
                value = value * 16 + (unsigned)worth;
            }
            byte = (char)value;
            *at += 2;
        }
        if (room + 1 >= end) return NULL;
        *room++ = byte;
    }
    *room++ = '\0';
    if (**at == ';') (*at)++;
    return room;
}

static bool is_word(const char *word, size_t length, const char *known) {
    return length == strlen(known) && memcmp(word, known, length) == 0;
}

// What can stand in an IRI as it is, as one segment of it.
static bool is_segment(const char *text) {
    for (const char *at = text; *at != '\0'; at++)
        if (*strchrnul("<>\"{}|^`\\ /", *at) != '\0') return false;
    return *text != '\0';
}

// The number at the start, or behind a space.
static uint64_t number_at(const char *space) {
    uint64_t number = 0;
    for (const char *digit = space + (*space == ' '); *digit >= '0' && *digit <= '9'; digit++)
        number = number * 10 + (uint64_t)(*digit - '0');
    return number;
}

static bool settings_read(const char *at) {
    char version[4], words[256], clock[8];
    size_t size = strlen(at) + 1;
    char *room = arena_take(size), *const end = room + size; // no larger: what starts should touch few pages
    if (field(&at, version, version + sizeof version) == NULL || strcmp(version, "1") != 0) return false;
    if (field(&at, words, words + sizeof words) == NULL || !words_read(words)) return false;
    if (field(&at, clock, clock + sizeof clock) == NULL) return false;
    const char **const names[] = {&settings.run, &settings.host, &settings.home, &settings.folder};
    for (int i = 0; i < 4; i++) {
        *names[i] = room;
        if (room == NULL || (room = field(&at, room, end)) == NULL) return false;
    }
    for (char *limit; *at != '\0'; room = limit) {
        if ((limit = field(&at, room, end)) == NULL) return false;
        if (*room == '@')
            settings.mounts = number_at(room + 1);
        else if (!limit_add(room, (size_t)(limit - room) - 1))
            return false;
    }
    settings.home_length = strlen(settings.home);
    settings.folder_length = strlen(settings.folder);
    settings.time_stamp_counter = strcmp(clock, "tsc") == 0;
    if (strlen(settings.run) > 255 || strlen(settings.host) > 255) return false;
    if (settings.home_length >= PATH_MAX || settings.folder_length >= PATH_MAX) return false;
    return settings.home[0] == '/' && settings.folder[0] == '/' && is_segment(settings.run) &&
           is_segment(settings.host);
}

static uint64_t stat_field(int pid, int wanted, uint32_t *parent);

static void thread_end(void *state) {
    struct thread *thread = state;
    if (thread != self) return;
    self = NULL;
    if (thread->depth != 0) return;
    access_forget(thread);
    for (int i = 0; i < IDLE; i++) {
        struct thread *none = NULL;
        if (atomic_compare_exchange_strong(&process.idle[i], &none, thread)) return;
    }
}

// The kernel lays the arguments out one behind the other; later the array may be permuted, the strings hardly ever are.
static void remember_arguments(int count, char **arguments) {
    if (count < 1) return;
    settings.arguments = settings.arguments_end = arguments[0];
    for (int i = 0; i < count && arguments[i] == settings.arguments_end; i++)
        settings.arguments_end += strlen(arguments[i]) + 1;
}

// What the launcher put before the shim for this very program, and an empty name as its sign, is not for its children.
static void preload_restore(char *value) {
    const char *shim = strstr(value, "::");
    if (shim == NULL) return;
    for (shim += 2; *shim != '\0'; shim++) *value++ = *shim;
    *value = '\0';
}

// Who starts the processes of a parallel program numbers them in their environment: as provio/ranks.py has them.
#define RANK_NAMES(name)                                                                                               \
    name("OMPI_COMM_WORLD_RANK") name("PMIX_RANK") name("PMI_RANK") name("PALS_RANKID") name("FLUX_TASK_RANK")         \
        name("SLURM_PROCID") name("SLURM_STEP_NUM_TASKS")
#define AS_TEXT(name) name,
#define AS_LENGTH(name) sizeof(name) - 1,
static const char rank_names[][24] = {RANK_NAMES(AS_TEXT)};
static const unsigned char rank_lengths[] = {RANK_NAMES(AS_LENGTH)};
enum { RANKS = sizeof rank_lengths, ALONE = RANKS - 2 };

// Of every variable of every process that starts: so what tells most of them apart comes first.
static void rank_look(const char *values[RANKS], const char *name, size_t length, const char *value) {
    if (*name != 'O' && *name != 'P' && *name != 'S' && *name != 'F') return;
    for (int i = 0; i < RANKS; i++)
        if (length == rank_lengths[i] && memcmp(name, rank_names[i], length) == 0) values[i] = value;
}

static bool rank_number(const char *value, uint32_t *number) {
    size_t digits = value == NULL ? 0 : strspn(value, "0123456789");
    if (digits == 0 || digits > 9 || value[digits] != '\0') return false;
    *number = 0;
    for (size_t at = 0; at < digits; at++) *number = *number * 10 + (uint32_t)(value[at] - '0');
    return true;
}

// Slurm numbers the one process of a job that is none as well, and the daemons of others that start ranks. Where the
// others do not agree, nobody is believed.
static void rank_read(const char *values[RANKS]) {
    const char *tasks = values[RANKS - 1];
    uint32_t number;
    if (tasks == NULL || strcmp(tasks, "1") == 0) values[ALONE] = NULL;
    for (int i = 0; i <= ALONE; i++) {
        if ((i == ALONE && settings.ranked) || !rank_number(values[i], &number)) continue;
        bool agrees = !settings.ranked || number == settings.rank;
        settings.ranked = agrees;
        settings.rank = number;
        if (!agrees) return;
    }
}

static void begin(int count, char **arguments, char **environment) {
    char *preload = NULL;
    const char *ranks[RANKS] = {NULL};
    resolve_begin();
    for (; environment != NULL && *environment != NULL; environment++) {
        char *value = strchrnul(*environment, '=');
        size_t length = (size_t)(value - *environment);
        if (*value == '=' && is_word(*environment, length, "PROVIO_TRACE")) settings.watched = settings_read(value + 1);
        if (*value == '=' && is_word(*environment, length, "LD_PRELOAD")) preload = value + 1;
        if (*value == '=') rank_look(ranks, *environment, length, value + 1);
    }
    if (!settings.watched) return;
    rank_read(ranks);
    if (preload != NULL) preload_restore(preload);
    remember_arguments(count, arguments);
    RAW(madvise, (long)&page, sizeof page, MADV_WIPEONFORK); // on an older kernel the wrappers of fork do it alone
    // A key beyond the first 32 would make pthread_setspecific allocate.
    thread_key_made = pthread_key_create(&thread_key, thread_end) == 0 && thread_key < 32;
    process.started = wall_clock();
    python_look();
    atomic_store(&process.alive, (uint32_t)settings.detail + 1);
}

#if defined(__GLIBC__)
__attribute__((constructor)) static void begin_with(int count, char **arguments, char **environment) {
    if (at_home()) begin(count, arguments, environment);
}
#else
// musl hands its constructors nothing: /proc says where the kernel laid the arguments out.
__attribute__((constructor)) static void begin_alone(void) {
    enum { ARGUMENTS = 48 };
    if (at_home()) begin(0, NULL, environ);
    if (!settings.watched) return;
    settings.arguments = (char *)stat_field(0, ARGUMENTS, NULL);
    settings.arguments_end = (char *)stat_field(0, ARGUMENTS + 1, NULL);
}
#endif

// Called where the wiped or not yet written page says that this image is not watched: a forked child wakes here.
bool wake(void) {
    if (!settings.watched) return false;
    self = lender = NULL;
    muted = HEARD;
    process.started = wall_clock();
    process.forked = 1;
    objects_after_fork();
    maps_after_fork();
    tasks_after_fork();
    said_after_fork();
    atomic_store(&process.alive, (uint32_t)settings.detail + 1);
    return true;
}

static struct thread *thread_idle(void) {
    for (int i = 0; i < IDLE; i++)
        if (relaxed(process.idle[i]) != NULL) {
            struct thread *thread = atomic_exchange(&process.idle[i], NULL);
            if (thread != NULL) return thread;
        }
    return NULL;
}

struct thread *thread_begin(void) {
    if (lender != NULL) return lender;
    if (muted != HEARD) return NULL;
    struct thread *thread = thread_idle();
    if (thread == NULL) {
        thread = pool_take(&threads);
        if (thread == NULL) return NULL;
        memset(thread, 0, sizeof *thread);
        scopes_begin(thread, true);
    } else {
        scopes_begin(thread, false);
    }
    thread->ordinal = -1;
    thread->tid = (int)RAW(gettid, 0);
    thread->accesses = thread->events = thread->failures = thread->latest = 0;
    thread->anchor = NULL;
    memset(thread->predicted, -1, sizeof thread->predicted);
    thread->epoch = clock_slow(thread) - 1; // so that no time is 0, which means never
    if (thread_key_made) pthread_setspecific(thread_key, thread);
    return self = thread;
}

// A field of /proc/<pid>/stat; the name in field 2 may hold anything, so fields are counted from its last `)`.
static uint64_t stat_field(int pid, int wanted, uint32_t *parent) {
    char name[32], stat[768];
    struct text text = {name, name + sizeof name - 1};
    TEXT(&text, "/proc/");
    if (pid == 0)
        TEXT(&text, "self");
    else
        text_number(&text, (uint64_t)pid);
    TEXT(&text, "/stat");
    *text.at = '\0';
    long fd = RAW(openat, AT_FDCWD, (long)name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    long size = RAW(read, fd, (long)stat, sizeof stat - 1);
    RAW(close, fd);
    if (size <= 0) return 0;
    stat[size] = '\0';
    const char *at = stat + size;
    while (at > stat && *at != ')') at--;
    for (int number = 2; number < wanted && *at != '\0'; number++) {
        at = strchrnul(at + 1, ' ');
        if (number == 3 && parent != NULL) *parent = (uint32_t)number_at(at);
    }
    return number_at(at);
}

uint64_t start_tick(int pid, uint32_t *parent) {
    enum { START = 22 };
    return stat_field(pid, START, parent);
}

// 0, or why the process cannot be named.
long process_identify(void) {
    if (atomic_load(&process.tick) != 0) return 0;
    uint32_t parent = 0;
    uint64_t tick = start_tick(0, &parent);
    atomic_store(&process.parent, parent);
    atomic_store(&process.pid, (uint32_t)RAW(getpid, 0));
    atomic_store(&process.tick, tick); // the last: other threads look at it first
    return tick != 0 ? 0 : -EMFILE;    // most likely
}
