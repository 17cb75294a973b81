// Asynchronous reads and writes in the given folder: collected, never collected, failed, in a list, and after a close
// of the descriptor. Prints like families.c.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>

#include "facts.h"

static struct aiocb about(int fd, size_t size, int operation) {
    return (struct aiocb){.aio_fildes = fd, .aio_buf = data, .aio_nbytes = size, .aio_lio_opcode = operation};
}

static void wait_for(struct aiocb *request) {
    const struct aiocb *const list[] = {request};
    while (aio_error(request) == EINPROGRESS) aio_suspend(list, 1, NULL);
}

static ssize_t collected(struct aiocb *request) {
    wait_for(request);
    return aio_return(request);
}

static ssize_t collected64(struct aiocb *request) {
    wait_for(request);
    return aio_return64((struct aiocb64 *)request);
}

static void one_by_one(int fd) {
    struct aiocb request = about(fd, 1000, 0);
    MUST(aio_write(&request) == 0 && collected(&request) == 1000);
    MUST(aio_write64((struct aiocb64 *)&request) == 0 && collected64(&request) == 1000);
    MUST(aio_fsync(O_SYNC, &request) == 0 && collected(&request) == 0);
    MUST(aio_fsync64(O_DSYNC, (struct aiocb64 *)&request) == 0 && collected(&request) == 0);
    MUST(aio_read(&request) == 0 && collected(&request) == 1000);
    MUST(aio_read64((struct aiocb64 *)&request) == 0 && collected64(&request) == 1000);
    EXPECT("O aio_write SubmitWrite collected 1\nO aio_write64 SubmitWrite collected 1\n");
    EXPECT("O aio_read SubmitRead collected 1\nO aio_read64 SubmitRead collected 1\n");
    EXPECT("O aio_fsync Fsync collected 1\nO aio_fsync64 Fsync collected 1\n");
    EXPECT("W aio_return collected 1 1000\nW aio_return64 collected 1 1000\n");
    EXPECT("R aio_return collected 1 1000\nR aio_return64 collected 1 1000\n");
}

static void in_a_list(int fd) {
    struct aiocb requests[] = {about(fd, 10, LIO_WRITE), about(fd, 20, LIO_READ), about(fd, 0, LIO_NOP)};
    struct aiocb *list[] = {&requests[0], NULL, &requests[1], &requests[2]};
    MUST(lio_listio(LIO_WAIT, list, 4, NULL) == 0);
    MUST(lio_listio64(LIO_WAIT, (struct aiocb64 **)list, 4, NULL) == 0);
    EXPECT("O aio_write SubmitWrite listed 2\nO aio_read SubmitRead listed 2\n");
    MUST(aio_return(&requests[0]) == 10);
    EXPECT("W aio_return listed 1 10\n");
}

int main(int count, char **arguments) {
    MUST(count == 2 && chdir(arguments[1]) == 0);
    int fd = open("collected", O_CREAT | O_RDWR, 0644);
    one_by_one(fd);
    close(fd);
    fd = open("listed", O_CREAT | O_RDWR, 0644);
    in_a_list(fd);
    fd = open("left", O_CREAT | O_RDWR, 0644);
    struct aiocb left = about(fd, 500, 0);
    MUST(aio_write(&left) == 0);
    wait_for(&left);
    EXPECT("O aio_write SubmitWrite left 1\n");
    fd = open("collected", O_RDONLY);
    struct aiocb failed = about(fd, 10, 0);
    MUST(aio_write(&failed) != 0 || collected(&failed) == -1);
    close(fd);
    fd = open("closed", O_CREAT | O_RDWR, 0644);
    struct aiocb closed = about(fd, 5, 0);
    MUST(aio_write(&closed) == 0);
    wait_for(&closed);
    close(fd);
    MUST(aio_return(&closed) == 5); // the request is already forgotten
    EXPECT("O aio_write SubmitWrite closed 1\n");
    return 0;
}
