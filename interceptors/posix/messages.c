// Keeps the messages that the C library itself writes to standard error (perror, error, err, warn, assert …), if the
// output of the run is recorded.
//
// `error` and `warn` are also names of functions of other libraries, with other parameters. So each wrapper is a jump
// that changes no argument: to the real function, or to the one that keeps the text if the real one is the C library's.
// On other processors than x86_64 and aarch64, the functions are not wrapped.
#include "output.h"

#include <locale.h>

#if defined(__GLIBC__)
#define FOR_EACH_OF_GLIBC(DO) DO(error) DO(error_at_line) DO(__assert_perror_fail)
#else
#define FOR_EACH_OF_GLIBC(DO)
#endif
#define FOR_EACH(DO)                                                                                                   \
    DO(perror)                                                                                                         \
    DO(psignal)                                                                                                        \
    DO(err)                                                                                                            \
    DO(errx)                                                                                                           \
    DO(verr)                                                                                                           \
    DO(verrx)                                                                                                          \
    DO(warn) DO(warnx) DO(vwarn) DO(vwarnx) DO(__assert_fail) FOR_EACH_OF_GLIBC(DO)

#if defined(__x86_64__) || defined(__aarch64__)
// ---- jumps

// The target of each jump. The first call of any looks the real functions up, with the arguments kept.
#define TARGET(name)                                                                                                   \
    __attribute__((visibility("hidden"))) void provio_first_##name(void);                                              \
    __attribute__((visibility("hidden"), used)) void *_Atomic provio_to_##name = (void *)provio_first_##name;
FOR_EACH(TARGET)

static struct real real;

static void find(void *_Atomic *target, void *function) {
    atomic_store(target, function);
}

__attribute__((visibility("hidden"), used)) void provio_messages_find(void) {
    int kept = errno;
#define FIND(name) find(&provio_to_##name, (void *)(real.real_##name = REAL(name)));
    FOR_EACH(FIND)
    errno = kept;
}

#if defined(__x86_64__)
#define ENTRY "\tendbr64\n"
#define GO(name) "\tjmp *provio_to_" #name "(%rip)\n"
#define FIRST "\tcall provio_messages_first\n"
asm(".text\n.type provio_messages_first, @function\nprovio_messages_first:\n\t.cfi_startproc\n"
    "\tpush %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbp, -16\n\tmov %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n"
    "\tsub $192, %rsp\n\tand $-16, %rsp\n"
    "\tmov %rdi, (%rsp)\n\tmov %rsi, 8(%rsp)\n\tmov %rdx, 16(%rsp)\n\tmov %rcx, 24(%rsp)\n\tmov %r8, 32(%rsp)\n"
    "\tmov %r9, 40(%rsp)\n\tmov %rax, 48(%rsp)\n"
    "\tmovaps %xmm0, 64(%rsp)\n\tmovaps %xmm1, 80(%rsp)\n\tmovaps %xmm2, 96(%rsp)\n\tmovaps %xmm3, 112(%rsp)\n"
    "\tmovaps %xmm4, 128(%rsp)\n\tmovaps %xmm5, 144(%rsp)\n\tmovaps %xmm6, 160(%rsp)\n\tmovaps %xmm7, 176(%rsp)\n"
    "\tcall provio_messages_find\n"
    "\tmov (%rsp), %rdi\n\tmov 8(%rsp), %rsi\n\tmov 16(%rsp), %rdx\n\tmov 24(%rsp), %rcx\n\tmov 32(%rsp), %r8\n"
    "\tmov 40(%rsp), %r9\n\tmov 48(%rsp), %rax\n"
    "\tmovaps 64(%rsp), %xmm0\n\tmovaps 80(%rsp), %xmm1\n\tmovaps 96(%rsp), %xmm2\n\tmovaps 112(%rsp), %xmm3\n"
    "\tmovaps 128(%rsp), %xmm4\n\tmovaps 144(%rsp), %xmm5\n\tmovaps 160(%rsp), %xmm6\n\tmovaps 176(%rsp), %xmm7\n"
    "\tleave\n\t.cfi_def_cfa %rsp, 8\n\tret\n\t.cfi_endproc\n.size provio_messages_first, .-provio_messages_first\n");
