// `declare_in_c activity|metric|setting COUNT`: nanoseconds for each declaration.
#include "../../interceptors/include/provio.h"
#include "timing.h"

#include <string.h>

static void declare(const char *kind, uint64_t configuration, long step) {
    if (strcmp(kind, "activity") == 0) {
        uint64_t before = provio_task_now();
        provio_task_out(provio_task_in("train", NULL), before, "ok");
    } else if (strcmp(kind, "metric") == 0) {
        provio_metric("accuracy", NULL, 1.0 / (double)(step + 3), step);
    } else {
        provio_setting_real(configuration, "optimizer.lr", 1.0 / (double)(step + 3));
    }
}

int main(int count, char **arguments) {
    double best = 0;
    if (count != 3) return 2;
    uint64_t configuration = provio_configuration("bench", NULL);
    WARM_UP(declare(arguments[1], configuration, 0));
    TIMED(best, atol(arguments[2]), declare(arguments[1], configuration, i));
    printf("%.1f\n", best);
    return 0;
}
