// The note by which Go's linker marks a program; what it does is like any other's.
__attribute__((section(".note.go.buildid,\"a\",@note#"), used)) static const struct {
    unsigned name_size, size, type;
    char name[4], text[4];
} note = {4, 4, 4, "Go", "id"};

#include "copy.c"
