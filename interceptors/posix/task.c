// Tasks (provio.h): a thread declares its current Task, and its calls belong to that Task.
#include "rows.h"
#include "record.h"

static EARLY _Atomic uint32_t numbers;
static EARLY struct thread *_Atomic newest;
static EARLY _Atomic uint64_t tasks;
static EARLY uint64_t tasks_of_parent; // Tasks up to this one began before the last fork

// Tasks that have not ended, a bit each: for threads that inherited one.
enum { ROW = 32 * 1024, ROWS = 8 * 1024 };
static _Atomic uint64_t *_Atomic running[ROWS];

// The parents of Tasks that began recently.
enum { KNOWN = 1024 };
static struct { _Atomic uint64_t task, within; } nested[KNOWN];

// How a thread entered its Task. HEIR: inherited from the thread that made it; it leaves the Task when the Task ends.
// ORPHAN: another thread ended the Task; the thread is then in the parent of the Task. HANDED: it entered with
// PROVIO_HANDED, and stays in the Task until it leaves.
enum { ENTERED, HANDED, HEIR, ORPHAN };

bool task_is_own(uint64_t task) {
    return task > tasks_of_parent && task <= relaxed(tasks);
}

// The word of its bit; NULL: the Task did not begin, or there is no memory.
static _Atomic uint64_t *word_of(uint64_t task, bool begins) {
    if (task / ROW >= ROWS) return NULL;
    _Atomic uint64_t *row = atomic_load(&running[task / ROW]);
    if (row == NULL && begins) {
        _Atomic uint64_t *made = arena_take(ROW / 8);
        if (made == NULL) return NULL;
        if (atomic_compare_exchange_strong(&running[task / ROW], &row, made)) row = made;
    }
    return row == NULL ? NULL : row + task % ROW / 64;
}

static bool task_is_running(uint64_t task) {
    _Atomic uint64_t *word = word_of(task, false);
    return word != NULL && (atomic_load(word) >> task % 64 & 1) != 0;
}

static bool task_stop(uint64_t task) {
    _Atomic uint64_t *word = word_of(task, false);
    uint64_t bit = (uint64_t)1 << task % 64;
    return word != NULL && (atomic_fetch_and(word, ~bit) & bit) != 0;
}

static uint32_t number_next(void) {
    uint32_t number = atomic_fetch_add(&numbers, 1) + 1;
    return likely(number != 0) ? number : number_next(); // 0: no thread
}

void scopes_begin(struct thread *thread, bool made) {
    thread->scope = 0;
    thread->inherited = ENTERED;
    thread->messages = false;
    memset(thread->scopes, 0, sizeof thread->scopes);
    atomic_store_explicit(&thread->number, number_next(), memory_order_relaxed);
    if (!made) return;
    struct thread *before = atomic_load(&newest);
    do thread->older = before;
    while (!atomic_compare_exchange_weak(&newest, &before, thread));
}

void tasks_after_fork(void) {
    tasks_of_parent = atomic_load(&tasks);
}

static void scope_set(struct thread *thread, uint64_t scope, uint8_t inherited) {
    uint64_t before = thread->scope;
    if (scope == before) {
        thread->inherited = inherited;
        return;
    }
    shim_enter(thread);
    thread->scopes[before % SCOPES].scope = before;
    thread->scopes[before % SCOPES].number = relaxed(thread->number);
    bool known = thread->scopes[scope % SCOPES].scope == scope && thread->scopes[scope % SCOPES].number != 0;
    thread->inherited = inherited;
    thread->scope = scope;
    atomic_store(&thread->number, known ? thread->scopes[scope % SCOPES].number : number_next());
    shim_leave(thread);
}

// The nearest ancestor of an ended Task that is still running; 0: unknown.
static uint64_t running_ancestor(uint64_t task) {
    do task = relaxed(nested[task % KNOWN].task) == task ? relaxed(nested[task % KNOWN].within) : 0;
    while (task != 0 && !task_is_running(task));
    return task;
}

static void scope_leave(struct thread *thread) {
    uint64_t next = thread->inherited == ORPHAN ? running_ancestor(thread->scope) : 0;
    scope_set(thread, next, next == 0 ? ENTERED : ORPHAN);
}

// 0 in a child of vfork, because the numbers are its parent's.
uint64_t scope_of(struct thread *thread) {
    if (likely(thread->scope == 0)) return 0;
    if (unlikely(relaxed(thread->inherited) > HANDED) && !task_is_running(thread->scope)) scope_leave(thread);
    return unlikely(lender != NULL) ? 0 : thread->scope;
}

// Whether the thread had this number recently.
bool had_number(const struct thread *thread, uint32_t number) {
    if (likely(relaxed(thread->number) == number)) return true;
    for (int i = 0; i < SCOPES; i++)
        if (thread->scopes[i].number == number && number != 0) return true;
    return false;
}

void text_task(struct text *text, uint64_t scope) {
    if (likely(scope == 0)) return;
    TEXT(text, " ; " TERM_task " <../t");
    text_number(text, scope);
    TEXT(text, ">");
}

// ---- calls of layers above

// Bytes for a Task without its texts: a framework has very many Tasks, so they are exact.
static size_t head_room_of_task(uint64_t number, uint64_t within, uint64_t own_number) {
    size_t room = sizeof " <../t> a " TERM_Task " ; " TERM_startedNs " 0000000000000000000 ." + digits_at_most(number);
    if (within != 0) room += sizeof " ; " TERM_partOf " <../t>" + digits_at_most(within);
    return own_number == 0 ? room : room + sizeof " ; " TERM_number " " + digits_at_most(own_number);
}

