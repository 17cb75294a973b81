// Calls layer.h like a layer above the C library, for a file "data.h5", and prints the expected trace. `objects`: each
// function once or twice, the lines of facts.h. `objects write COUNT STEP`: COUNT writes to one dataset; after each,
// their number is written to the file "done"; one more, during which SIGKILL ends the program after STEP instructions.
// `objects threads COUNT`: four threads read one dataset. `objects fork`: a child
// uses the objects of its parent. `objects touch`: only reads and writes. `objects all`: for sanitizers.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "stepped.h"

#pragma weak provio_recording
#pragma weak provio_now
#pragma weak provio_function
#pragma weak provio_file
#pragma weak provio_file_of
#pragma weak provio_file_closed
#pragma weak provio_member
#pragma weak provio_virtual
#pragma weak provio_read
#pragma weak provio_write
#pragma weak provio_counted
#pragma weak provio_copied
#pragma weak provio_submitted
#pragma weak provio_replaced
#pragma weak provio_resized
#pragma weak provio_renamed
#pragma weak provio_deleted
#pragma weak provio_failed
#pragma weak provio_release
#include "../../interceptors/posix/layer.h"

static int reading, writing, opening, creating, copying, deleting, renaming, resizing;

static void functions(void) {
    reading = provio_function("layer.Dataset.__getitem__", "Read");
    writing = provio_function("layer.write", "Write");
    opening = provio_function("layer.open", "Open");
    creating = provio_function("layer.create", "Create");
    copying = provio_function("layer.copy", "Copy");
    deleting = provio_function("layer.delete", "Delete");
    renaming = provio_function("layer.move", "Rename");
    resizing = provio_function("layer.resize", "Resize");
}

static provio_object *file_here(void) {
    close(open("data.h5", O_RDWR | O_CREAT, 0644));
    return provio_file(opening, "data.h5", O_RDWR | O_CREAT, provio_now());
}

static provio_object *dataset(provio_object *file, const char *path) {
    struct provio_member expected = {.kind = "Dataset", .path = path, .shape = "100 200", .max_shape = "100 *",
                                 .datatype = "float64", .chunks = "10 10", .filters = "shuffle deflate",
                                 .token = "800", .element_size = 8, .created = 1};
    return provio_member(file, &expected);
}

static void each(void) {
    provio_object *file = file_here(), *one = dataset(file, "/group/one"), *two = dataset(file, "/group/two");
    struct provio_member units = {.kind = "Attribute", .path = "/group/one", .name = "unit\xc3\xa9s \"m\"", .shape = "",
                                  .datatype = "string"};
    struct provio_member link = {.kind = "NamedLink", .path = "/link", .target = "/gro\xffup", .target_file = "b.h5"};
    provio_object *attribute = provio_member(file, &units);
    provio_release(provio_member(file, &link));
    provio_read(one, reading, 1600, provio_now());
    provio_read(one, reading, 160, provio_now());
    provio_write(one, writing, 800, provio_now());
    provio_read(attribute, reading, 5, provio_now());
    provio_counted(one, opening, provio_now());
    provio_counted(one, opening, provio_now());
    provio_copied(one, two, copying, provio_now());
    provio_virtual(two, one);
    provio_virtual(two, two);
    provio_replaced(one, provio_now());
    provio_replaced(one, provio_now() + 1);
    provio_resized(one, resizing, "200 200", provio_now());
    provio_renamed(file, renaming, NULL, "/a", "/b", provio_now());
    provio_renamed(file, renaming, "/group/one", "tmp", "units", provio_now());
    provio_deleted(file, deleting, "/group/one", "units", provio_now());
    provio_failed(one, reading, 5, provio_now());
    provio_failed(NULL, opening, 0, provio_now());
    provio_file_closed(file, provio_now());
    provio_release(attribute);
    provio_release(two);
    provio_release(one);
    provio_read(one, reading, 1, provio_now()); // ignored after the release
    provio_release(file);
    puts("R layer.Dataset.__getitem__ /group/one 3 1765\nW layer.write /group/one 1 800\nO layer.open /group/one 2 0\n"
         "O layer.copy /group/two 1 0");
}

// Members of the other classes, of every length, and files of descriptors.
static void others(void) {
    static char name[9001];
    static const int lengths[] = {60, 100, 400, 501, 502, 600, 5000, 9000, 400, 501, 502};
    int fd = open("plain", O_RDWR | O_CREAT, 0644), ends[2];
    provio_object *file = provio_file_of(opening, fd, O_RDWR | PROVIO_PLAIN_FILE, provio_now());
    struct provio_member group = {.kind = "Group", .path = "/group"}, type = {.kind = "Datatype", .path = "/type"};
    provio_object *one = provio_member(file, &group);
    provio_submitted(one, writing, 7, provio_now());
    provio_release(provio_member(file, &type));
    for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++) {
        memset(name, 'm', lengths[i]);
        name[lengths[i]] = '\0';
        struct provio_member member = {.kind = "Group", .path = name, .created = i % 2};
        provio_release(provio_member(file, &member));
    }
    unlink("plain");
    if (pipe(ends) != 0) exit(9);
    provio_object *unlinked = provio_file_of(opening, fd, O_RDWR, provio_now());
    provio_object *pipe = provio_file_of(opening, ends[0], O_RDONLY, provio_now());
    provio_file_closed(file, provio_now());
    provio_file_closed(unlinked, provio_now());
    provio_release(one);
    provio_release(pipe);
    provio_release(unlinked);
    provio_release(file);
}

