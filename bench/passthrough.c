// A preload that does nothing: each function of provio's table, passed on to the next library with one jump.
// The minimal cost of any preload library. The arguments stay in their registers, so every call can be passed on, vfork too;
// a function is looked up at its first call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#define FORWARD(name)                                                                                                  \
    __asm__(".section .rodata\nname_" #name ": .string \"" #name "\"\n"                                                \
            ".bss\n.balign 8\nslot_" #name ": .skip 8\n"                                                               \
            ".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                                        \
            "    movq slot_" #name "(%rip), %r11\n    testq %r11, %r11\n    jz 1f\n    jmp *%r11\n"                    \
            "1:  leaq slot_" #name "(%rip), %r11\n    leaq name_" #name "(%rip), %r10\n    jmp look_up_and_go\n");

#define CALL(name, ...) FORWARD(name)
#define CHARACTER CALL
#define VARIADIC CALL
#define FRESH CALL
#define HAND CALL
#define SKIP(name, why)
#define SKIPS(why, ...)
#include "../interceptors/posix/calls.def"

// Looks up %r10 into the slot %r11 and goes there, with all that can hold an argument as it was.
__asm__(".text\nlook_up_and_go:\n"
        "    pushq %rbp\n    movq %rsp, %rbp\n    andq $-16, %rsp\n    subq $192, %rsp\n"
        "    movq %rdi, (%rsp)\n    movq %rsi, 8(%rsp)\n    movq %rdx, 16(%rsp)\n    movq %rcx, 24(%rsp)\n"
        "    movq %r8, 32(%rsp)\n    movq %r9, 40(%rsp)\n    movq %rax, 48(%rsp)\n"
        "    movups %xmm0, 64(%rsp)\n    movups %xmm1, 80(%rsp)\n    movups %xmm2, 96(%rsp)\n"
        "    movups %xmm3, 112(%rsp)\n    movups %xmm4, 128(%rsp)\n    movups %xmm5, 144(%rsp)\n"
        "    movups %xmm6, 160(%rsp)\n    movups %xmm7, 176(%rsp)\n"
        "    movq %r10, %rdi\n    movq %r11, %rsi\n    call look_up\n    movq %rax, %r11\n"
        "    movq (%rsp), %rdi\n    movq 8(%rsp), %rsi\n    movq 16(%rsp), %rdx\n    movq 24(%rsp), %rcx\n"
        "    movq 32(%rsp), %r8\n    movq 40(%rsp), %r9\n    movq 48(%rsp), %rax\n"
        "    movups 64(%rsp), %xmm0\n    movups 80(%rsp), %xmm1\n    movups 96(%rsp), %xmm2\n"
        "    movups 112(%rsp), %xmm3\n    movups 128(%rsp), %xmm4\n    movups 144(%rsp), %xmm5\n"
        "    movups 160(%rsp), %xmm6\n    movups 176(%rsp), %xmm7\n"
        "    leave\n    jmp *%r11\n");

static long absent(void) {
    errno = ENOSYS;
    return -1;
}

__attribute__((used, visibility("hidden"))) void *look_up(const char *name, void **slot) {
    void *found = dlsym(RTLD_NEXT, name);
    return *slot = found != NULL ? found : (void *)absent;
}
