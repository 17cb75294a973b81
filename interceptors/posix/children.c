// Calls that start, replace or wait for a process.
#include "rows.h"

#include <sched.h>
#include <spawn.h>

extern char **environ;

// ---- fork and similar calls

pid_t forked(int api, pid_t pid, struct thread *thread, uint64_t started) {
    if (pid == 0) {
        // Store immediately: a read of a wiped page first would cause an extra page fault.
        if (atomic_exchange(&process.alive, 0) != 0) memset(&page, 0, sizeof page); // the kernel did not wipe it
        if (settings.watched && wake()) child_named();
    } else if (pid > 0 && thread != NULL) {
        event_child(api, TERM_Fork, pid, NULL, NULL, started);
        if (unlikely(relaxed(shared_maps) > 0)) unfollowed(SHARES_MEMORY, api);
    }
    return pid;
}

// The functions that most children call before an exec. Looked up once in the parent, so that each child need not.
static void resolve_for_children(void) {
    static const short usual[] = {API_open, API_close, API_dup2, API_fcntl, API_execve, API_fflush, API__exit};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) real_function(usual[i]);
}

static pid_t watched_fork(int api, pid_t (*real)(void), struct thread *thread) {
    uint64_t started = thread == NULL ? 0 : now(thread);
    if (thread != NULL) resolve_for_children();
    if (unlikely(relaxed(loaded_pending))) loaded_note(thread); // the child may not read the loader's list
    child_begin();
    return forked(api, real(), thread, started);
}
FORWARD(fork, pid_t, (void), watched_fork, watching() ? thread_self() : NULL)
FORWARD(__fork, pid_t, (void), watched_fork, watching() ? thread_self() : NULL)
FORWARD(_Fork, pid_t, (void), watched_fork, watching() ? thread_self() : NULL)

// The steps of the C library's forkpty one by one: the master's mark must exist before the child first writes.
pid_t provio_forkpty(int *master, char *name, const void *terminal, const void *window) {
    struct thread *thread = watching() ? thread_self() : NULL;
    int own, slave;
    if (provio_openpty(&own, &slave, name, terminal, window) != 0) return -1;
    pid_t pid = watched_fork(API_forkpty, REAL(fork), thread);
    int error = errno;
    provio_close(pid == 0 ? own : slave);
    if (pid == 0 && provio_login_tty(slave) != 0) _exit(1);
    if (pid < 0) provio_close(own);
    if (pid > 0) *master = own;
    errno = error;
    return pid;
}

// ---- vfork, and clone with shared memory: the child uses the parent's memory while the parent waits
static THREAD_LOCAL int vforks;
static THREAD_LOCAL uint64_t vfork_started;

static void vfork_begin(void) {
    struct thread *thread = watching() ? thread_self() : NULL;
    if (thread == NULL || relaxed(under_seccomp) || !live_ready(thread)) return;
    if (vforks++ > 0) return; // a vfork in a child of vfork: already prepared
    vfork_started = now(thread);
    child_begin();
    lender = thread;
    self = NULL;
}

static int vfork_end(int api, int pid) {
    // Restores the parent's state after all changes by its child. A child that called vfork itself also returns here.
    if (lender != NULL && raw_call(SYS_gettid, (const long[6]){0}) == lender->tid) {
        vforks = 0;
        self = lender;
        lender = NULL;
        overlay_drop();
        seccomp_undo();
        launch_returned();
        base_return(self);
        if (pid > 0) event_child(api, TERM_Fork, pid, NULL, NULL, vfork_started);
    }
    return pid;
}

#if defined(__x86_64__)
// vfork returns twice on one stack, so the return address is kept in a register while the child runs, as in glibc.
__asm__(".text\n.p2align 4\n.globl vfork\n.type vfork, @function\n.globl __vfork\n.type __vfork, @function\n"
        "vfork:\n__vfork:\n"
        "endbr64\n"
        "subq $8, %rsp\ncall provio_vfork_before\naddq $8, %rsp\n"
        "popq %rdi\n"
        "movl $58, %eax\n"
        "syscall\n"
        "pushq %rdi\n"
        "testl %eax, %eax\njnz 1f\nret\n"
        "1:\nmovl %eax, %edi\nsubq $8, %rsp\ncall provio_vfork_after\naddq $8, %rsp\nret\n"
        ".size vfork, .-vfork\n.size __vfork, .-__vfork\n");

