// The settings from `provio run`, the identity of this process image, the state of its threads, and its end.
#include "rows.h"

extern char **environ;

union process_page page __attribute__((aligned(PAGE)));
EARLY struct settings settings;
THREAD_LOCAL struct thread *self, *lender;
THREAD_LOCAL __typeof__(muted) muted;

static struct pool threads = POOL(struct thread);
// Looked up instead of linked: before glibc 2.34 these functions are in a separate library, which a program without
// threads does not load; such a program needs nothing at the end of a thread.
static EARLY pthread_key_t thread_key;
static EARLY __typeof__(pthread_setspecific) *thread_key_set;

// Decode a field of PROVIO_TRACE, `%XX` undone, into `room`. Returns the position after its NUL; NULL: too long or
// malformed.
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

// Whether the text can be one segment of an IRI, without escapes.
bool is_segment(const char *text) {
    for (const char *at = text; *at != '\0'; at++)
        if (*strchrnul("<>\"{}|^`\\ /", *at) != '\0') return false;
    return *text != '\0';
}

// The number at the start of the text, or after a space.
static uint64_t number_at(const char *space) {
    uint64_t number = 0;
    for (const char *digit = space + (*space == ' '); *digit >= '0' && *digit <= '9'; digit++)
        number = number * 10 + (uint64_t)(*digit - '0');
    return number;
}

