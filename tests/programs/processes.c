// Starts and waits for a child in every way, in the given folder. Prints `<class> <api>` for each event of the expected
// trace.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

extern char **environ;
pid_t _Fork(void);

enum { LACKING = 77 };

static char *const arguments_true[] = {"true", NULL};

static void await(pid_t pid) {
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) exit(3);
}

// Whether the child succeeded: an emulator may lack the call.
static int carried_out(pid_t pid) {
    int status;
    if (waitpid(pid, &status, 0) != pid || (status != 0 && status != LACKING << 8)) exit(3);
    return status == 0;
}

// The child writes a byte first, because a process image without any record does not record its exec.
#define EXECUTES(api, call)                                                                                            \
    do {                                                                                                               \
        pid_t pid = fork();                                                                                            \
        if (pid == 0) {                                                                                                \
            int own = open("child", O_CREAT | O_WRONLY, 0644);                                                         \
            if (write(own, "x", 1) != 1) _exit(1);                                                                     \
            call;                                                                                                      \
            _exit(errno == ENOSYS ? LACKING : 1);                                                                      \
        }                                                                                                              \
        if (carried_out(pid)) printf("Exec " #api "\n");                                                               \
    } while (0)

static void executions(void) {
    int fd = open("/bin/true", O_RDONLY | O_CLOEXEC), folder = open("/bin", O_RDONLY | O_DIRECTORY);
    EXECUTES(execv, execv("/bin/true", arguments_true));
    EXECUTES(execve, execve("/bin/true", arguments_true, environ));
    EXECUTES(execvp, execvp("true", arguments_true));
    EXECUTES(execvpe, execvpe("true", arguments_true, environ));
    EXECUTES(execl, execl("/bin/true", "true", (char *)NULL));
    EXECUTES(execlp, execlp("true", "true", (char *)NULL));
    EXECUTES(execle, execle("/bin/true", "true", (char *)NULL, environ));
    EXECUTES(fexecve, fexecve(fd, arguments_true, environ));
    EXECUTES(execveat, execveat(folder, "true", arguments_true, environ, 0));
}

#define CHILD(pid, call)                                                                                               \
    if ((pid = call) == 0) _exit(0)

static void waits(void) {
    int status;
    struct rusage usage;
    siginfo_t info;
    pid_t pid;
    CHILD(pid, fork());
    if (wait(NULL) != pid) exit(4);
    CHILD(pid, _Fork());
    if (wait3(&status, 0, &usage) != pid) exit(4);
    CHILD(pid, fork());
    if (wait4(pid, NULL, 0, NULL) != pid) exit(4);
    CHILD(pid, vfork());
    if (waitid(P_PID, (id_t)pid, &info, WEXITED) != 0 || info.si_pid != pid) exit(4);
    printf("ChildEnd wait\nChildEnd wait3\nChildEnd wait4\nChildEnd waitid\nFork _Fork\nFork vfork\nFork fork\n");
}

static void spawns(void) {
    pid_t pid;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments_true, environ) != 0) exit(5);
    await(pid);
    if (posix_spawnp(&pid, "true", NULL, NULL, arguments_true, environ) != 0) exit(5);
    await(pid);
    if (system("true") != 0) exit(5);
    FILE *stream = popen("echo hello", "r");
    char line[20];
    if (fgets(line, sizeof line, stream) == NULL || pclose(stream) != 0) exit(5);
    printf("Spawn posix_spawn\nSpawn posix_spawnp\nSpawn system\nSpawn popen\nChildEnd waitpid\n");
}

static void terminals(void) {
    char name[] = "mkdtempXXXXXX";
    if (mkdtemp(name) == NULL || mknodat(AT_FDCWD, "node", S_IFREG | 0600, 0) != 0) exit(6);
    printf("Create mkdtemp\nCreate mknodat\n");
    DIR *folder = opendir(name);
    if (folder == NULL || closedir(folder) != 0) exit(6);
    int master, slave;
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0) exit(6);
    close(slave);
    close(master);
    pid_t pid = forkpty(&master, NULL, NULL, NULL);
    if (pid == 0) _exit(0);
    await(pid);
    printf("Fork forkpty\n");
    pid = fork();
    if (pid == 0) {
        if (openpty(&master, &slave, NULL, NULL, NULL) != 0 || setsid() < 0) _exit(1);
        _exit(login_tty(slave) != 0);
    }
    await(pid);
    pid = fork();
    if (pid == 0) {
        if (daemon(1, 0) != 0) _exit(1);
        int fd = open("daemon", O_CREAT | O_WRONLY, 0644);
        _exit(write(fd, "x", 1) != 1);
    }
    await(pid);
}

int main(int count, char **arguments) {
    if (count != 2 || chdir(arguments[1]) != 0) return 1;
    setvbuf(stdout, NULL, _IONBF, 0);
    executions();
    waits();
    spawns();
    terminals();
#if defined(__GLIBC__)
    closefrom(3);
#endif
    return 0;
}