__attribute__((used)) void provio_vfork_before(void) {
    vfork_begin();
}

__attribute__((used)) int provio_vfork_after(int pid) {
    pid = vfork_end(API_vfork, pid);
    if (pid >= 0) return pid;
    errno = -pid;
    return -1;
}
#else
// A C function cannot wrap it; POSIX allows vfork(2) to be a fork.
pid_t provio_vfork(void) {
    struct thread *thread = watching() ? thread_self() : NULL;
    return watched_fork(API_vfork, REAL(fork), thread);
}

pid_t provio___vfork(void) {
    return provio_vfork();
}
#endif

typedef int (*spawning)(pid_t *, const char *, const void *, const void *, char *const[], char *const[]);

static int watched_spawn(int api, spawning real, bool searched, pid_t *pid, const char *path, const void *actions,
                         const void *attributes, char *const argv[], char *const envp[]) {
    struct thread *thread = watching() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    pid_t child = 0;
    struct launch launch = {.environment = envp};
    if (thread != NULL) launch_begin(&launch, AT_FDCWD, path, 0, searched, argv, envp);
    child_begin();
    int result = real(pid == NULL ? &child : pid, path, actions, attributes, argv, launch.environment);
    if (pid != NULL) child = *pid;
    if (result == 0 && thread != NULL) {
        event_child(api, TERM_Spawn, child, path, argv, started);
        event_unwatched(&launch, api, child);
    } else if (thread != NULL) {
        access_failed_with(thread, NULL, api, result, started);
    }
    launch_end(&launch);
    return result;
}
#define SPAWN_PARAMETERS                                                                                               \
    (pid_t * pid, const char *path, const void *actions, const void *attributes, char *const argv[], char *const envp[])
FORWARD(posix_spawn, int, SPAWN_PARAMETERS, watched_spawn, false, pid, path, actions, attributes, argv, envp)
FORWARD(posix_spawnp, int, SPAWN_PARAMETERS, watched_spawn, true, pid, path, actions, attributes, argv, envp)

// The shell that system and popen start; its pid is not returned.
static void shell_spawned(struct shell *shell, int api, const char *command, uint64_t started) {
    char *const argv[] = {"sh", "-c", (char *)command, NULL};
    event_child(api, TERM_Spawn, 0, "/bin/sh", argv, started);
    if (shell->reason != NULL) event_gap(api, shell->reason, "/bin/sh");
}

int provio_system(const char *command) {
    struct thread *thread = watching() && command != NULL ? thread_self() : NULL;
    if (thread == NULL) return REAL(system)(command);
    struct shell shell;
    shell_begin(&shell);
    shell_spawned(&shell, API_system, command, now(thread));
    int result = REAL(system)(command);
    shell_end(&shell);
    return result;
}

static FILE *watched_popen(int api, FILE *(*real)(const char *, const char *), const char *command, const char *mode) {
    struct thread *thread = watching() ? thread_self() : NULL;
    if (thread == NULL) return real(command, mode);
    uint64_t started = now(thread);
    struct shell shell;
    shell_begin(&shell);
    FILE *result = real(command, mode);
    shell_end(&shell);
    if (result == NULL) return result;
    shell_spawned(&shell, api, command, started);
    object_open(api, stream_fd(result), -1, NULL, *mode == 'r' ? O_RDONLY : O_WRONLY, started, true);
    return result;
}
FORWARD(popen, FILE *, (const char *command, const char *mode), watched_popen, command, mode)
FORWARD(_IO_popen, FILE *, (const char *command, const char *mode), watched_popen, command, mode)

int provio_pclose(FILE *stream) {
    return watching() ? watched_fclose(REAL(pclose), stream) : REAL(pclose)(stream);
}

// ---- exec

void launch_report(struct launch *launch, int api, const char *shown) {
    if (!launch->legible) return;
    launch->event = event_exec(api, shown, launch->argv, launch->reason != NULL);
    event_unwatched(launch, api, 0);
}

void launch_failed(struct launch *launch, int api, int error) {
    event_withdraw(&launch->gap);
    event_exec_failed(api, launch->event, error);
    launch_end(launch);
}

