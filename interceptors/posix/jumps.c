// Jumps out of a signal handler that interrupted the shim (siglongjmp): the interrupted use never ends.
//
// Where the stack pointer in the jump's buffer can be read, a jump beyond the interrupted use ends that use at once.
// Elsewhere the jump is noted: the next use is not nested in the interrupted one if its stack pointer is not below it.
#include "rows.h"

static stack_t own_stack(void) {
    stack_t stack = {.ss_flags = SS_DISABLE};
    RAW(sigaltstack, 0, (long)&stack);
    return stack;
}

// End the interrupted use of a thread's state, and free the parts of the state that it held.
static void use_end(struct thread *thread) {
    thread->jumped = false;
    live_release_of(thread->live, thread);
    live_release_of(thread->calls, thread);
    if (thread->sweeping) access_abandon(thread);
    file_unmake(thread);
    *(volatile int *)&thread->depth = 0;
}

void shim_mend(struct thread *thread, uintptr_t pointer) {
    if (thread->jumped && pointer >= thread->outer && !(own_stack().ss_flags & SS_ONSTACK)) use_end(thread);
}

__attribute__((noinline)) void shim_enter_again(struct thread *thread, uintptr_t pointer) {
    shim_mend(thread, pointer);
    if (thread->depth == 0) thread->outer = pointer;
    *(volatile int *)&thread->depth += 1;
}

// The stack pointer in a buffer of setjmp; 0: unknown. glibc stores it rotated, and combined with a secret of the
// process; musl stores it as it is.
#if defined(__x86_64__)
enum { POINTER = 6 };

static uintptr_t pointer_in(const void *buffer) {
    uintptr_t pointer = ((const uintptr_t *)buffer)[POINTER];
#if defined(__GLIBC__)
    asm("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(pointer)::"cc");
#endif
    return pointer;
}

#else
static uintptr_t pointer_in(const void *buffer) {
    (void)buffer;
    return 0;
}
#endif

// A pointer far from the stack in use is of another stack, or stored in an unknown way.
static void jump_begin(const void *buffer) {
    enum { STACK = 1 << 30 };
    struct thread *thread = self;
    if (thread == NULL || thread->depth == 0) return;
    uintptr_t pointer = pointer_in(buffer);
    stack_t own = own_stack();
    bool within = own.ss_flags & SS_ONSTACK && pointer - (uintptr_t)own.ss_sp < own.ss_size;
    if (within || thread->outer - pointer < STACK) return; // the handler goes on
    if (pointer - thread->outer < STACK)
        use_end(thread);
    else
        thread->jumped = true;
}

#define JUMP(name)                                                                                                     \
    void provio_##name(void *buffer, int value) {                                                                      \
        jump_begin(buffer);                                                                                            \
        REAL(name)(buffer, value);                                                                                     \
        __builtin_unreachable();                                                                                       \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
#if defined(__GLIBC__)
JUMP(__longjmp_chk)
#endif