static void nothing(void) {
    provio_object *file = file_here();
    provio_read(NULL, reading, 1, provio_now());
    provio_file_closed(NULL, 0);
    provio_release(NULL);
    provio_read(file, -1, 1, provio_now());
    provio_object *none[] = {NULL, file};
    struct provio_member nameless = {.kind = "Dataset"}, classless = {.kind = "Nonsense", .path = "/one"};
    if (provio_member(NULL, &classless) != NULL || provio_member(file, &nameless) != NULL) exit(6);
    if (provio_member(file, &classless) != NULL || provio_file(-1, "x", O_RDONLY, 0) != NULL) exit(7);
    if (provio_file(opening, NULL, O_RDONLY, 0) != NULL || provio_file_of(opening, 99, O_RDONLY, 0) != NULL) exit(8);
    for (int i = 0; i < 3; i++) { // an object that is missing, or a function that does not exist
        int known = i < 2, function = known ? reading : reading + 100;
        provio_object *one = none[!known], *other = none[i > 0];
        if (known) provio_virtual(one, other), provio_virtual(other, one), provio_replaced(NULL, provio_now());
        provio_write(one, function, 1, provio_now());
        provio_counted(one, function, provio_now());
        provio_copied(one, other, function, provio_now());
        provio_copied(other, one, function, provio_now());
        provio_resized(one, function, "1", provio_now());
        provio_renamed(one, function, "/", "a", "b", provio_now());
        provio_deleted(one, function, "/", "a", provio_now());
        if (!known) provio_failed(one, function, 5, provio_now());
    }
    static char address[9001] = "tcp://";
    static const int lengths[] = {8191, 8192, 9000};
    memset(address + strlen(address), 'a', sizeof address - 1 - strlen(address));
    for (int i = 2; i >= 0; i--) {
        address[lengths[i]] = '\0';
        if ((provio_file(opening, address, O_RDONLY | PROVIO_NO_FILE, 0) != NULL) != (i == 0)) exit(10);
    }
    if (provio_function("x", "Nonsense") != -1 || provio_function("", "Read") != -1) exit(2);
    if (provio_function("layer.write", "Write") != writing) exit(3);
    if (provio_file(opening, ".provio-is-not-here/../../trace/.provio/x.h5", O_RDONLY, 0) == NULL) exit(4);
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        if ((provio_function(name, "Read") >= 0) != (i < 256 - 8)) exit(5);
    }
}

static void written(int count, long step) {
    int fd = open("done", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (ftruncate(fd, 4096)) exit(1);
    volatile long *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    provio_object *one = dataset(file_here(), "/one");
    for (int i = 0; i < count; i++) {
        provio_write(one, writing, 8, provio_now());
        *done += 1;
    }
    long long now = provio_now();
    kill_after(step, getpid());
    provio_write(one, writing, 8, now);
    go_on();
}

static provio_object *shared;

static void *reads(void *count) {
    for (int i = 0; i < atoi(count); i++) provio_read(shared, reading, 8, provio_now());
    return NULL;
}

static void threads(char *count) {
    pthread_t four[4];
    shared = dataset(file_here(), "/one");
    for (int i = 0; i < 4; i++) pthread_create(&four[i], NULL, reads, count);
    for (int i = 0; i < 4; i++) pthread_join(four[i], NULL);
}

static void forked(void) {
    provio_object *file = file_here(), *one = dataset(file, "/one");
    provio_write(one, writing, 8, provio_now());
    pid_t pid = fork();
    provio_write(one, writing, 16, provio_now());
    if (pid == 0) {
        provio_file_closed(file, provio_now());
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    provio_file_closed(file, provio_now());
}

static void touched(void) {
    provio_object *one = dataset(file_here(), "/one");
    for (int i = 0; i < 5; i++) provio_read(one, reading, 8, provio_now());
    provio_write(one, writing, 8, provio_now());
    provio_counted(one, opening, provio_now());
    provio_copied(one, one, copying, provio_now());
    provio_failed(one, reading, 5, provio_now());
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    if (provio_recording == NULL || !provio_recording()) return 9;
    functions();
    if (strcmp(mode, "") == 0 || strcmp(mode, "each") == 0) each();
    if (strcmp(mode, "nothing") == 0) nothing();
    if (strcmp(mode, "others") == 0) others();
    if (strcmp(mode, "write") == 0) written(atoi(arguments[2]), atol(arguments[3]));
    if (strcmp(mode, "threads") == 0) threads(arguments[2]);
    if (strcmp(mode, "fork") == 0) forked();
    if (strcmp(mode, "touch") == 0) touched();
    if (strcmp(mode, "all") == 0) {
        each();
        threads("2000");
        forked();
    }
    return 0;
}
