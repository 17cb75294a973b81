// `vfork_files COUNT [LAST]`: a child of vfork closes all descriptors from 3 to LAST, if given, opens COUNT files in the
// working directory, and then writes one byte to each.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 512 };

static int files[MOST];

int main(int count, char **arguments) {
    int wanted = count > 1 ? atoi(arguments[1]) : 0, last = count > 2 ? atoi(arguments[2]) : 0, status;
    char name[4] = "000";
    if (wanted < 1 || wanted > MOST) return 1;
    pid_t pid = vfork();
    if (pid == 0) {
        for (int fd = 3; fd <= last; fd++) close(fd);
        for (int i = 0; i < wanted; i++) {
            name[0] = '0' + i / 100, name[1] = '0' + i / 10 % 10, name[2] = '0' + i % 10;
            if ((files[i] = open(name, O_WRONLY | O_CREAT, 0644)) < 0) _exit(2);
        }
        for (int i = 0; i < wanted; i++)
            if (write(files[i], "x", 1) != 1) _exit(3);
        _exit(0);
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}
