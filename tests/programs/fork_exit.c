/* A fork whose child reads and writes and ends by _exit, with a buffer that is never flushed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int parents = open("parent", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(parents, "before ", 7) != 7) return 1;
    pid_t child = fork();
    if (child == 0) {
        FILE *lost = fopen("lost", "w");
        fputs("never flushed", lost);
        int own = open("child", O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (write(parents, "child ", 6) != 6 || write(own, "own", 3) != 3) _exit(9);
        _exit(4);
    }
    int status;
    waitpid(child, &status, 0);
    if (write(parents, "after", 5) != 5) return 1;
    char all[64] = {0};
    if (pread(parents, all, sizeof all, 0) < 0) return 1;
    printf("%d: %s\n", WEXITSTATUS(status), all);
    return 0;
}
