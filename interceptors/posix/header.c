// What a live file says first: its base, the thread, and in the first one of an image the process and its place.
#include "live_file.h"

void text_base(struct text *text, uint32_t pid, uint64_t tick, int64_t number, int ordinal) {
    TEXT(text, " @base <https://w3id.org/provio/run/");
    text_string(text, settings.run);
    TEXT(text, "/");
    text_string(text, settings.host);
    TEXT(text, "/");
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
    if (left_out(CLASS_THREAD)) {
        TEXT(text, " <> " TERM_epochNs " ");
        text_number(text, epoch);
    } else {
        TEXT(text, " <> a " TERM_Thread);
        TEXT_NUMBER(text, TERM_tid, (uint64_t)tid);
        TEXT_NUMBER(text, TERM_epochNs, epoch);
        if (!left_out(CLASS_PROGRAM)) TEXT(text, " ; prov:actedOnBehalfOf <../program>");
    }
    TEXT(text, " .");
}

static size_t arguments_room(void) {
    size_t room = 0;
    for (const char *at = settings.arguments; at < settings.arguments_end; at += strlen(at) + 1)
        room += argument_room(at) + 1;
    return room;
}

static void text_word(struct text *text, const char *said, const char *word) {
    if (*word == '\0') return;
    text_string(text, said);
    text_string(text, word);
    TEXT(text, "\"");
}

void text_process(struct text *text, const char *image, uint32_t pid, uint64_t tick, uint32_t parent,
                  uint64_t started) {
    bool told = !left_out(CLASS_PROCESS); // else only what ties it to others
    TEXT(text, " <../> ");
    if (told) {
        TEXT(text, "a " TERM_Process);
        TEXT_NUMBER(text, TERM_pid, pid);
        TEXT_NUMBER(text, TERM_startTick, tick);
        TEXT(text, " ; ");
    }
    TEXT(text, TERM_parentPid " ");
    text_number(text, parent);
    if (told) text_name(text, TERM_host, TERM_host, settings.host, strlen(settings.host));
    TEXT(text, " ; " TERM_image " \"");
    text_string(text, image);
    TEXT(text, "\"");
    TEXT_NUMBER(text, TERM_startedNs, started);
    text_rank(text);
    if (!told) return;
    text_word(text, " ; " TERM_jobId " \"", settings.job[JOB]);
    text_word(text, " ; " TERM_jobArrayIndex " \"", settings.job[JOB_INDEX]);
    TEXT(text, " ; " TERM_argv " \"");
    for (const char *at = settings.arguments; at < settings.arguments_end; at += strlen(at) + 1) {
        if (at != settings.arguments) TEXT(text, " ");
        text_argument(text, at);
    }
    TEXT(text, "\"");
}

void text_place(struct text *text, const char *executable, size_t executable_size, const char *cwd, size_t cwd_size,
                const struct mounts *mounts) {
    static const char gone[] = " (deleted)"; // as /proc says it
    size_t tail = sizeof gone - 1;
    struct facts facts; // of the file that runs, whatever its name leads to by now
    bool known = executable_size > 0 && statx_facts(AT_FDCWD, "/proc/self/exe", 0, &facts);
    if (known && facts.links == 0 && executable_size > tail &&
        memcmp(executable + executable_size - tail, gone, tail) == 0)
        executable_size -= tail;
    if (executable_size > 0 && !left_out(CLASS_PROGRAM)) {
        TEXT_NAME(text, executable, executable, executable_size);
        if (known && !left_out(CLASS_FILE)) text_facts(text, &facts);
    }
    if (cwd_size > 0 && !left_out(CLASS_PROCESS)) TEXT_NAME(text, cwd, cwd, cwd_size);
    text_mounts(text, mounts);
    TEXT(text, " .");
}

size_t base_room(void) {
    return strlen(settings.run) + strlen(settings.host) + 128;
}

size_t process_room(void) {
    return 416 + rank_room() + 2 * sizeof settings.job[0] + 64 + FACTS_ROOM + MOUNTS_ROOM +
           name_room(settings.host, strlen(settings.host)) + arguments_room();
}

static void header_write(struct live *live, struct thread *thread, const char *executable, size_t executable_size,
                         const char *cwd, size_t cwd_size, const struct mounts *mounts, size_t room) {
    struct block block;
    if (!reserve(thread, live, &block, room)) return;
    TEXT(&block.text, PREFIXES);
    text_base(&block.text, process.pid, process.tick, relaxed(process.number) - 1, (int)live->ordinal);
    text_thread(&block.text, thread->tid, thread->epoch);
    if (live->ordinal == 0) {
        text_process(&block.text, process.forked ? "fork" : "exec", process.pid, process.tick, process.parent,
                     process.started);
        text_place(&block.text, executable, executable_size, cwd, cwd_size, mounts);
        text_unlike_ranks(&block.text);
    }
    block_commit(&block);
}

long header_gain(struct live *live, struct thread *thread, int fd) {
    if (live->ordinal > 0) {
        size_t room = PREFIX_ROOM + base_room() + THREAD_ROOM;
        long gained = chunk_gain(live, fd, room);
        if (gained == 0) header_write(live, thread, "", 0, "", 0, NULL, room);
        return gained;
    }
    char *executable = pool_take(&scratches), *cwd = executable;
    if (executable == NULL) return -ENOMEM;
    long executable_size = RAW(readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)executable, PATH_MAX);
    if (executable_size < 0) executable_size = 0;
    cwd += executable_size;
    long cwd_size = RAW(getcwd, (long)cwd, PATH_MAX); // with its NUL
    cwd_size = cwd_size > 0 && cwd[0] == '/' ? cwd_size - 1 : 0;
    size_t room = PREFIX_ROOM + base_room() + THREAD_ROOM + process_room() +
                  name_room(executable, (size_t)executable_size) + name_room(cwd, (size_t)cwd_size);
    struct mounts mounts;
    mounts_look(&mounts);
    job_note();
    long gained = chunk_gain(live, fd, room);
    if (gained == 0)
        header_write(live, thread, executable, (size_t)executable_size, cwd, (size_t)cwd_size, &mounts, room);
    pool_give(&scratches, executable);
    return gained;
}
