// Records in `run.ttl` that a run ended, and how. The file is replaced atomically, as in provio/trace/run_source.py.

#include "waiter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool write_all(int fd, const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(fd, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        text += written;
        length -= (size_t)written;
    }
    return true;
}

static char *content(const char *path, struct stat *found) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return NULL;
    char *text = fstat(fd, found) == 0 && S_ISREG(found->st_mode) ? malloc((size_t)found->st_size + 1) : NULL;
    size_t length = 0;
    for (ssize_t got; text != NULL && length < (size_t)found->st_size; length += (size_t)got)
        if ((got = read(fd, text + length, (size_t)found->st_size - length)) <= 0) break;
    close(fd);
    if (text != NULL) text[length] = '\0';
    return text;
}

static int format_end(char *line_end, size_t size, int status) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const char *word = WIFSIGNALED(status) ? "signal" : "exitCode";
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return snprintf(line_end, size, " ; :endedNs %lld%09ld ; :%s %d", (long long)now.tv_sec, now.tv_nsec, word, number);
}

// Return the end of the line that describes the run: it starts with the run's IRI and class, and ends with a space and
// a full stop.
static const char *end_of_line(const char *text, const char *subject) {
    size_t length = strlen(subject);
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        if (strncmp(line, subject, length) == 0) return end - line > (long)length + 2 && *--end == '.' ? end - 1 : NULL;
        line = *end == '\0' ? NULL : end + 1;
    }
    return NULL;
}

bool record_end(const struct handoff *handoff, int status, unsigned *gaps) {
    char path[4096], new[4096], line_end[96];
    struct stat found;
    if (snprintf(path, sizeof path, "%s/run.ttl", handoff->run_folder) >= (int)sizeof path) return false;
    snprintf(new, sizeof new, "%s/run.new", handoff->run_folder);
    char *text = content(path, &found);
    const char *cut = text == NULL ? NULL : end_of_line(text, handoff->subject);
    if (cut == NULL) return false;
    *gaps = strstr(cut, "/unwatched> a :Gap ") != NULL;
    unlink(new);
    int fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return false;
    int length = format_end(line_end, sizeof line_end, status);
    bool whole = write_all(fd, text, (size_t)(cut - text)) && write_all(fd, line_end, (size_t)length) &&
                 write_all(fd, cut, strlen(cut)) && fchmod(fd, found.st_mode & 0777) == 0;
    close(fd);
    return whole && rename(new, path) == 0;
}
