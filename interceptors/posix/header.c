// The first block of a live file: its base and thread; in the first file of a process image also the process, its
// program, working directory and mounts.
#include "object.h"

// ---- mounts, if the process is in another mount namespace than `provio run`, as in a container

// The process's path names have a meaning outside only together with these mounts. Each mount table is written once, to
// a file next to the thread files. A table that could not be read or written is named nevertheless, so that merge knows
// that it is missing.

static struct mounts {
    uint64_t space, hash; // mount namespace and hash of its mount table; 0: unknown
    bool other;           // not the namespace of `provio run`
} own_mounts;             // of this process, once its header is written
enum { MOUNTS_ROOM = 64 };

enum { LARGEST_TABLE = 1 << 20 };

// The start of the IRI of anything on this host.
void text_host(struct text *text) {
    TEXT(text, "<https://w3id.org/provio/run/");
    text_string(text, settings.run);
    TEXT(text, "/");
    text_string(text, settings.host);
    TEXT(text, "/");
}

static size_t table_read(char *room) {
    long fd = RAW(openat, AT_FDCWD, (long)"/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    size_t size = 0;
    long part;
    while (size < LARGEST_TABLE && (part = RAW(read, fd, (long)(room + size), (long)(LARGEST_TABLE - size))) > 0)
        size += (size_t)part;
    RAW(close, fd);
    return size < LARGEST_TABLE ? size : 0;
}

static void text_table_name(struct text *text, const struct mounts *mounts) {
    text_number(text, mounts->space);
    TEXT(text, ".");
    text_number(text, mounts->hash);
}

void text_mounts(struct text *text) {
    if (!own_mounts.other) return;
    TEXT(text, " ; " TERM_mounts " \"");
    text_table_name(text, &own_mounts);
    TEXT(text, "\"");
}

static void text_table(struct text *text, const struct mounts *mounts, const char *table, size_t size) {
    TEXT(text, "@prefix : <https://w3id.org/provio/ns#> .\n");
    text_host(text);
    TEXT(text, "mounts/");
    text_table_name(text, mounts);
    TEXT(text, "> a " TERM_MountTable);
    TEXT_NAME(text, table, table, size);
    TEXT(text, " .\n");
}

static void table_keep(const struct mounts *mounts, const char *table, size_t size) {
    char key[MOUNTS_ROOM];
    struct text name = {key, key + sizeof key - 1};
    text_table_name(&name, mounts);
    *name.at = '\0';
    struct side_file file;
    size_t room = 512 + strlen(settings.run) + strlen(settings.host) + name_room(table, size);
    if (!side_file_begin(&file, "/0.mounts.", key, room)) return;
    text_table(&file.text, mounts, table, size);
    side_file_end(&file);
}

static void mounts_look(struct mounts *mounts) {
    struct facts facts;
    *mounts = (struct mounts){0};
    if (settings.mounts == 0) return;
    if (!statx_facts(AT_FDCWD, "/proc/self/ns/mnt", 0, &facts)) facts.inode = 0; // no /proc: assume another namespace
    if (likely(facts.inode == settings.mounts)) return;
    *mounts = (struct mounts){facts.inode, 0, true};
    long start = memory_map(LARGEST_TABLE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start < 0 && start > -PAGE) return;
    size_t size = table_read((char *)start);
    if (size > 0) {
        mounts->hash = hash_add(HASH_START, (char *)start, size);
        table_keep(mounts, (char *)start, size);
    }
    memory_unmap((void *)start, LARGEST_TABLE);
}

// ---- the first block

void text_base(struct text *text, uint32_t pid, uint64_t tick, int64_t number, int ordinal) {
    TEXT(text, " @base ");
    text_host(text);
    text_number(text, pid);
    TEXT(text, ".");
    text_number(text, tick);
    TEXT(text, ".");
    if (number < 0)
        TEXT(text, "v");
    else
        text_number(text, (uint64_t)number);
    TEXT(text, "/");
    text_number(text, (uint64_t)ordinal);
    TEXT(text, "/> .");
}

void text_thread(struct text *text, int tid, uint64_t epoch) {
    if (filtered(CLASS_THREAD)) {
        TEXT(text, " <> " TERM_epochNs " ");
        text_number(text, epoch);
    } else {
        TEXT(text, " <> a " TERM_Thread);
        TEXT_NUMBER(text, TERM_tid, (uint64_t)tid);
        TEXT_NUMBER(text, TERM_epochNs, epoch);
        if (!filtered(CLASS_PROGRAM)) TEXT(text, " ; prov:actedOnBehalfOf <../program>");
    }
    TEXT(text, " .");
}

static size_t arguments_room(void) {
    size_t room = 0;
    for (const char *at = settings.arguments; at < settings.arguments_end; at += strlen(at) + 1)
        room += argument_room(at) + 1;
    return room;
}

static void text_word(struct text *text, const char *property, const char *word) {
    if (*word == '\0') return;
    text_string(text, property);
    text_string(text, word);
    TEXT(text, "\"");
}

void text_process(struct text *text, const char *image, uint32_t pid, uint64_t tick, uint32_t parent,
                  uint64_t started) {
    bool described = !filtered(CLASS_PROCESS); // otherwise only the properties that link it to other records
    TEXT(text, " <../> ");
    if (described) {
        TEXT(text, "a " TERM_Process);
        TEXT_NUMBER(text, TERM_pid, pid);
        TEXT_NUMBER(text, TERM_startTick, tick);
        TEXT(text, " ; ");
    }
    TEXT(text, TERM_parentPid " ");
    text_number(text, parent);
    if (described) text_name(text, TERM_host, TERM_host, settings.host, strlen(settings.host));
    TEXT(text, " ; " TERM_image " \"");
    text_string(text, image);
    TEXT(text, "\"");
    TEXT_NUMBER(text, TERM_startedNs, started);
    text_rank(text);
    if (!described) return;
    text_word(text, " ; " TERM_jobId " \"", settings.job[JOB]);
    text_word(text, " ; " TERM_jobArrayIndex " \"", settings.job[JOB_INDEX]);
    TEXT(text, " ; " TERM_argv " \"");
    for (const char *at = settings.arguments; at < settings.arguments_end; at += strlen(at) + 1) {
        if (at != settings.arguments) TEXT(text, " ");
        text_argument(text, at);
    }
    TEXT(text, "\"");
}

// The file of the program, even if its name now leads to another file. A forked process has it from its parent.
static EARLY struct program {
    const char *_Atomic path; // NULL: not read yet
    size_t length;
    struct facts facts; // mode 0: unknown
} program;

static void program_look(char *room, size_t most) {
    static const char deleted[] = " (deleted)"; // appended by /proc
    size_t tail = sizeof deleted - 1;
    if (atomic_load(&program.path) != NULL) return;
    long size = RAW(readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)room, (long)most);
    size_t length = size > 0 ? (size_t)size : 0;
    char *path = arena_take(length + 1);
    if (path == NULL) return;
    if (length == 0 || !statx_facts(AT_FDCWD, "/proc/self/exe", 0, &program.facts)) program.facts.mode = 0;
    if (program.facts.mode != 0 && program.facts.links == 0 && length > tail &&
        memcmp(room + length - tail, deleted, tail) == 0)
        length -= tail;
    memcpy(path, room, length);
    program.length = length;
    atomic_store(&program.path, path);
}