static bool task_write(struct thread *thread, uint64_t number, const struct provio_task *task) {
    uint64_t within = scope_of(thread), time = now(thread);
    struct block block;
    struct literal name = literal_of(task->name), kind = literal_of(task->kind);
    struct literal source = literal_cut(task->source, LONGEST_VALUE);
    size_t room = head_room_of_task(number, within, task->number);
    if (!block_begin(thread, &block, room + literal_room(name) + literal_room(kind) + literal_room(source)))
        return false;
    TEXT(&block.text, " <../t");
    text_number(&block.text, number);
    TEXT(&block.text, "> a " TERM_Task);
    TEXT_NUMBER(&block.text, TERM_startedNs, time);
    if (within != 0) {
        TEXT(&block.text, " ; " TERM_partOf " <../t");
        text_number(&block.text, within);
        TEXT(&block.text, ">");
    }
    text_literal(&block.text, TERM_name, TERM_nameEncoded, name);
    text_literal(&block.text, TERM_kind, TERM_kindEncoded, kind);
    text_literal(&block.text, TERM_sourceText, TERM_sourceTextEncoded, source);
    if (task->number != 0) TEXT_NUMBER(&block.text, TERM_number, task->number);
    TEXT(&block.text, " .");
    block_commit(&block);
    return true;
}

uint64_t provio_task_begin(const struct provio_task *task) {
    struct thread *thread = task == NULL ? NULL : recording_thread();
    if (thread == NULL) return 0;
    uint64_t number = atomic_fetch_add(&tasks, 1) + 1, within = scope_of(thread);
    shim_enter(thread);
    bool written = task_write(thread, number, task);
    shim_leave(thread);
    if (!written) return 0;
    atomic_store(&nested[number % KNOWN].within, within);
    atomic_store(&nested[number % KNOWN].task, number);
    _Atomic uint64_t *word = word_of(number, true);
    if (word != NULL) atomic_fetch_or(word, (uint64_t)1 << number % 64);
    return number;
}

// Flag in the returned value: the thread was made within the Task, and leaves it when the Task ends.
static const uint64_t INHERITED = (uint64_t)1 << 63;

uint64_t provio_task_enter(uint64_t task) {
    struct thread *thread = recording_thread();
    if (thread == NULL) return 0;
    uint64_t before = scope_of(thread), own = task & ~(INHERITED | PROVIO_HANDED);
    uint8_t how = relaxed(thread->inherited);
    if (before != 0 && how != ENTERED) before |= how == HANDED ? PROVIO_HANDED : INHERITED;
    scope_set(thread, task_is_own(own) ? own : 0, task & INHERITED ? HEIR : task & PROVIO_HANDED ? HANDED : ENTERED);
    scope_of(thread); // the Task may have ended
    return before;
}

uint64_t provio_task_now(void) {
    struct thread *thread = watching() && lender == NULL ? self : NULL;
    return thread == NULL ? 0 : scope_of(thread);
}

// Threads that inherited the Task, or that are in it elsewhere, check it at their next call.
static void task_leave_others(uint64_t task) {
    for (struct thread *thread = atomic_load(&newest); thread != NULL; thread = thread->older) {
        uint8_t how = relaxed(thread->inherited);
        if (how == HANDED || (how == ENTERED && (thread == self || thread->scope != task))) continue;
        if (how == ENTERED) atomic_compare_exchange_strong(&thread->inherited, &how, ORPHAN);
        atomic_store(&thread->number, number_next());
    }
}

void provio_task_end(uint64_t task, const char *status) {
    struct thread *thread = task_is_own(task) ? recording_thread() : NULL;
    struct literal literal = literal_of(status);
    struct block block;
    if (thread == NULL) return;
    if (task_stop(task)) task_leave_others(task);
    shim_enter(thread);
    size_t room = sizeof " <../t> " TERM_endedNs " 0000000000000000000 ." + digits_at_most(task);
    if (block_begin(thread, &block, room + literal_room(literal))) {
        TEXT(&block.text, " <../t");
        text_number(&block.text, task);
        TEXT(&block.text, "> " TERM_endedNs " ");
        text_number(&block.text, now(thread));
        text_literal(&block.text, TERM_status, TERM_status, literal);
        TEXT(&block.text, " .");
        block_commit(&block);
    }
    shim_leave(thread);
}

// Two calls in one, for layers where each call costs more than its work.
uint64_t provio_task_in(const char *name, const char *kind) {
    uint64_t task = provio_task_begin(&(struct provio_task){.name = name, .kind = kind});
    if (task != 0) provio_task_enter(task);
    return task;
}

void provio_task_out(uint64_t task, uint64_t before, const char *status) {
    provio_task_enter(before);
    provio_task_end(task, status);
}

// ---- threads that are made within a Task

struct making {
    void *(*function)(void *);
    void *argument;
    uint64_t scope;
};
static struct pool makings;

static void *begin_within(void *at) {
    struct making making = *(struct making *)at;
    pool_give(&makings, at);
    struct thread *thread = recording_thread();
    if (thread != NULL) {
        scope_set(thread, making.scope, HEIR);
        scope_of(thread); // the Task may have ended
    }
    return making.function(making.argument);
}

int provio_pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*function)(void *),
                          void *argument) {
    uint64_t scope = provio_task_now();
    struct making *making = scope == 0 ? NULL : pool_take(LATER(&makings, struct making));
    if (making == NULL) return REAL(pthread_create)(made, attributes, function, argument);
    *making = (struct making){function, argument, scope};
    int result = REAL(pthread_create)(made, attributes, begin_within, making);
    if (result != 0) pool_give(&makings, making);
    return result;
}
