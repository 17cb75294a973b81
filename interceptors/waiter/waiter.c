// Waits for a command instead of `provio run`. In: a descriptor with the state of `provio run`. Out: the command's own
// end.
//
// A `provio run` with a running command becomes this program by an exec: same process, same children, same descriptors,
// a tenth of the memory, and a cheap end. It passes signals on as `provio run` does, records the end in `run.ttl`,
// examines files without a recorded close, passes on the contents of files with parameters, and starts the background
// merge. It becomes Python again if more is needed: a merge to wait for, hashes, a shared record.

#include "waiter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char VARIABLE[] = "PROVIO_WAIT";
static char CONTINUE[] = "from provio.record.waiter.run_end import main; main()";

static sigset_t signals(const char *mask) {
    unsigned long long bits = strtoull(mask, NULL, 16);
    sigset_t set;
    sigemptyset(&set);
    for (int number = 1; number <= 64; number++)
        if (bits >> (number - 1) & 1) sigaddset(&set, number);
    return set;
}

// Descriptors opened here must not become a standard stream: a Python whose standard input is a folder does not start.
static void open_streams(void) {
    while (fcntl(STDERR_FILENO, F_GETFD) < 0 || fcntl(STDOUT_FILENO, F_GETFD) < 0 || fcntl(STDIN_FILENO, F_GETFD) < 0)
        if (open("/dev/null", O_RDWR) < 0) return;
}

// Return the descriptor; -1: its content is malformed.
static int read_handoff(struct handoff *handoff) {
    const char *variable = getenv(VARIABLE), **fields = (const char **)handoff;
    struct stat found;
    int fd = variable == NULL ? -1 : atoi(variable);
    if (fd < 0 || fstat(fd, &found) != 0 || found.st_size < 1) return -1;
    char *text = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, fd, 0), *at = text;
    if (text == MAP_FAILED) return -1;
    for (size_t i = 0; i < sizeof *handoff / sizeof *fields; i++) {
        fields[i] = at;
        at = memchr(at, '\0', (size_t)(text + found.st_size - at));
        if (at++ == NULL || at == text + found.st_size) return -1;
    }
    unsetenv(VARIABLE);
    return fd;
}

// Signals from the terminal reach the command directly; those that a process sent are passed on.
static bool for_command(const siginfo_t *info) {
    bool from_terminal = info->si_signo == SIGINT || info->si_signo == SIGQUIT;
    return info->si_signo != SIGCHLD && !(from_terminal && info->si_code > 0);
}

static int wait_for(const struct handoff *handoff) {
    pid_t pid = atoi(handoff->pid), ended;
    sigset_t awaited = signals(handoff->awaited);
    int status = 0;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
        siginfo_t info;
        if (sigwaitinfo(&awaited, &info) > 0 && for_command(&info)) kill(pid, info.si_signo);
    }
    return ended == pid ? status : 0;
}

void restore_signals(const struct handoff *handoff) {
    sigset_t before = signals(handoff->before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

// ---- the background merge

// The background merge listens at an abstract address, named after the device and inode of `.provio`: the kernel
// removes it with the process, and it does not block unmounting or removing the project (provio/merge/background.py).
static bool notify_merge(const char *home) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat found;
    if (stat(home, &found) != 0) return false;
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "provio-merge/%lx/%lu",
                          (unsigned long)found.st_dev, (unsigned long)found.st_ino);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char message[4200];
    int text = snprintf(message, sizeof message, "run %s", home);
    bool notified = fd >= 0 && text < (int)sizeof message &&
                    sendto(fd, message, (size_t)text, 0, (struct sockaddr *)&address, size) == text;
    if (fd >= 0) close(fd);
    return notified;
}

static void merge_later(const struct handoff *handoff) {
    if (notify_merge(handoff->home)) return;
    start_module(handoff, "provio.merge.background", NULL, -1, -1);
}

// ---- the end

static void end_with(int status) {
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        struct rlimit core;
        sigset_t one;
        getrlimit(RLIMIT_CORE, &core);
        core.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &core);
        signal(number, SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, number);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        kill(getpid(), number);
        _exit(128 + number);
    }
    _exit(WEXITSTATUS(status));
}

// Returns only if Python cannot be started, after a message. Signals stay blocked until Python can handle them.
static void continue_in_python(const struct handoff *handoff, int fd, int status) {
    char numbers[2][16];
    snprintf(numbers[0], sizeof numbers[0], "%d", fd);
    snprintf(numbers[1], sizeof numbers[1], "%d", status);
    execl(handoff->python, handoff->python, "-P", "-c", CONTINUE, numbers[0], numbers[1], (char *)NULL);
    if (*handoff->word != '\0')
        dprintf(STDERR_FILENO, "provio: the run is recorded, but its end was not processed: cannot start %s (%m)\n",
                handoff->python);
}

// Print the line about the run, with the number of its gaps.
static void print_word(const char *word, unsigned gaps) {
    int length = (int)strcspn(word, "\n");
    if (gaps == 0)
        dprintf(STDERR_FILENO, "%s", word);
    else
        dprintf(STDERR_FILENO, "%.*s, %u gap%s: provio show last%s", length, word, gaps, gaps == 1 ? "" : "s",
                word + length);
}

// On failure, Python tries again. Signals stay blocked: this program ends as the command did.
static bool finish(const struct handoff *handoff, int status) {
    unsigned gaps = 0;
    if (!record_end(handoff, status, &gaps) || *handoff->mode == PYTHON) return false;
    gaps += report_unclosed(handoff);
    pass_values(handoff);
    if (*handoff->mode == MERGE) merge_later(handoff);
    if (*handoff->word != '\0') print_word(handoff->word, gaps);
    return true;
}

int main(void) {
    struct handoff handoff;
    int fd = read_handoff(&handoff);
    if (fd < 0) return 125;
    open_streams();
    if (*handoff.mode == POST_RUN) {
        report_unclosed(&handoff);
        pass_values(&handoff);
        return 0;
    }
    prctl(PR_SET_NAME, "provio");
    int status = *handoff.pid == '0' ? atoi(handoff.status) : wait_for(&handoff);
    if (!finish(&handoff, status)) {
        continue_in_python(&handoff, fd, status);
        restore_signals(&handoff);
    }
    end_with(status);
}