#else
#define ENTRY "\thint #34\n"
#define GO(name) "\tadrp x16, provio_to_" #name "\n\tldr x16, [x16, :lo12:provio_to_" #name "]\n\tbr x16\n"
#define FIRST                                                                                                          \
    "\tstp x29, x30, [sp, #-16]!\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 29, -16\n\t.cfi_offset 30, -8\n"             \
    "\tbl provio_messages_first\n\tldp x29, x30, [sp], #16\n\t.cfi_restore 29\n\t.cfi_restore 30\n"                    \
    "\t.cfi_def_cfa_offset 0\n"
asm(".text\n.type provio_messages_first, %function\nprovio_messages_first:\n\t.cfi_startproc\n"
    "\tstp x29, x30, [sp, #-224]!\n\t.cfi_def_cfa_offset 224\n\t.cfi_offset 29, -224\n\t.cfi_offset 30, -216\n"
    "\tmov x29, sp\n"
    "\tstp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n\tstp x6, x7, [sp, #64]\n"
    "\tstr x8, [sp, #80]\n"
    "\tstp q0, q1, [sp, #96]\n\tstp q2, q3, [sp, #128]\n\tstp q4, q5, [sp, #160]\n\tstp q6, q7, [sp, #192]\n"
    "\tbl provio_messages_find\n"
    "\tldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n\tldp x4, x5, [sp, #48]\n\tldp x6, x7, [sp, #64]\n"
    "\tldr x8, [sp, #80]\n"
    "\tldp q0, q1, [sp, #96]\n\tldp q2, q3, [sp, #128]\n\tldp q4, q5, [sp, #160]\n\tldp q6, q7, [sp, #192]\n"
    "\tldp x29, x30, [sp], #224\n\t.cfi_def_cfa_offset 0\n\t.cfi_restore 29\n\t.cfi_restore 30\n\tret\n\t.cfi_endproc\n"
    ".size provio_messages_first, .-provio_messages_first\n");
#endif

