// Copies between descriptors inside the kernel.
#include "rows.h"

#include <linux/fs.h>

void copy_begin(struct copy *copy, int api, int from, const off64_t *from_offset, int to, const off64_t *to_offset) {
    copy->stays = false;
    copy->thread = watching() ? thread_self() : NULL;
    if (copy->thread == NULL) return;
    copy->from = object_of(from);
    copy->to = object_of(to);
    copy->serials[READING] = relaxed(copy->from->serial);
    copy->serials[WRITING] = relaxed(copy->to->serial);
    copy->offsets[READING] = from_offset;
    copy->offsets[WRITING] = to_offset;
    copy->started = now(copy->thread);
    if (likely(!relaxed(copy->to->channel))) return;
    if (copy->from != &ignored)
        copy_attempted(copy->thread, copy->to, api, copy->from, false);
    else
        access_attempted(copy->thread, copy->to, copy->serials[WRITING], api);
}

// The offset where a copy of `size` bytes started. The argument is read only after the kernel accepted it.
static uint64_t copied_from(struct object *object, const off64_t *offset, uint64_t size) {
    if (offset != NULL) return (uint64_t)*offset - size;
    uint64_t start = relaxed(object->position);
    if (object != &ignored) object_moved(object, start + size);
    return start;
}

ssize_t copy_end(struct copy *copy, int api, ssize_t result) {
    struct object *from = copy->from, *to = copy->to;
    if (copy->thread == NULL) return result;
    if (result < 0) {
        if (from != &ignored && relaxed(to->channel)) copy_attempted(copy->thread, to, api, from, true);
        access_failed(copy->thread, to != &ignored ? to : from, api, copy->started);
        return result;
    }
    // 0: not recorded, or closed by another thread, which may have opened another file in its place
    uint64_t source = copy->serials[READING], target = copy->serials[WRITING];
    if (from == &ignored || relaxed(from->serial) != source) source = 0;
    if (to == &ignored || relaxed(to->serial) != target) target = 0;
    uint64_t read = copy->stays ? relaxed(from->position)
                                : copied_from(source != 0 ? from : &ignored, copy->offsets[READING], (uint64_t)result);
    uint64_t written = copied_from(target != 0 ? to : &ignored, copy->offsets[WRITING], (uint64_t)result);
    if (source != 0 && target != 0)
        event_copy(copy->thread, api, from, to, (uint64_t)result, copy->started);
    else if (source != 0)
        account(copy->thread, from, source, READING, api, read, (uint64_t)result, copy->started);
    else if (target != 0)
        account(copy->thread, to, target, WRITING, api, written, (uint64_t)result, copy->started);
    return result;
}

ssize_t provio_copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size,
                               unsigned flags) {
    struct copy copy;
    copy_begin(&copy, API_copy_file_range, from, from_offset, to, to_offset);
    return copy_end(&copy, API_copy_file_range, REAL(copy_file_range)(from, from_offset, to, to_offset, size, flags));
}

ssize_t provio_sendfile(int to, int from, off64_t *offset, size_t size) {
    struct copy copy;
    copy_begin(&copy, API_sendfile, from, offset, to, NULL);
    return copy_end(&copy, API_sendfile, REAL(sendfile)(to, from, offset, size));
}

ssize_t provio_sendfile64(int to, int from, off64_t *offset, size_t size) {
    struct copy copy;
    copy_begin(&copy, API_sendfile64, from, offset, to, NULL);
    return copy_end(&copy, API_sendfile64, REAL(sendfile64)(to, from, offset, size));
}

ssize_t provio_splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size, unsigned flags) {
    struct copy copy;
    // of a size of 0, the kernel does not read the offsets
    copy_begin(&copy, API_splice, from, size > 0 ? from_offset : NULL, to, size > 0 ? to_offset : NULL);
    return copy_end(&copy, API_splice, REAL(splice)(from, from_offset, to, to_offset, size, flags));
}

ssize_t provio_tee(int from, int to, size_t size, unsigned flags) {
    struct copy copy;
    copy_begin(&copy, API_tee, from, NULL, to, NULL);
    copy.stays = true;
    return copy_end(&copy, API_tee, REAL(tee)(from, to, size, flags));
}

// A transfer into a pipe goes to its write end, one out of it comes from its read end.
ssize_t provio_vmsplice(int fd, const struct iovec *parts, size_t count, unsigned flags) {
    struct object *object = watching() ? object_of(fd) : &ignored;
    if (object == &ignored) return REAL(vmsplice)(fd, parts, count, flags);
    struct thread *thread = thread_self();
    enum side side = open_mode(fd) == O_RDONLY ? READING : WRITING;
    uint64_t serial = relaxed(object->serial), where = relaxed(object->position), started = now(thread);
    if (side == WRITING && relaxed(object->channel)) access_attempted(thread, object, serial, API_vmsplice);
    ssize_t result = REAL(vmsplice)(fd, parts, count, flags);
    if (result >= 0) {
        account(thread, object, serial, side, API_vmsplice, where, (uint64_t)result, started);
        object_moved(object, where + (uint64_t)result);
    } else {
        access_failed(thread, object, API_vmsplice, started);
    }
    return result;
}

// FICLONE: the two files share their content from now on. The argument is read only after the kernel accepted it.
static int watched_clone(int to, unsigned long request, void *argument) {
    struct thread *thread = thread_self();
    uint64_t started = thread == NULL ? 0 : now(thread);
    int result = REAL(ioctl)(to, request, argument);
    if (thread != NULL && result < 0) access_failed(thread, object_of(to), API_ioctl, started);
    if (thread == NULL || result < 0) return result;
    const struct file_clone_range all = {.src_fd = (int)(intptr_t)argument};
    const struct file_clone_range *range = request == FICLONE ? &all : argument;
    struct facts facts;
    uint64_t size = range->src_length;
    if (size == 0 && statx_facts((int)range->src_fd, "", AT_EMPTY_PATH, &facts)) size = facts.size - range->src_offset;
    const off64_t ends[] = {(off64_t)(range->src_offset + size), (off64_t)(range->dest_offset + size)};
    struct object *source = object_of((int)range->src_fd), *target = object_of(to);
    struct copy copy = {
        thread, source, target, started, {&ends[0], &ends[1]}, {relaxed(source->serial), relaxed(target->serial)},
        false};
    copy_end(&copy, API_ioctl, (ssize_t)size);
    return result;
}

int provio_ioctl(int fd, unsigned long request, void *argument) {
    return (request == FICLONE || request == FICLONERANGE) && watching() ? watched_clone(fd, request, argument)
                                                                         : REAL(ioctl)(fd, request, argument);
}