void text_place(struct text *text, bool own, const char *cwd, size_t cwd_size) {
    if (own && program.length > 0 && !filtered(CLASS_PROGRAM)) {
        TEXT_NAME(text, executable, program.path, program.length);
        if (program.facts.mode != 0 && !filtered(CLASS_FILE)) text_facts(text, &program.facts);
    }
    if (cwd_size > 0 && !filtered(CLASS_PROCESS)) TEXT_NAME(text, cwd, cwd, cwd_size);
    if (own) text_mounts(text);
    TEXT(text, " .");
}

size_t base_room(void) {
    return strlen(settings.run) + strlen(settings.host) + 128;
}

size_t process_room(void) {
    return 416 + rank_room() + 2 * sizeof settings.job[0] + 64 + FACTS_ROOM + MOUNTS_ROOM +
           name_room(settings.host, strlen(settings.host)) + arguments_room();
}

static void header_write(struct live *live, struct thread *thread, const char *cwd, size_t cwd_size, size_t room) {
    struct block block;
    if (!reserve(thread, live, &block, room)) return;
    TEXT(&block.text, PREFIXES);
    text_base(&block.text, process.pid, process.tick, relaxed(process.number) - 1, (int)live->ordinal);
    text_thread(&block.text, thread->tid, thread->epoch);
    if (live->ordinal == 0) {
        text_process(&block.text, process.forked ? "fork" : "exec", process.pid, process.tick, process.parent,
                     process.started);
        text_place(&block.text, true, cwd, cwd_size);
        text_conflicting_ranks(&block.text);
    }
    block_commit(&block);
}

// The working directory is read to `room`, after the file name, on the same page.
long header_gain(struct live *live, struct thread *thread, int fd, char *room, const char *end) {
    if (live->ordinal > 0) {
        size_t size = PREFIX_ROOM + base_room() + THREAD_ROOM;
        long gained = chunk_gain(live, fd, size);
        if (gained == 0) header_write(live, thread, "", 0, size);
        return gained;
    }
    program_look(room, (size_t)(end - room));
    long cwd_size = RAW(getcwd, (long)room, end - room); // with its NUL
    cwd_size = cwd_size > 0 && room[0] == '/' ? cwd_size - 1 : 0;
    size_t size = PREFIX_ROOM + base_room() + THREAD_ROOM + process_room() + name_room(program.path, program.length) +
                  name_room(room, (size_t)cwd_size);
    mounts_look(&own_mounts);
    job_note();
    long gained = chunk_gain(live, fd, size);
    if (gained == 0) header_write(live, thread, room, (size_t)cwd_size, size);
    return gained;
}
