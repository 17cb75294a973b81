// Single calls, a block each.
#include "event.h"

static void text_api(struct text *text, int api) {
    if (filtered(CLASS_API)) return;
    TEXT(text, " ; " TERM_api " \"");
    TEXT_API(text, api);
    TEXT(text, "\"");
}

// Begin ` <eN> a term ; :at … ; :elapsed … ; :api "…"`. Returns N; 0: nothing can be written.
uint64_t event_begin(struct thread *thread, struct block *block, const char *term, int api, uint64_t started,
                     size_t room) {
    uint64_t ended = now(thread), number = next_number(&thread->events);
    if (started < thread->epoch) started = thread->epoch;
    uint64_t scope = scope_of(thread);
    if (!block_begin(thread, block, room + task_room(scope) + 192)) return 0;
    TEXT(&block->text, " <e");
    text_number(&block->text, number);
    TEXT(&block->text, "> a ");
    text_string(&block->text, term);
    TEXT_NUMBER(&block->text, TERM_at, started - thread->epoch);
    if (!filtered(CLASS_DURATION)) TEXT_NUMBER(&block->text, TERM_elapsed, ended - started);
    text_api(&block->text, api);
    text_task(&block->text, scope);
    return number;
}

void event_end(struct block *block) {
    TEXT(&block->text, " .");
    block_commit(block);
}

// A file with a known name and unknown facts counts as a file.
static bool name_filtered(const struct facts *facts) {
    if (facts == NULL || facts->mode == 0) return filtered(CLASS_FILE);
    // The rename of a directory is needed to follow its files.
    return kind_filtered(facts->mode);
}

void event_rename(int api, const char *term, int fromfd, const char *from, int tofd, const char *to, uint64_t started) {
    struct thread *thread = thread_self();
    struct block block;
    struct facts facts;
    char *old = pool_take(&scratches), *new = pool_take(&scratches);
    size_t old_size = old == NULL ? 0 : path_join(old, fromfd, from),
           new_size = new == NULL ? 0 : path_join(new, tofd, to);
    bool found = statx_facts(tofd, to, AT_SYMLINK_NOFOLLOW, &facts);
    bool wanted = thread != NULL && old_size > 0 && new_size > 0 &&
                  !(path_ignored(old, old_size) && path_ignored(new, new_size)) &&
                  !name_filtered(found ? &facts : NULL);
    // A name that is or was filtered out must not appear.
    if (unlikely(settings.limited) && wanted) wanted = !path_filtered(old, old_size) && !path_filtered(new, new_size);
    if (wanted && event_begin(thread, &block, term, api, started,
                              FACTS_ROOM + name_room(old, old_size) + name_room(new, new_size))) {
        TEXT_NAME(&block.text, from, old, old_size);
        TEXT_NAME(&block.text, to, new, new_size);
        if (found) text_facts(&block.text, &facts);
        event_end(&block);
        if (found && S_ISREG(facts.mode) && likely(lender == NULL))
            unclosed_moved(&facts, thread->live, block_place(&block));
        if (unlikely(settings.values) && found && S_ISREG(facts.mode)) value_file_note(new, new_size);
    }
    if (old != NULL) pool_give(&scratches, old);
    if (new != NULL) pool_give(&scratches, new);
}

// An additional property of an event on one name: a number, or a text of any bytes.
struct word {
    const char *property;
    uint64_t number;
    const char *text, *encoded; // the property if the text is not UTF-8
};

static struct word number_of(const char *property, uint64_t number) {
    return (struct word){.property = property, .number = number};
}

static size_t word_room(const struct word *word) {
    return word->property == NULL ? 0 : 64 + (word->text == NULL ? 0 : name_room(word->text, strlen(word->text)));
}

static void text_word(struct text *text, const struct word *word) {
    if (word->property == NULL) return;
    if (word->text != NULL) {
        text_name(text, word->property, word->encoded, word->text, strlen(word->text));
        return;
    }
    TEXT(text, " ; ");
    text_string(text, word->property);
    TEXT(text, " ");
    text_number(text, word->number);
}

static size_t named_path(char *room, int dirfd, const char *path) {
    if (path != NULL && *path != '\0') return path_join(room, dirfd, path);
    struct object *object = object_held(dirfd);
    size_t size = object->path == NULL ? 0 : object->path_length;
    if (size > 0) memcpy(room, object->path, size + 1);
    object_release(object, 1);
    return size;
}

