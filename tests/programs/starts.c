// Starts a program in every way, one after the other: `starts PROGRAM ARGUMENT...`. With `-e` as the first argument,
// the preload is removed from the environment before each start. Prints how each one ended.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void ended(const char *way, pid_t pid) {
    int status = 0;
    if (pid > 0) waitpid(pid, &status, 0);
    printf("%s %d\n", way, pid < 0 ? -1 : WEXITSTATUS(status));
}

#define EXECUTES(way, make, call)                                                                                      \
    do {                                                                                                               \
        pid_t pid = make();                                                                                            \
        if (pid == 0) {                                                                                                \
            call;                                                                                                      \
            _exit(errno);                                                                                              \
        }                                                                                                              \
        ended(way, pid);                                                                                               \
    } while (0)

static int spawned(const char *way, char **arguments) {
    pid_t pid = 0;
    int error = posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ);
    if (error != 0) return printf("%s failed %d\n", way, error);
    ended(way, pid);
    return 0;
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count < 2) return 1;
    arguments++;
    if (strcmp(arguments[0], "-e") == 0) {
        unsetenv("LD_PRELOAD");
        arguments++;
    }
    const char *program = arguments[0], *slash = strrchr(program, '/');
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    EXECUTES("execv", fork, execv(program, arguments));
    EXECUTES("execve", vfork, execve(program, arguments, environ));
    EXECUTES("execl", fork, execl(program, program, arguments[1], arguments[2], (char *)NULL));
    EXECUTES("fexecve", fork, fexecve(fd, arguments, environ));
    spawned("posix_spawn", arguments);
    char path[4096];
    snprintf(path, sizeof path, "/nowhere:%.*s:/bin", (int)(slash - program), program);
    setenv("PATH", path, 1);
    EXECUTES("execvp", vfork, execvp(slash + 1, arguments));
    pid_t pid = 0;
    if (posix_spawnp(&pid, slash + 1, NULL, NULL, arguments, environ) == 0) ended("posix_spawnp", pid);
    return 0;
}
