// What the test programs share that end where something does not hold.
#include <stdio.h>
#include <stdlib.h>

static void require(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(1);
}
#define MUST(condition) require((condition), #condition)