static bool settings_read(const char *at) {
    char version[4], words[256], clock[8];
    size_t size = strlen(at) + 1;
    char *room = arena_take(size), *const end = room + size; // exactly that size, so that the start touches few pages
    if (field(&at, version, version + sizeof version) == NULL || strcmp(version, "1") != 0) return false;
    if (field(&at, words, words + sizeof words) == NULL || !options_read(words)) return false;
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
        else if (*room == '=')
            settings.own_job = room + 1;
        else if (*room == '$')
            value_file_add(room + 1);
        else if (*room == '>')
            output_add(room + 1);
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

static void thread_key_take(void) {
    enum { FIRST_KEYS = 32 }; // pthread_setspecific allocates for later keys
    __typeof__(pthread_key_create) *create = real_named("pthread_key_create");
    if (create != NULL && create(&thread_key, thread_end) == 0 && thread_key < FIRST_KEYS)
        thread_key_set = real_named("pthread_setspecific");
}

// The kernel stores the arguments one after the other. A program may permute the array later, but rarely moves the
// strings.
static void remember_arguments(int count, char **arguments) {
    if (count < 1) return;
    settings.arguments = settings.arguments_end = arguments[0];
    for (int i = 0; i < count && arguments[i] == settings.arguments_end; i++)
        settings.arguments_end += strlen(arguments[i]) + 1;
}

// Remove libraries that the launcher put into LD_PRELOAD before the shim for this program only; an empty name (`::`)
// follows them.
static void preload_restore(char *value) {
    const char *shim = strstr(value, "::");
    if (shim == NULL) return;
    for (shim += 2; *shim != '\0'; shim++) *value++ = *shim;
    *value = '\0';
}

static void begin(int count, char **arguments, char **environment) {
    char *preload = NULL;
    const char *ranks[RANK_VARIABLES] = {NULL}, *job[JOB_WORDS] = {NULL};
    resolve_begin();
    settings.environment = environment;
    for (; environment != NULL && *environment != NULL; environment++) {
        char *value = strchrnul(*environment, '=');
        size_t length = (size_t)(value - *environment);
        if (*value == '=' && is_word(*environment, length, "PROVIO_TRACE")) settings.watched = settings_read(value + 1);
        if (*value == '=' && is_word(*environment, length, "LD_PRELOAD")) preload = value + 1;
        if (*value == '=') rank_match(ranks, *environment, length, value + 1);
        if (*value == '=') job_match(job, *environment, length, value + 1);
    }
    if (!settings.watched) return;
    rank_read(ranks);
    job_keep(job);
    if (preload != NULL) preload_restore(preload);
    remember_arguments(count, arguments);
    // On older kernels, only the wrappers of fork do it.
    settings.wipes = RAW(madvise, (long)&page, sizeof page, MADV_WIPEONFORK) == 0;
    thread_key_take();
    atomic_store(&first_descriptors[0], NULL); // the first access to a page: a read first would cause two page faults
    clock_begin();
    process.started = wall_clock();
    python_detect();
    if (settings.output) output_begin();
    if (settings.libraries) loaded_changed();
    atomic_store(&process.alive, (uint32_t)settings.detail + 1);
}

#if defined(__GLIBC__)
__attribute__((constructor)) static void begin_with(int count, char **arguments, char **environment) {
    if (libc_matches()) begin(count, arguments, environment);
}
#else
// musl passes no arguments to constructors: /proc has the address where the kernel stored them.
__attribute__((constructor)) static void begin_alone(void) {
    enum { ARGUMENTS = 48 };
    if (libc_matches()) begin(0, NULL, environ);
    if (!settings.watched) return;
    settings.arguments = (char *)stat_field(0, ARGUMENTS, NULL);
    settings.arguments_end = (char *)stat_field(0, ARGUMENTS + 1, NULL);
}
#endif

// Called if the page, wiped or not written yet, does not mark this process image as recorded: a forked child starts
// recording here.
bool wake(void) {
    if (!settings.watched) return false;
    self = lender = NULL;
    muted = NOT_MUTED;
    process.started = wall_clock();
    process.forked = 1;
    objects_after_fork();
    maps_after_fork();
    tasks_after_fork();
    declarations_after_fork();
    loaded_after_fork();
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
    if (muted != NOT_MUTED) return NULL;
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
    if (thread_key_set != NULL) thread_key_set(thread_key, thread);
    return self = thread;
}

// A field of /proc/<pid>/stat. The name in field 2 may contain any character, so fields are counted from its last `)`.
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

// A child is created between two readings of the clock: if both show the same tick, that is the start of the child.
// Reading /proc takes longer than the rest of the record of a fork; it is read only once, to check that the kernel
// counts the same way, and each time if the kernel does not wipe pages, because such a kernel is old or not really
// Linux.
static THREAD_LOCAL uint64_t tick_before;
static EARLY _Atomic int ticks_agree; // 1: they agree, -1: they differ

void child_begin(void) {
    tick_before = !settings.wipes || relaxed(ticks_agree) < 0 ? 0 : boot_tick();
}

static uint64_t tick_between(void) {
    uint64_t before = tick_before;
    tick_before = 0;
    return before != 0 && boot_tick() == before ? before : 0;
}

uint64_t child_tick(int pid) {
    uint64_t between = tick_between();
    if (between != 0 && relaxed(ticks_agree) > 0) return between;
    uint64_t listed = start_tick(pid, NULL);
    if (between != 0 && listed != 0) atomic_store(&ticks_agree, listed == between ? 1 : -1);
    return listed;
}

// In the child, after wake().
void child_named(void) {
    uint64_t between = tick_between();
    if (relaxed(ticks_agree) > 0) process.known_tick = between;
}

// Return 0, or why the process cannot be identified.
long process_identify(void) {
    if (atomic_load(&process.tick) != 0) return 0;
    uint32_t parent = 0;
    uint64_t tick = process.known_tick;
    if (tick == 0)
        tick = start_tick(0, &parent);
    else
        parent = (uint32_t)RAW(getppid, 0);
    atomic_store(&process.parent, parent);
    atomic_store(&process.pid, (uint32_t)RAW(getpid, 0));
    atomic_store(&process.tick, tick); // stored last, because other threads check it first
    return tick != 0 ? 0 : -EMFILE;    // most likely
}

// ---- the end of the process

// ` <../> :peakMemory 12345678 .`: the largest resident memory of this image. getrusage(2) would include the one
// before.
static void peak_memory_write(struct thread *thread) {
    static const char wanted[] = "\nVmHWM:";
    struct block block;
    char room[2048];
    long fd = RAW(openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC);
    long size = fd < 0 ? 0 : RAW(read, fd, (long)room, sizeof room - 1);
    if (fd >= 0) RAW(close, fd);
    room[size > 0 ? size : 0] = '\0';
    const char *at = strstr(room, wanted);
    if (at == NULL || thread == NULL || !block_begin(thread, &block, 64)) return;
    for (at += sizeof wanted - 1; *at == ' ' || *at == '\t'; at++) continue;
    TEXT(&block.text, " <../> " TERM_peakMemory " ");
    text_number(&block.text, number_at(at) * 1024);
    TEXT(&block.text, " .");
    block_commit(&block);
}

// After this, the C library writes the data that the program left in the buffer of its standard output.
__attribute__((destructor)) static void last_flush(void) {
    if (watching()) put_count(STANDARD_OUTPUT);
    if (settings.output) output_end();
    if (relaxed(libraries_pending)) libraries_look(API_dlopen);
    bool recorded = watching() && relaxed(process.number) != 0;
    if (recorded) loaded_end(thread_self());
    if (recorded && !filtered(CLASS_PROCESS)) peak_memory_write(thread_self());
    lives_write();
}

void provio__exit(int status) {
    lives_write();
    REAL(_exit)(status);
    __builtin_unreachable();
}

void provio__Exit(int status) {
    lives_write();
    REAL(_Exit)(status);
    __builtin_unreachable();
}