// An event on one name; path NULL: on the descriptor itself. `facts` and two more properties are optional.
static void event_named(const char *term, int api, int dirfd, const char *path, uint64_t started,
                        const struct facts *facts, const struct word words[2]) {
    struct thread *thread = thread_self();
    struct block block;
    char *room = pool_take(&scratches);
    size_t size = room == NULL ? 0 : named_path(room, dirfd, path);
    size_t extra = FACTS_ROOM + 64 + (words == NULL ? 0 : word_room(&words[0]) + word_room(&words[1]));
    bool kept = term[1] == 'L' && term[2] == 'i' && term[3] == 's' ? !filtered(CLASS_DIRECTORY) : !name_filtered(facts);
    if (thread != NULL && size > 0 && kept && !path_ignored(room, size) &&
        event_begin(thread, &block, term, api, started, extra + name_room(room, size))) {
        TEXT_NAME(&block.text, path, room, size);
        if (facts != NULL && facts->mode != 0) {
            text_facts(&block.text, facts);
            if (S_ISDIR(facts->mode)) TEXT(&block.text, " ; " TERM_directory " true");
        }
        for (int i = 0; words != NULL && i < 2; i++) text_word(&block.text, &words[i]);
        event_end(&block);
    }
    if (room != NULL) pool_give(&scratches, room);
}

void event_symbolic(int api, const char *target, int dirfd, const char *path, uint64_t started) {
    const struct word text = {.property = TERM_target, .text = target, .encoded = TERM_targetEncoded};
    event_named(TERM_Link, api, dirfd, path, started, NULL, (struct word[2]){text});
}

void event_delete(int api, int dirfd, const char *path, const struct facts *facts, uint64_t started) {
    const struct word left = number_of(TERM_links, S_ISDIR(facts->mode) || facts->links == 0 ? 0 : facts->links - 1);
    event_named(TERM_Delete, api, dirfd, path, started, facts, (struct word[2]){left});
}

void event_create(int api, int dirfd, const char *path, uint64_t started) {
    struct facts facts;
    statx_facts(dirfd, path, AT_SYMLINK_NOFOLLOW, &facts);
    event_named(TERM_Create, api, dirfd, path, started, &facts, NULL);
}

// Without a path, `dirfd` is the file itself.
static bool facts_after(int dirfd, const char *path, int flags, struct facts *facts) {
    return statx_facts(dirfd, path == NULL ? "" : path, (flags & AT_SYMLINK_NOFOLLOW) | AT_EMPTY_PATH, facts);
}

void event_times(int api, int dirfd, const char *path, int flags, const struct facts *before, uint64_t started) {
    struct facts facts;
    if (!facts_after(dirfd, path, flags, &facts)) return;
    const struct word previous = number_of(TERM_previousMtimeNs, before->modified);
    event_named(TERM_SetTimes, api, dirfd, path, started, &facts, (struct word[2]){previous});
}

void event_mode(int api, int dirfd, const char *path, int flags, mode_t mode, uint64_t started) {
    struct facts facts;
    const struct word set = number_of(TERM_mode, mode & 07777);
    if (facts_after(dirfd, path, flags, &facts))
        event_named(TERM_SetMode, api, dirfd, path, started, &facts, (struct word[2]){set});
}

// -1 leaves the owner or the group unchanged.
void event_owner(int api, int dirfd, const char *path, int flags, uid_t owner, gid_t group, uint64_t started) {
    struct facts facts;
    const struct word user = number_of(owner == (uid_t)-1 ? NULL : TERM_owner, owner);
    const struct word members = number_of(group == (gid_t)-1 ? NULL : TERM_ownerGroup, group);
    if (facts_after(dirfd, path, flags, &facts))
        event_named(TERM_SetOwner, api, dirfd, path, started, &facts, (struct word[2]){user, members});
}

void event_attribute(const char *term, int api, int dirfd, const char *path, int flags, const char *attribute,
                     uint64_t started) {
    struct facts facts;
    const struct word named = {.property = TERM_attribute, .text = attribute, .encoded = TERM_attributeEncoded};
    if (facts_after(dirfd, path, flags, &facts))
        event_named(term, api, dirfd, path, started, &facts, (struct word[2]){named});
}

void event_lookup(int api, const char *term, int dirfd, const char *path, uint64_t started) {
    event_named(term, api, dirfd, path, started, NULL, NULL);
}

// Only attributes of users contain their data; the others are metadata of the system.
void event_attribute_got(int api, int dirfd, const char *path, int flags, const char *attribute, uint64_t started) {
    if (strncmp(attribute, "user.", strlen("user.")) == 0)
        event_attribute(TERM_GetAttribute, api, dirfd, path, flags, attribute, started);
    else if (settings.stat)
        event_lookup(api, TERM_Stat, dirfd, path, started);
}

// The directory where glob starts its search: the part of the pattern before the first part with a wildcard.
void event_pattern(int api, const char *pattern, uint64_t started) {
    char *room = *pattern == '~' ? NULL : pool_take(&scratches);
    if (room == NULL) return;
    size_t length = strcspn(pattern, "*?[{\\");
    if (length >= PATH_ROOM) length = 0;
    while (length > 0 && pattern[length - 1] != '/') length--;
    memcpy(room, pattern, length);
    memcpy(room + length, length == 0 ? "." : "", length == 0 ? 2 : 1);
    event_lookup(api, TERM_List, AT_FDCWD, room, started);
    pool_give(&scratches, room);
}

