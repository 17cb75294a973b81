// Single calls, a block each.
#include "shim.h"

enum { FACTS_ROOM = 192 };

static void text_api(struct text *text, int api) {
    TEXT(text, " ; " TERM_api " \"");
    TEXT_API(text, api);
    TEXT(text, "\"");
}

// ` <eN> a term ; :at … ; :elapsed … ; :api "…"`; the number, or 0 where nothing can be written.
uint64_t event_begin(struct thread *thread, struct block *block, const char *term, int api, uint64_t started,
                     size_t room) {
    uint64_t ended = now(thread), number = next_number(&thread->events);
    if (started < thread->epoch) started = thread->epoch;
    if (!block_begin(thread, block, room + 192)) return 0;
    TEXT(&block->text, " <e");
    text_number(&block->text, number);
    TEXT(&block->text, "> a ");
    text_string(&block->text, term);
    TEXT_NUMBER(&block->text, TERM_at, started - thread->epoch);
    TEXT_NUMBER(&block->text, TERM_elapsed, ended - started);
    text_api(&block->text, api);
    return number;
}

static void event_end(struct block *block) {
    TEXT(&block->text, " .");
    block_commit(block);
}

static void text_object(struct text *text, const char *property, uint64_t serial) {
    TEXT(text, " ; ");
    text_string(text, property);
    TEXT(text, " <../o");
    text_number(text, serial);
    TEXT(text, ">");
}

void event_rename(int api, const char *term, int fromfd, const char *from, int tofd, const char *to, uint64_t started) {
    struct thread *thread = thread_self();
    struct block block;
    struct facts facts;
    char *old = pool_take(&scratches), *new = pool_take(&scratches);
    size_t old_size = old == NULL ? 0 : path_join(old, fromfd, from),
           new_size = new == NULL ? 0 : path_join(new, tofd, to);
    bool found = statx_facts(tofd, to, AT_SYMLINK_NOFOLLOW, &facts);
    bool wanted =
        thread != NULL && old_size > 0 && new_size > 0 && !(path_ignored(old, old_size) && path_ignored(new, new_size));
    if (wanted && event_begin(thread, &block, term, api, started,
                              FACTS_ROOM + name_room(old, old_size) + name_room(new, new_size))) {
        TEXT_NAME(&block.text, from, old, old_size);
        TEXT_NAME(&block.text, to, new, new_size);
        if (found) text_facts(&block.text, &facts);
        event_end(&block);
    }
    if (old != NULL) pool_give(&scratches, old);
    if (new != NULL) pool_give(&scratches, new);
}

// An event about one name; `text` and `more` are what else it says.
static void event_named(const char *term, int api, int dirfd, const char *path, uint64_t started, const char *target,
                        const struct facts *facts, const char *more, uint64_t value) {
    struct thread *thread = thread_self();
    struct block block;
    char *room = pool_take(&scratches);
    size_t size = room == NULL ? 0 : path_join(room, dirfd, path);
    size_t extra = FACTS_ROOM + 64 + (target == NULL ? 0 : name_room(target, strlen(target)));
    if (thread != NULL && size > 0 && !path_ignored(room, size) &&
        event_begin(thread, &block, term, api, started, extra + name_room(room, size))) {
        if (target != NULL) TEXT_NAME(&block.text, target, target, strlen(target));
        TEXT_NAME(&block.text, path, room, size);
        if (facts != NULL && facts->mode != 0) {
            text_facts(&block.text, facts);
            if (S_ISDIR(facts->mode)) TEXT(&block.text, " ; " TERM_directory " true");
        }
        if (more != NULL) {
            TEXT(&block.text, " ; ");
            text_string(&block.text, more);
            TEXT(&block.text, " ");
            text_number(&block.text, value);
        }
        event_end(&block);
    }
    if (room != NULL) pool_give(&scratches, room);
}

void event_symbolic(int api, const char *target, int dirfd, const char *path, uint64_t started) {
    event_named(TERM_Link, api, dirfd, path, started, target, NULL, NULL, 0);
}

void event_delete(int api, int dirfd, const char *path, const struct facts *facts, uint64_t started) {
    uint64_t left = S_ISDIR(facts->mode) || facts->links == 0 ? 0 : facts->links - 1;
    event_named(TERM_Delete, api, dirfd, path, started, NULL, facts, TERM_links, left);
}

void event_create(int api, int dirfd, const char *path, uint64_t started) {
    struct facts facts;
    statx_facts(dirfd, path, AT_SYMLINK_NOFOLLOW, &facts);
    event_named(TERM_Create, api, dirfd, path, started, NULL, &facts, NULL, 0);
}