#define JUMP(name)                                                                                                     \
    asm(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n\t.cfi_startproc\n" ENTRY GO(                \
        name) "\t.cfi_endproc\n.size " #name ", .-" #name "\n"                                                         \
              ".hidden provio_first_" #name "\n.globl provio_first_" #name "\n.type provio_first_" #name               \
              ", %function\nprovio_first_" #name                                                                       \
              ":\n\t.cfi_startproc\n" ENTRY FIRST GO(name) "\t.cfi_endproc\n.size "                                    \
                                                           "provio_first_" #name ", .-provio_first_" #name "\n");
FOR_EACH(JUMP)

// ---- texts

static int (*error_text)(int, char *, size_t);               // strerror_r(3) of POSIX
static char *(*translated)(const char *, const char *, int); // dcgettext(3)

// Variables of the C library, looked up here: each one that the shim is linked with costs every process time.
static FILE *const *standard_error;
static char *const *short_name;
#if defined(__GLIBC__)
static char *const *full_name;
static const unsigned *one_per_line;
static void (**print_name)(void);
#endif

struct message {
    int which, count;
    struct iovec parts[8];
    char room[256];
};

static void add_bytes(struct message *message, const char *bytes, size_t size) {
    message->parts[message->count++] = (struct iovec){(void *)bytes, size};
}

static void add_text(struct message *message, const char *text) {
    add_bytes(message, text, strlen(text));
}

static void add_error(struct message *message, int number) {
    message->room[0] = '\0';
    if (error_text != NULL) error_text(number, message->room, sizeof message->room);
    add_text(message, message->room);
}

static void add_prefix(struct message *message, const char *text) {
    if (text == NULL || *text == '\0') return;
    add_text(message, text);
    add_text(message, ": ");
}

static void keep_message(struct message *message) {
    keep_parts(message->which, message->parts, message->count);
}

// A text with a fixed format, which the C library translates.
static void keep_format(int which, const char *format, ...) {
    struct formatted made;
    va_list list;
    va_start(list, format);
    output_format(&made, translated == NULL ? format : translated("libc", format, LC_MESSAGES), list);
    va_end(list);
    keep_parts(which, &(struct iovec){made.text, made.size}, 1);
    output_formatted(&made);
}

// ---- functions

static void kept_perror(const char *text) {
    struct message message = {.which = output_before(*standard_error)};
    int number = errno;
    if (message.which >= 0) {
        add_prefix(&message, text);
        add_error(&message, number);
        add_text(&message, "\n");
        keep_message(&message);
    }
    errno = number;
    real.real_perror(text);
    if (message.which >= 0) output_after(message.which, *standard_error);
}

static void kept_psignal(int number, const char *text) {
    struct message message = {.which = output_before(*standard_error)};
    int kept = errno;
    char *(*signal_text)(int) = number > 0 && number < 32 ? real_named("strsignal") : NULL; // of others it makes a text
    if (message.which >= 0 && signal_text != NULL) {
        add_prefix(&message, text);
        add_text(&message, signal_text(number));
        add_text(&message, "\n");
        keep_message(&message);
    }
    errno = kept;
    real.real_psignal(number, text);
    if (message.which >= 0) output_after(message.which, *standard_error);
}

// A message of warn(3), with the text of an error or without.
static int keep_warning(bool with_error, const char *format, va_list list) {
    struct message message = {.which = output_before(*standard_error)};
    struct formatted made;
    int number = errno;
    if (message.which < 0) return message.which;
    add_text(&message, *short_name);
    add_text(&message, ": ");
    if (format != NULL) {
        output_format(&made, format, list);
        add_bytes(&message, made.text, made.size);
    }
    if (with_error) {
        if (format != NULL) add_text(&message, ": ");
        add_error(&message, number);
    }
    add_text(&message, "\n");
    keep_message(&message);
    if (format != NULL) output_formatted(&made);
    errno = number;
    return message.which;
}

#define KEPT_WARNING(name, with_error)                                                                                 \
    static void kept_v##name(const char *format, va_list list) {                                                       \
        va_list copy;                                                                                                  \
        va_copy(copy, list);                                                                                           \
        int which = keep_warning(with_error, format, copy);                                                            \
        va_end(copy);                                                                                                  \
        real.real_v##name(format, list);                                                                               \
        if (which >= 0) output_after(which, *standard_error);                                                          \
    }                                                                                                                  \
    static void kept_##name(const char *format, ...) {                                                                 \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        kept_v##name(format, list);                                                                                    \
        va_end(list);                                                                                                  \
    }
#define KEPT_END(name, with_error)                                                                                     \
    static void kept_v##name(int status, const char *format, va_list list) {                                           \
        va_list copy;                                                                                                  \
        va_copy(copy, list);                                                                                           \
        keep_warning(with_error, format, copy);                                                                        \
        va_end(copy);                                                                                                  \
        real.real_v##name(status, format, list);                                                                       \
    }                                                                                                                  \
    static void kept_##name(int status, const char *format, ...) {                                                     \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        kept_v##name(status, format, list);                                                                            \
        va_end(list);                                                                                                  \
    }
KEPT_WARNING(warn, true)
KEPT_WARNING(warnx, false)
KEPT_END(err, true)
KEPT_END(errx, false)

#if defined(__GLIBC__)
static void kept___assert_fail(const char *text, const char *file, unsigned line, const char *function) {
    int which = output_before(*standard_error), kept = errno;
    const char *program = *short_name;
    if (which >= 0)
        keep_format(which, "%s%s%s:%u: %s%sAssertion `%s' failed.\n", program, *program == '\0' ? "" : ": ", file, line,
                    function == NULL ? "" : function, function == NULL ? "" : ": ", text);
    errno = kept;
    real.real___assert_fail(text, file, line, function);
}

