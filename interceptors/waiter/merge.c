// Has a store merged by a process in the background: told of another run where it is there, else started.
//
// It listens at an address that is no file, named after the device and inode of `.provio`, so that the kernel lets the
// name go with the process, and an unmounted or removed project is in nobody's way (provio/merge/background.py).

#include "waiter.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static bool told_of_a_run(const char *home) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat found;
    if (stat(home, &found) != 0) return false;
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "provio-merge/%lx/%lu",
                          (unsigned long)found.st_dev, (unsigned long)found.st_ino);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char message[4200];
    int said = snprintf(message, sizeof message, "run %s", home);
    bool told = fd >= 0 && said < (int)sizeof message &&
                sendto(fd, message, (size_t)said, 0, (struct sockaddr *)&address, size) == said;
    if (fd >= 0) close(fd);
    return told;
}

// Nothing of the caller's stays open in it: who reads the caller's output sees its end.
static void begin(const struct told *told) {
    setsid();
    int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(nowhere, fd);
    if (syscall(SYS_close_range, 3, ~0U, 0) != 0)
        for (int fd = 3; fd < 1024; fd++) close(fd);
    if (chdir("/") != 0) _exit(127);
    execl(told->python, told->python, "-P", "-m", "provio.merge.background", told->home, told->settings, told->checkout,
          (char *)NULL);
    _exit(127);
}

void merge_later(const struct told *told) {
    if (told_of_a_run(told->home)) return;
    put_back_signals(told);
    if (vfork() == 0) begin(told); // this process goes on when that one has let go of all that is in the project
}
