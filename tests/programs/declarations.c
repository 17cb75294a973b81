// `declarations HOW FOLDER`: declarations through provio.h: `each` call, `reals`, `many` settings, `wrong` use, by a parent and
// its child (`forked`), or `killed` in the middle.
#define _GNU_SOURCE
#include "../../interceptors/include/provio.h"
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void each(void) {
    uint64_t task = provio_task_in("train", "part");
    uint64_t configuration = provio_configuration("args", "Hyperparameter");
    provio_setting_text(configuration, "a.b", "x\"\xc3\xa4\n");
    provio_setting_text(configuration, "bad\xff", "100 \xff");
    provio_setting_integer(configuration, "least", INT64_MIN);
    provio_setting_integer(task, "fold", 3);
    provio_setting_real(configuration, "lr", 1e-3);
    provio_setting_truth(configuration, "shuffled", 2);
    provio_setting_typed(configuration, "since", "2026-01-31T12:00:00Z", "dateTime");
    provio_configuration_end(configuration);
    provio_metric("accuracy", "Accuracy", 0.93, 7);
    provio_metric_integer("tries", NULL, -3, PROVIO_NO_STEP);
    uint64_t checkpoint = provio_checkpoint("./model//step7", 7);
    provio_metric_of(checkpoint, "loss", "Loss", 0.25, PROVIO_NO_STEP);
    uint64_t row = provio_entity("calibration", "Row", "db:7");
    provio_setting_text(row, "table", "runs");
    provio_used(row, NULL);
    provio_generated(0, ".");
    provio_generated(checkpoint, "nowhere");
    provio_task_out(task, 0, "ok");
}

// Each double from standard input as a metric.
static void reals(void) {
    double value;
    while (read(0, &value, sizeof value) == sizeof value) provio_metric("real", NULL, value, PROVIO_NO_STEP);
}

static void many(void) {
    uint64_t configuration = provio_configuration(NULL, NULL);
    char key[32];
    for (int i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "key.%d", i);
        provio_setting_integer(configuration, key, i);
    }
    provio_configuration_end(configuration);
}

// None of these may end the program, and only the last declaration counts.
static void wrong(void) {
    static const uint64_t none[] = {0,
                                    1,
                                    UINT64_MAX,
                                    (uint64_t)'g' << 56,
                                    (uint64_t)'g' << 56 | 1,
                                    (uint64_t)'m' << 56 | 7,
                                    (uint64_t)0xff << 56 | 1};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
        provio_setting_text(none[i], NULL, NULL);
        provio_setting_typed(none[i], "key", "value", NULL);
        provio_setting_truth(none[i], "key", 1);
        provio_configuration_end(none[i]);
        provio_metric_of(none[i], NULL, NULL, 0, 0);
        provio_used(none[i], NULL);
        provio_task_out(none[i], none[i], "ok");
    }
    size_t size = 3 << 20;
    char *large = malloc(size + 1);
    memset(large, '\xc3', size);
    for (size_t i = 1; i < size; i += 2) large[i] = '\xa4';
    large[size] = '\0';
    provio_checkpoint("", PROVIO_NO_STEP);
    provio_checkpoint(large, 0);
    uint64_t configuration = provio_configuration(large, NULL);
    provio_setting_text(configuration, large + 1, "");
    provio_setting_text(configuration, "large", large);
    large[1 << 20] = '\0';
    provio_setting_text(configuration, "whole", large);
    provio_setting_typed(configuration, "typed", "1 2", "no type");
    provio_configuration_end(configuration);
    provio_configuration_end(configuration);
    free(large);
}

static void forked(void) {
    uint64_t configuration = provio_configuration("parent's", NULL), task = provio_task_in("parent's", NULL);
    if (fork() == 0) {
        provio_setting_truth(configuration, "no", 1);
        provio_setting_truth(task, "no", 1);
        provio_configuration_end(configuration);
        provio_task_out(task, task, "no");
        provio_setting_truth(provio_configuration("child's", NULL), "yes", 1);
        _exit(0);
    }
    int status;
    wait(&status);
    provio_setting_truth(configuration, "yes", 1);
}

// The child of vfork uses its parent's memory, and its declarations are ignored.
static void vforked(void) {
    uint64_t configuration = provio_configuration("parent's", NULL), task = provio_task_in("parent's", NULL);
    pid_t child = vfork();
    if (child == 0) {
        provio_setting_truth(configuration, "no", 1);
        provio_task_out(task, 0, "no");
        provio_metric("no", NULL, 1, 1);
        _exit(provio_checkpoint(".", 1) != 0 || provio_task_now() != 0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) exit(3);
    provio_metric("after", NULL, 1, 1);
    provio_task_out(task, 0, "ok");
}

static char **again; // the arguments for another process image of this program

static void replaced(void) {
    provio_task_in("before", NULL);
    again[1] = (char *)"each";
    execv("/proc/self/exe", again);
    exit(4);
}

static void killed(void) {
    uint64_t configuration = provio_configuration("whole", NULL);
    provio_configuration_end(configuration);
    configuration = provio_configuration("cut", NULL);
    for (int i = 0; i < 1000; i++) provio_metric("loss", NULL, 1.0 / (i + 1), i);
    provio_setting_integer(configuration, "last", 1);
    kill(getpid(), SIGKILL);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*way)(void);
    } ways[] = {{"each", each},     {"reals", reals},     {"many", many},         {"wrong", wrong},
                {"forked", forked}, {"vforked", vforked}, {"replaced", replaced}, {"killed", killed}};
    if (count != 3 || chdir(arguments[2]) != 0) return 2;
    again = arguments;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(arguments[1], ways[i].name) == 0) return ways[i].way(), 0;
    return 2;
}
