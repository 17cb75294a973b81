/* Fortified calls (__read_chk, __fread_chk, __fgets_chk, __printf_chk, __open_2 …): copies itself a few ways. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    size_t room = (size_t)atoi("4096");
    char *buffer = malloc(room), line[256];
    int flags = O_RDONLY | (atoi("0") != 0), in = open(argv[0], flags), out = open("copy", O_WRONLY | O_CREAT | O_TRUNC, 0640);
    ssize_t got;
    long total = 0;
    char fixed[4096];
    while ((got = read(in, fixed, room)) > 0) {
        if (write(out, fixed, (size_t)got) != got) return 2;
        total += got;
    }
    if (pread(in, fixed, room, 16) < 0) return 3;
    close(in);
    close(out);
    FILE *text = fopen("text", "w+");
    fprintf(text, "%s\n%ld\n", "first", 42L);
    rewind(text);
    while (fgets(line, (int)room / 16, text)) printf("%s", line);
    rewind(text);
    printf("%zu\n", fread(fixed, 1, room, text));
    fclose(text);
    printf("copied %d\n", total > 0);
    fprintf(stderr, "%s\n", "to stderr");
    free(buffer);
    return 7;
}
