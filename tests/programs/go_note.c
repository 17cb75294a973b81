// Contains the note with which Go's linker marks a program; otherwise an ordinary program.
__attribute__((section(".note.go.buildid,\"a\",@note#"), used)) static const struct {
    unsigned name_size, size, type;
    char name[4], text[4];
} note = {4, 4, 4, "Go", "id"};

#include "copy.c"
