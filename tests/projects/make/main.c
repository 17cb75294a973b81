#include <stdio.h>

#include "util.h"

int main(int argc, char **argv) {
    double values[100];
    int count = 0;
    FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
    if (!in) return 2;
    while (count < 100 && fscanf(in, "%lf", &values[count]) == 1) count++;
    printf("%g\n", mean(values, count));
    return 0;
}