// `shown` is the recorded name. The environment is the caller's, unless the shim must be removed from it.
#define EXECUTE(name, dirfd, path, flags, searched, shown, argv, envp, call)                                           \
    struct launch launch = {.environment = envp};                                                                      \
    if (watching()) {                                                                                                  \
        launch_begin(&launch, dirfd, path, flags, searched, argv, envp);                                               \
        launch_report(&launch, API_##name, shown);                                                                     \
    }                                                                                                                  \
    int result = call;                                                                                                 \
    launch_failed(&launch, API_##name, errno);                                                                         \
    return result;

#define EXECUTE_FILE(name, path, argv, envp)                                                                           \
    EXECUTE(name, AT_FDCWD, path, 0, false, path, argv, envp, REAL(execve)(path, argv, launch.environment))
// The shell runs a file that the kernel refuses. A program for another machine is first tried without the shell,
// because the shell would be recorded, if it could open the shim. `launch->path` may begin outside of this root.
static int execute_found(struct launch *launch, const char *path, char *const argv[], char *const envp[]) {
    if (launch->environment != envp && launch->path_length > 0 && !launch->hidden) {
        const char *found = strchr(path, '/') == NULL ? launch->path : path;
        int result = REAL(execve)(found, argv, launch->environment);
        if (errno != ENOEXEC) return result;
        event_withdraw(&launch->gap);
        launch->environment = envp;
    }
    return REAL(execvpe)(path, argv, launch->environment);
}
#define EXECUTE_FOUND(name, path, argv, envp)                                                                          \
    EXECUTE(name, AT_FDCWD, path, 0, true, path, argv, envp, execute_found(&launch, path, argv, envp))

int provio_execv(const char *path, char *const argv[]) {
    EXECUTE_FILE(execv, path, argv, environ)
}

int provio_execve(const char *path, char *const argv[], char *const envp[]) {
    EXECUTE_FILE(execve, path, argv, envp)
}

int provio_execvp(const char *path, char *const argv[]) {
    EXECUTE_FOUND(execvp, path, argv, environ)
}

int provio_execvpe(const char *path, char *const argv[], char *const envp[]) {
    EXECUTE_FOUND(execvpe, path, argv, envp)
}

int provio_fexecve(int fd, char *const argv[], char *const envp[]) {
    // never released if the exec succeeds; a few bytes if it fails
    struct object *object = watching() ? object_kept(fd) : NULL;
    EXECUTE(fexecve, fd, "", AT_EMPTY_PATH, false, object == NULL ? NULL : object->path, argv, envp,
            REAL(fexecve)(fd, argv, launch.environment))
}

int provio_execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags) {
    EXECUTE(execveat, dirfd, path, flags, false, path, argv, envp,
            REAL(execveat)(dirfd, path, argv, launch.environment, flags))
}

// The arguments are collected on the stack, as exec itself does.
#define GATHERED(first, argv, list)                                                                                    \
    va_list list, counted;                                                                                             \
    va_start(list, first);                                                                                             \
    va_copy(counted, list);                                                                                            \
    size_t count = 1;                                                                                                  \
    for (const char *each = first; each != NULL; each = va_arg(counted, const char *)) count++;                        \
    va_end(counted);                                                                                                   \
    char *argv[count];                                                                                                 \
    argv[0] = (char *)first;                                                                                           \
    for (size_t i = 1; i < count; i++) argv[i] = va_arg(list, char *);

int provio_execl(const char *path, const char *first, ...) {
    GATHERED(first, argv, list)
    va_end(list);
    EXECUTE_FILE(execl, path, argv, environ)
}

int provio_execlp(const char *path, const char *first, ...) {
    GATHERED(first, argv, list)
    va_end(list);
    EXECUTE_FOUND(execlp, path, argv, environ)
}

int provio_execle(const char *path, const char *first, ...) {
    GATHERED(first, argv, list)
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    EXECUTE_FILE(execle, path, argv, envp)
}

// ---- the end of a child

static pid_t ended(int api, pid_t pid, int status, uint64_t started) {
    if (pid > 0 && started != 0) event_child_end(api, pid, status, started);
    return pid;
}

#define WAITING                                                                                                        \
    struct thread *thread = watching() ? thread_self() : NULL;                                                         \
    uint64_t started = thread == NULL ? 0 : now(thread);                                                               \
    int unwanted = 0;                                                                                                  \
    if (status == NULL && thread != NULL) status = &unwanted;

#define WAIT(name, parameters, arguments)                                                                              \
    pid_t provio_##name parameters {                                                                                   \
        WAITING                                                                                                        \
        pid_t pid = REAL(name) arguments;                                                                              \
        return thread == NULL || pid <= 0 ? pid : ended(API_##name, pid, *status, started);                            \
    }
WAIT(wait, (int *status), (status))
WAIT(__wait, (int *status), (status))
WAIT(waitpid, (pid_t pid_wanted, int *status, int options), (pid_wanted, status, options))
WAIT(__waitpid, (pid_t pid_wanted, int *status, int options), (pid_wanted, status, options))
WAIT(wait3, (int *status, int options, struct rusage *usage), (status, options, usage))
WAIT(wait4, (pid_t pid_wanted, int *status, int options, struct rusage *usage), (pid_wanted, status, options, usage))

int provio_waitid(idtype_t kind, id_t id, siginfo_t *info, int options) {
    struct thread *thread = watching() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    siginfo_t unwanted;
    if (info == NULL && thread != NULL) info = &unwanted;
    int result = REAL(waitid)(kind, id, info, options);
    if (result != 0 || thread == NULL || (options & WNOWAIT) || info->si_pid == 0) return result;
    bool exited = info->si_code == CLD_EXITED;
    if (exited || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED)
        event_child_end(API_waitid, info->si_pid, exited ? (info->si_status & 255) << 8 : info->si_status & 127,
                        started);
    return result;
}

// ---- clone(2)

typedef int (*beginning)(void *);
typedef int (*cloning)(beginning, void *, int, void *, pid_t *, void *, pid_t *);

struct start {
    beginning function;
    void *argument;
};

// A child with its own memory, as after fork.
static int forked_child(void *at) {
    struct start start = *(struct start *)at;
    forked(API_clone, 0, NULL, 0);
    return start.function(start.argument);
}

// A child with this memory, but its own descriptors: its calls on them must not be recorded as the parent's.
static int muted_child(void *at) {
    struct start start = *(struct start *)at;
    pool_give(&scratches, at);
    muted = OWN_STORAGE;
    return start.function(start.argument);
}

static const char no_place[] =
    "made a child by clone that shares its memory: the calls of the two cannot be distinguished and are not recorded";

struct clone_call {
    cloning real;
    void *stack;
    int flags;
    pid_t *parent;
    void *tls;
    pid_t *child;
};

static int real_clone(const struct clone_call *call, beginning function, void *argument) {
    return call->real(function, call->stack, call->flags, argument, call->parent, call->tls, call->child);
}

// A child with its own thread-local storage is distinguished by it. Without it, only while the parent waits, as with
// vfork.
static int shared_clone(int api, const struct clone_call *call, struct start *start) {
    bool own_storage = call->flags & CLONE_SETTLS, own_files = !(call->flags & CLONE_FILES);
    if ((call->flags & CLONE_VFORK) && !own_storage && own_files) {
        vfork_begin();
        return vfork_end(api, real_clone(call, start->function, start->argument));
    }
    if (own_storage && !own_files) return real_clone(call, start->function, start->argument); // practically a thread
    if (!own_files && (call->flags & CLONE_VFORK)) return real_clone(call, start->function, start->argument);
    event_gap(api, no_place, NULL);
    if (own_storage) {
        struct start *kept = pool_take(&scratches); // the parent may return before the child reads it
        if (kept == NULL) return real_clone(call, start->function, start->argument);
        *kept = *start;
        return real_clone(call, muted_child, kept);
    }
    self = NULL;
    muted = SHARED_STORAGE;
    return real_clone(call, start->function, start->argument);
}

static int watched_clone(int api, cloning real, beginning function, void *stack, int flags, void *argument,
                         pid_t *parent, void *tls, pid_t *child) {
    struct clone_call call = {real, stack, flags, parent, tls, child};
    struct start start = {function, argument};
    struct thread *thread = watching() && function != NULL && stack != NULL ? thread_self() : NULL;
    if (thread == NULL) return real_clone(&call, function, argument);
    if (flags & CLONE_VM) return shared_clone(api, &call, &start);
    uint64_t started = now(thread);
    child_begin();
    return forked(api, real_clone(&call, forked_child, &start), thread, started);
}

#define CLONE(name)                                                                                                    \
    int provio_##name(beginning function, void *stack, int flags, void *argument, pid_t *parent, void *tls,            \
                      pid_t *child) {                                                                                  \
        return watched_clone(API_##name, REAL(name), function, stack, flags, argument, parent, tls, child);            \
    }
CLONE(clone)
CLONE(__clone)
