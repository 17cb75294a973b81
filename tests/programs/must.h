// For test programs that abort when a condition is false.
#include <stdio.h>
#include <stdlib.h>

static void require(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(1);
}
#define MUST(condition) require((condition), #condition)