void event_truncate(int api, int fd, const char *path, off64_t length, uint64_t started) {
    struct facts facts;
    struct block block;
    if (path != NULL) {
        statx_facts(AT_FDCWD, path, 0, &facts);
        const struct word set = number_of(TERM_length, (uint64_t)length);
        event_named(TERM_Truncate, api, AT_FDCWD, path, started, &facts, (struct word[2]){set});
        return;
    }
    struct object *object = object_of(fd);
    struct thread *thread = thread_self();
    uint64_t serial = relaxed(object->serial); // 0: closed by another thread
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

// A thread's events have IRIs under its own base; the events of another thread are referenced by its ordinal.
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
    if (path != NULL && !filtered(CLASS_PROGRAM)) TEXT_NAME(text, executable, path, strlen(path));
    if (argv == NULL || filtered(CLASS_PROCESS)) return;
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

// The run folder may have been moved: a process that starts now cannot even leave a Gap. A child of vfork leaves this
// to its parent. After a change of the root or of rights, launch.c and live.c state the Gaps.
static void child_reaches_trace(int api) {
    if (lender != NULL || relaxed(under_seccomp) || relaxed(sandboxed)) return;
    if (RAW(faccessat, AT_FDCWD, (long)settings.folder, F_OK) == -ENOENT) unfollowed(LOST_CHILD, api);
}

void event_child(int api, const char *term, int pid, const char *path, char *const argv[], uint64_t started) {
    struct thread *thread = thread_self();
    struct block block;
    uint64_t tick = pid > 0 ? child_tick(pid) : 0;
    turn_to(WRITING); // the child has the data read so far, but none that is read later
    if (thread == NULL || event_begin(thread, &block, term, api, started, command_room(path, argv)) == 0) return;
    TEXT_NUMBER(&block.text, TERM_childPid, (uint64_t)pid);
    TEXT_NUMBER(&block.text, TERM_childTick, tick);
    text_command(&block.text, path, argv);
    event_end(&block);
    child_reaches_trace(api);
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

// Written before the call, because a successful call does not return. A process image without any record writes
// nothing, unless it uses its parent's file or its successor cannot write.
uint64_t event_exec(int api, const char *path, char *const argv[], bool wanted) {
    struct block block;
    struct thread *thread = lender != NULL ? lender : wanted ? thread_self() : self;
    if (thread == NULL || (thread->live == NULL && lender == NULL && !wanted)) return 0;
    uint64_t number = event_begin(thread, &block, TERM_Exec, api, now(thread), command_room(path, argv));
    if (number == 0) return 0;
    text_command(&block.text, path, argv);
    event_end(&block);
    child_reaches_trace(api);
    lives_write();
    return number;
}

// The IRI of the process image that an exec in this process, or in the child `pid`, will have.
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
    if (pid == 0) launch->gap.chunk->accesses++; // stays mapped until the exec succeeded or failed
    event_end(&launch->gap);
    gaps_changed(1);
    if (pid == 0) lives_write();
}

// Turn the block, written before a failed call, into a comment.
void event_withdraw(struct block *block) {
    if (block->start == NULL) return;
    __atomic_store_n(block->start + 1, '#', __ATOMIC_RELEASE); // the line still counts as a block
    block->chunk->accesses--;
    block->start = NULL;
    gaps_changed(-1);
}

// A gap in the record of this process; `path` is its subject, or NULL.
void event_gap(int api, const char *reason, const char *path) {
    event_gap_about(api, " ; " TERM_about " <../>", reason, path);
}

// `about` is the text of that property; none: the gap is about the run.
void event_gap_about(int api, const char *about, const char *reason, const char *path) {
    struct thread *thread = thread_self();
    struct block block;
    if (thread == NULL || !event_begin(thread, &block, TERM_Gap, api, now(thread), 256 + command_room(path, NULL)))
        return;
    text_string(&block.text, about);
    text_reason(&block.text, reason);
    text_command(&block.text, path, NULL);
    event_end(&block);
    gaps_changed(1);
}

void event_exec_failed(int api, uint64_t exec, int error) {
    struct thread *thread = exec == 0 ? NULL : thread_self();
    struct block block;
    if (thread == NULL || event_begin(thread, &block, TERM_ExecFailed, api, now(thread), 96) == 0) return;
    TEXT(&block.text, " ; " TERM_exec " <e");
    text_number(&block.text, exec);
    TEXT(&block.text, ">");
    TEXT_NUMBER(&block.text, TERM_errno, (uint64_t)error);
    event_end(&block);
}

void event_copy(struct thread *thread, int api, struct object *from, struct object *to, uint64_t bytes,
                uint64_t started) {
    shim_enter(thread);
    struct counters *counters = access_counted(thread, to, TERM_Copy, api, from);
    if (counters != NULL) operation_add(thread, counters, bytes, started);
    shim_leave(thread);
}