static void kept___assert_perror_fail(int number, const char *file, unsigned line, const char *function) {
    int which = output_before(*standard_error), kept = errno;
    const char *program = *short_name;
    char room[256] = "";
    if (error_text != NULL) error_text(number, room, sizeof room);
    if (which >= 0)
        keep_format(which, "%s%s%s:%u: %s%sUnexpected error: %s.\n", program, *program == '\0' ? "" : ": ", file, line,
                    function == NULL ? "" : function, function == NULL ? "" : ": ", room);
    errno = kept;
    real.real___assert_perror_fail(number, file, line, function);
}

// The text goes on as it was formatted: no form of these functions takes a va_list. If the program prints its own
// prefix, or leaves out messages of the same line, nothing is kept.
static int keep_error(int number, const char *file, const char *place, const struct formatted *made) {
    struct message message = {.which = *print_name == NULL ? output_before(*standard_error) : -1};
    if (message.which < 0) return message.which;
    add_text(&message, *full_name);
    add_text(&message, file == NULL ? ": " : ":");
    if (file != NULL) add_text(&message, file);
    if (file != NULL) add_text(&message, place);
    add_bytes(&message, made->text, made->size);
    if (number != 0) {
        add_text(&message, ": ");
        add_error(&message, number);
    }
    add_text(&message, "\n");
    keep_message(&message);
    return message.which;
}

static void after_error(int out, int which) {
    if (out >= 0) output_after(out, stdout);
    if (which >= 0) output_after(which, *standard_error);
}

static void kept_error(int status, int number, const char *format, ...) {
    int kept = errno, out = output_before(stdout); // it is flushed first
    struct formatted made;
    va_list list;
    va_start(list, format);
    output_format(&made, format, list);
    va_end(list);
    int which = keep_error(number, NULL, NULL, &made);
    errno = kept;
    real.real_error(status, number, "%s", made.text);
    after_error(out, which);
    kept = errno;
    output_formatted(&made);
    errno = kept;
}

static void kept_error_at_line(int status, int number, const char *file, unsigned line, const char *format, ...) {
    int kept = errno, out = output_before(stdout), which = -1;
    struct formatted made;
    char place[24];
    struct text text = {place, place + sizeof place - 1};
    TEXT(&text, ":");
    text_number(&text, line);
    TEXT(&text, ": ");
    *text.at = '\0';
    va_list list;
    va_start(list, format);
    output_format(&made, format, list);
    va_end(list);
    if (*one_per_line == 0) which = keep_error(number, file, place, &made);
    errno = kept;
    real.real_error_at_line(status, number, file, line, "%s", made.text);
    after_error(out, which);
    kept = errno;
    output_formatted(&made);
    errno = kept;
}
#else
static void kept___assert_fail(const char *text, const char *file, unsigned line, const char *function) {
    int which = output_before(*standard_error), kept = errno;
    if (which >= 0)
        keep_format(which, "Assertion failed: %s (%s: %s: %d)\n", text, file, function == NULL ? "" : function, line);
    errno = kept;
    real.real___assert_fail(text, file, line, function);
}
#endif

void messages_begin(void) {
    error_text = real_named("__xpg_strerror_r");
#if defined(__GLIBC__)
    translated = real_named("dcgettext");
    full_name = variable_named("program_invocation_name");
    one_per_line = variable_named("error_one_per_line");
    print_name = variable_named("error_print_progname");
    if (full_name == NULL || one_per_line == NULL || print_name == NULL) return;
#endif
    standard_error = variable_named("stderr");
    short_name = variable_named("program_invocation_short_name");
    if (standard_error == NULL || short_name == NULL) return;
    provio_messages_find();
#define KEEP_MESSAGE(name)                                                                                             \
    if (real_is_of_libc(#name)) find(&provio_to_##name, (void *)kept_##name);
    FOR_EACH(KEEP_MESSAGE)
}

#else
void messages_begin(void) {}
#endif