// Without a path, `dirfd` is the file itself.
void event_times(int api, int dirfd, const char *path, int flags, const struct facts *before, uint64_t started) {
    struct facts facts;
    if (!statx_facts(dirfd, path == NULL ? "" : path, flags | AT_EMPTY_PATH, &facts)) return;
    struct object *object = NULL;
    if (path == NULL || *path == '\0') {
        object = object_held(dirfd);
        path = object->path;
        dirfd = AT_FDCWD;
    }
    if (path != NULL)
        event_named(TERM_SetTimes, api, dirfd, path, started, NULL, &facts, TERM_previousMtimeNs, before->modified);
    object_release(object, 1);
}

void event_truncate(int api, int fd, const char *path, off64_t length, uint64_t started) {
    struct facts facts;
    struct block block;
    if (path != NULL) {
        statx_facts(AT_FDCWD, path, 0, &facts);
        event_named(TERM_Truncate, api, AT_FDCWD, path, started, NULL, &facts, TERM_length, (uint64_t)length);
        return;
    }
    struct object *object = object_of(fd);
    struct thread *thread = thread_self();
    uint64_t serial = relaxed(object->serial); // 0: closed meanwhile, by another thread
    if (object == &ignored || thread == NULL || serial == 0) return;
    if (event_begin(thread, &block, TERM_Truncate, api, started, 96)) {
        text_object(&block.text, TERM_object, serial);
        TEXT_NUMBER(&block.text, TERM_length, (uint64_t)length);
        event_end(&block);
    }
}

uint64_t event_map(int api, struct object *object, size_t size, int protection, bool shared, uint64_t started) {
    struct thread *thread = thread_self();
    struct block block;
    uint64_t serial = relaxed(object->serial);
    uint64_t number = thread == NULL || serial == 0 ? 0 : event_begin(thread, &block, TERM_Map, api, started, 192);
    if (number == 0) return 0;
    text_object(&block.text, TERM_object, serial);
    TEXT_NUMBER(&block.text, TERM_bytes, size);
    TEXT_NUMBER(&block.text, TERM_protection, (uint64_t)protection);
    TEXT(&block.text, " ; " TERM_shared " ");
    text_string(&block.text, shared ? "true" : "false");
    event_end(&block);
    return number;
}

// A thread's events are named under its own base; another thread's are reached from there by its ordinal.
void event_unmap(int api, int ordinal, uint64_t map, const struct facts *facts, uint64_t started) {
    struct thread *thread = thread_self();
    struct block block;
    if (thread == NULL || event_begin(thread, &block, TERM_Unmap, api, started, 192) == 0) return;
    TEXT(&block.text, " ; " TERM_map " <../");
    text_number(&block.text, (uint64_t)ordinal);
    TEXT(&block.text, "/e");
    text_number(&block.text, map);
    TEXT(&block.text, ">");
    if (facts != NULL) {
        TEXT_NUMBER(&block.text, TERM_mtimeNs, facts->modified);
        TEXT_NUMBER(&block.text, TERM_ctimeNs, facts->changed);
        TEXT_NUMBER(&block.text, TERM_size, facts->size);
    }
    event_end(&block);
}

static void text_command(struct text *text, const char *path, char *const argv[]) {
    if (path != NULL) TEXT_NAME(text, executable, path, strlen(path));
    if (argv == NULL) return;
    TEXT(text, " ; " TERM_argv " \"");
    for (int i = 0; argv[i] != NULL; i++) {
        if (i > 0) TEXT(text, " ");
        text_argument(text, argv[i]);
    }
    TEXT(text, "\"");
}

static size_t command_room(const char *path, char *const argv[]) {
    size_t room = 96 + (path == NULL ? 0 : name_room(path, strlen(path)));
    for (int i = 0; argv != NULL && argv[i] != NULL; i++) room += argument_room(argv[i]) + 1;
    return room;
}

void event_child(int api, const char *term, int pid, const char *path, char *const argv[], uint64_t started) {
    struct thread *thread = thread_self();
    struct block block;
    uint64_t tick = pid > 0 ? start_tick(pid, NULL) : 0;
    if (thread == NULL || event_begin(thread, &block, term, api, started, command_room(path, argv)) == 0) return;
    TEXT_NUMBER(&block.text, TERM_childPid, (uint64_t)pid);
    TEXT_NUMBER(&block.text, TERM_childTick, tick);
    text_command(&block.text, path, argv);
    event_end(&block);
}

