// `instrumented FOLDER`: a C++ program with declarations: activities that end with their block, also by an exception, and
// OpenMP threads, created before the activity, that enter it or not.
#include "../../interceptors/include/provio.h"
#include <fcntl.h>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

static std::string folder;

static void put(const std::string &name, int times) {
    int fd = open((folder + "/" + name).c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
    for (int i = 0; i < times; i++)
        if (write(fd, "data", 4) != 4) _exit(3);
    close(fd);
}

static void fails() {
    provio::activity outer("outer");
    provio::activity inner("inner");
    provio_setting_real(inner.number, "rate", 0.5);
    put("inner", 1);
    throw std::runtime_error("on purpose");
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    folder = arguments[1];
    omp_set_num_threads(3);
#pragma omp parallel
    put("before" + std::to_string(omp_get_thread_num()), 1);
    {
        provio::activity activity("all", "part");
#pragma omp parallel
        put("left" + std::to_string(omp_get_thread_num()), 10);
#pragma omp parallel
        {
            uint64_t before = provio_task_enter(activity.number);
            put("entered" + std::to_string(omp_get_thread_num()), 10);
            provio_task_enter(before);
        }
    }
    try {
        fails();
    } catch (const std::runtime_error &) {
        put("after", 1);
    }
    return provio_task_now() != 0;
}
