// Prints by each way of the C library to standard output and error.
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void) {
    char line[3000];
    printf("formatted %d\n", 5);
    puts("line");
    fputs("x", stdout);
    putchar('y');
    putchar_unlocked('z');
    putchar('\n');
    fprintf(stderr, "error %s\n", "E");
    fputc('c', stderr);
    fwrite("block\n", 1, 6, stdout);
    fflush(stdout);
    write(1, "raw\n", 4);
    writev(1, (const struct iovec[]){{"two ", 4}, {"parts\n", 6}}, 2);
    dprintf(2, "descriptor %d\n", 3);
    memset(line, 'q', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    printf("%s\n", line);
    fprintf(stderr, "%s\n", line);
    for (int i = 0; i < 5000; i++) putc_unlocked('a' + i % 26, stdout);
    return 0;
}
