// Pseudo-terminals whose master is opened in the run: master and slave are the two ends of a connection.
//
// The process that opens a master leaves a mark in the run's folder, a symbolic link whose target identifies this use
// of the terminal. Any process of the run that finds a terminal open searches its mark once, at the first use. A
// terminal without a mark, as the one on which the run was started, is not recorded.
#include "rows.h"

#include <sys/ioctl.h>

#ifndef TIOCGDEV
#define TIOCGDEV 0x80045432
#endif

// The slave's facts, from a descriptor of the master or of /dev/tty.
static bool slave_facts(int fd, struct facts *facts) {
    enum { FIRST_MAJOR = 136, LAST_MAJOR = 143 };
    char name[32];
    struct text text = {name, name + sizeof name - 1};
    unsigned device = 0, major;
    if (RAW(ioctl, fd, TIOCGDEV, (long)&device) != 0) return false;
    major = device >> 8 & 0xfff;
    TEXT(&text, "/dev/pts/");
    text_number(&text, (device & 0xff) | (device >> 12 & 0xfff00));
    *text.at = '\0';
    return major >= FIRST_MAJOR && major <= LAST_MAJOR && statx_facts(AT_FDCWD, name, 0, facts) &&
           facts->terminal == TERMINAL_SLAVE;
}

static void text_terminal_place(struct text *text, const struct facts *slave) {
    text_number(text, slave->device_minor);
    TEXT(text, ".");
    text_number(text, slave->inode);
}

// A number that is used again gets a new mark. No other process can have the new slave yet.
static bool mark_make(const char *mark, const struct facts *slave, uint64_t opened) {
    char target[96];
    struct text text = {target, target + sizeof target - 1};
    text_terminal_place(&text, slave);
    TEXT(&text, ".");
    text_number(&text, opened);
    *text.at = '\0';
    RAW(unlinkat, AT_FDCWD, (long)mark, 0);
    return RAW(symlinkat, (long)target, AT_FDCWD, (long)mark) == 0;
}

static bool mark_read(const char *mark, char *room, size_t size) {
    long length = RAW(readlinkat, AT_FDCWD, (long)mark, (long)room, (long)size - 1);
    if (length <= 0) return false;
    room[length] = '\0';
    return strspn(room, "0123456789.") == (size_t)length;
}

// Make an opening of a terminal the end of a connection; return false if the terminal is not one of the run. `opened`:
// when this process opened it by `api`, or 0 if it was found open.
bool terminal_read(int api, int fd, struct object *object, uint64_t opened) {
    bool master = object->facts.terminal == TERMINAL_MASTER;
    struct facts slave = object->facts;
    char *mark = pool_take(&scratches);
    bool found = mark != NULL && (slave.terminal == TERMINAL_SLAVE || slave_facts(fd, &slave));
    if (found) {
        struct text text = {mark, mark + PATH_ROOM - 1};
        text_string(&text, settings.folder);
        TEXT(&text, "/");
        text_terminal_place(&text, &slave);
        TEXT(&text, ".terminal");
        *text.at = '\0';
        bool marked = !master || opened == 0 || mark_make(mark, &slave, opened);
        found = marked && mark_read(mark, object->connection.path, TERMINAL_ROOM);
    }
    if (mark != NULL) pool_give(&scratches, mark);
    if (!found && master && opened != 0) unfollowed(LOST_TERMINAL, api);
    if (!found) return false;
    object->connection.family = master ? FAMILY_MASTER : FAMILY_SLAVE;
    object->kind = TERM_Socket;
    object->facts.mode = S_IFSOCK;
    return true;
}

void text_terminal(struct text *text, const struct connection *connection) {
    bool master = connection->family == FAMILY_MASTER;
    TEXT(text, " ; " TERM_localAddress " \"terminal.");
    text_string(text, connection->path);
    text_string(text, master ? ".master\" ; " : ".slave\" ; ");
    TEXT(text, TERM_peerAddress " \"terminal.");
    text_string(text, connection->path);
    text_string(text, master ? ".slave\"" : ".master\"");
}

// ---- the calls

#define MASTER(name, parameters, arguments, flags)                                                                     \
    int provio_##name parameters {                                                                                     \
        struct thread *thread = watching() ? thread_self() : NULL;                                                     \
        uint64_t started = thread == NULL ? 0 : now(thread);                                                           \
        int result = REAL(name) arguments;                                                                             \
        if (result >= 0 && thread != NULL) object_open(API_##name, result, -1, NULL, flags, started, false);           \
        return result;                                                                                                 \
    }
MASTER(posix_openpt, (int flags), (flags), flags)
MASTER(getpt, (void), (), O_RDWR)

int provio_openpty(int *master, int *slave, char *name, const void *terminal, const void *window) {
    struct thread *thread = watching() ? thread_self() : NULL;
    uint64_t started = thread == NULL ? 0 : now(thread);
    int result = REAL(openpty)(master, slave, name, terminal, window);
    if (thread == NULL || result != 0) return result;
    object_open(API_openpty, *master, -1, NULL, O_RDWR, started, false);
    object_forget(*slave);
    return result;
}

int provio_login_tty(int fd) {
    bool watched = watching();
    int result = REAL(login_tty)(fd);
    if (!watched || result != 0) return result;
    object_forget(fd); // closed, unless it is one of the following
    forget_standard();
    return result;
}
