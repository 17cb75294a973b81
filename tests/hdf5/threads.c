// Four threads, each with its own dataset and a shared one; then a child that uses its inherited objects.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

static hid_t file, common;
static double data[10];

static void *work(void *given) {
    char name[16];
    hid_t space = line_of(10);
    snprintf(name, sizeof name, "own%d", (int)(long)given);
    for (int i = 0; i < 200; i++) {
        hid_t own = i ? MUST(H5Dopen2(file, name, 0)) : MUST(H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, 0, 0, 0));
        MUST(H5Dwrite(own, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
        MUST(H5Dread(common, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
        MUST(H5Dclose(own));
    }
    printf("write a.h5 /%s 200 16000\nread a.h5 /common 200 16000\n", name);
    return NULL;
}

int main(int argc, char **argv) {
    hid_t space = line_of(10);
    pthread_t threads[4];
    setvbuf(stdout, NULL, _IONBF, 0);
    file = MUST(H5Fcreate(file_name, H5F_ACC_TRUNC, 0, 0));
    common = MUST(H5Dcreate2(file, "common", H5T_NATIVE_DOUBLE, space, 0, 0, 0));
    MUST(H5Dwrite(common, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
    puts("write a.h5 /common 1 80");
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    MUST(H5Fflush(file, H5F_SCOPE_LOCAL));
    if (fork() == 0) {
        MUST(H5Dread(common, H5T_NATIVE_DOUBLE, 0, 0, 0, data));
        _exit(0);
    }
    wait(NULL);
    puts("read a.h5 /common 1 80");
    if (argc > 1) raise(SIGKILL); // the calls must be recorded already
    MUST(H5Dclose(common));
    MUST(H5Fclose(file));
    return 0;
}