void event_child_end(int api, int pid, int status, uint64_t started) {
    struct thread *thread = thread_self();
    struct block block;
    if (!WIFEXITED(status) && !WIFSIGNALED(status)) return; // stopped or continued
    if (thread == NULL || event_begin(thread, &block, TERM_ChildEnd, api, started, 96) == 0) return;
    TEXT_NUMBER(&block.text, TERM_childPid, (uint64_t)pid);
    if (WIFEXITED(status))
        TEXT_NUMBER(&block.text, TERM_exitCode, (uint64_t)WEXITSTATUS(status));
    else
        TEXT_NUMBER(&block.text, TERM_signal, (uint64_t)WTERMSIG(status));
    event_end(&block);
}

// Before the call, because it does not return. An image that did nothing yet writes nothing, unless it borrows a file,
// or what follows cannot write.
uint64_t event_exec(int api, const char *path, char *const argv[], bool wanted) {
    struct block block;
    struct thread *thread = lender != NULL ? lender : wanted ? thread_self() : self;
    if (thread == NULL || (thread->live == NULL && lender == NULL && !wanted)) return 0;
    uint64_t number = event_begin(thread, &block, TERM_Exec, api, now(thread), command_room(path, argv));
    if (number == 0) return 0;
    text_command(&block.text, path, argv);
    event_end(&block);
    return number;
}

// The image that an exec in this process, or the child `pid`, will be: as it would name itself.
static void text_image(struct text *text, int pid) {
    uint64_t tick = pid > 0 ? start_tick(pid, NULL) : lender != NULL ? start_tick(0, NULL) : process.tick;
    uint32_t number = pid > 0 || lender != NULL ? 0 : relaxed(process.number);
    TEXT(text, " ; " TERM_about " <../../");
    text_number(text, pid > 0 ? (uint64_t)pid : lender != NULL ? (uint64_t)RAW(getpid, 0) : process.pid);
    TEXT(text, ".");
    text_number(text, tick);
    TEXT(text, ".");
    text_number(text, number);
    TEXT(text, "/>");
}

static void text_reason(struct text *text, const char *reason) {
    TEXT(text, " ; " TERM_reason " \"");
    text_string(text, reason);
    TEXT(text, "\"");
}

void event_unwatched(struct launch *launch, int api, int pid) {
    struct thread *thread = thread_self();
    const char *path = launch->path_length > 0 ? launch->path : NULL;
    if (launch->reason == NULL || thread == NULL) return;
    if (!event_begin(thread, &launch->gap, TERM_Gap, api, now(thread), 256 + command_room(path, launch->argv))) {
        launch->gap.start = NULL;
        return;
    }
    text_image(&launch->gap.text, pid);
    text_reason(&launch->gap.text, launch->reason);
    text_command(&launch->gap.text, path, launch->argv);
    if (pid == 0) launch->gap.chunk->accesses++; // it stays mapped until it is known whether this holds
    event_end(&launch->gap);
}

// What was said before a call that failed becomes a comment again.
void event_withdraw(struct block *block) {
    if (block->start == NULL) return;
    __atomic_store_n(block->start, '#', __ATOMIC_RELEASE);
    block->chunk->accesses--;
    block->start = NULL;
}

// Something about this process, `path` (or NULL) what it is about.
void event_gap(int api, const char *reason, const char *path) {
    struct thread *thread = thread_self();
    struct block block;
    if (thread == NULL || !event_begin(thread, &block, TERM_Gap, api, now(thread), 256 + command_room(path, NULL)))
        return;
    TEXT(&block.text, " ; " TERM_about " <../>");
    text_reason(&block.text, reason);
    text_command(&block.text, path, NULL);
    event_end(&block);
}

void event_exec_failed(int api, uint64_t exec, int error) {
    struct thread *thread = thread_self();
    struct block block;
    if (exec == 0 || thread == NULL || event_begin(thread, &block, TERM_ExecFailed, api, now(thread), 96) == 0) return;
    TEXT(&block.text, " ; " TERM_exec " <e");
    text_number(&block.text, exec);
    TEXT(&block.text, ">");
    TEXT_NUMBER(&block.text, TERM_errno, (uint64_t)error);
    event_end(&block);
}

void event_copy(struct thread *thread, int api, struct object *from, struct object *to, uint64_t bytes,
                uint64_t started) {
    thread->depth++;
    struct counters *counters = access_counted(thread, to, TERM_Copy, api, from);
    if (counters != NULL) operation_add(thread, counters, bytes, started);
    thread->depth--;
}
