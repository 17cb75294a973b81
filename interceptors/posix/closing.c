// The last close of an opening: its end is written, and what the file was then.
#include "table.h"

// fstat takes a fifth less than statx, and says all that is asked at a close.
static bool closing_facts(int fd, struct facts *facts) {
    struct stat found;
    if (RAW(fstat, fd, (long)&found) != 0) return false;
    facts->links = (uint32_t)found.st_nlink;
    facts->modified = nanoseconds(found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
    facts->changed = nanoseconds(found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
    facts->size = (uint64_t)found.st_size;
    return true;
}

void closing_begin(struct closing *closing, int fd) {
    struct object *object = table_set(fd, NULL);
    *closing = (struct closing){.object = object == &ignored ? NULL : object};
    if (closing->object == NULL) return;
    // A descriptor's reference becomes ours, so that the opening stays whole until its end is written.
    uint64_t before = atomic_fetch_add(&object->references, ((uint64_t)MAP_REFERENCE << 32) - 1);
    closing->last = (uint32_t)before == 1;
    if (closing->last && relaxed(object->serial) != 0 && S_ISREG(object->facts.mode))
        closing->known = closing_facts(fd, &closing->facts);
}

void closing_write(struct thread *thread, struct closing *closing, uint64_t serial, uint64_t time) {
    struct block block;
    if (!block_begin(thread, &block, 256)) return;
    TEXT(&block.text, " <../o");
    text_number(&block.text, serial);
    TEXT(&block.text, "> " TERM_closedNs " ");
    text_number(&block.text, time);
    if (closing->known) {
        TEXT_NUMBER(&block.text, TERM_closedMtimeNs, closing->facts.modified);
        TEXT_NUMBER(&block.text, TERM_closedCtimeNs, closing->facts.changed);
        TEXT_NUMBER(&block.text, TERM_closedSize, closing->facts.size);
        TEXT_NUMBER(&block.text, TERM_closedLinks, closing->facts.links);
    }
    TEXT(&block.text, " .");
    block_commit(&block);
}

// After fclose of a stream that was written, its file is looked at by name: the bytes went out inside.
void closing_look(struct closing *closing) {
    struct object *object = closing->object;
    closing->known = object->path != NULL && statx_facts(AT_FDCWD, object->path, 0, &closing->facts) &&
                     closing->facts.inode == object->facts.inode &&
                     closing->facts.device_major == object->facts.device_major &&
                     closing->facts.device_minor == object->facts.device_minor;
}

void closing_end(struct closing *closing, bool by_path) {
    struct object *object = closing->object;
    if (object == NULL) return;
    uint64_t serial = relaxed(object->serial);
    struct thread *thread = thread_self();
    if (closing->last && serial != 0 && thread != NULL) {
        thread->depth++;
        bool writable = (object->flags & O_ACCMODE) != O_RDONLY, file = S_ISREG(object->facts.mode);
        uint64_t time = now(thread);
        if (by_path && writable && file) closing_look(closing);
        bool changed = closing->known &&
                       (closing->facts.modified != object->facts.modified ||
                        closing->facts.changed != object->facts.changed || closing->facts.size != object->facts.size);
        if (writable && file) turn_to(WRITING); // what was written is finished
        if (!access_closed(thread, object, serial, time) || changed || (writable && file))
            closing_write(thread, closing, serial, time);
        if (object->unclosed != 0) unclosed_remove(object);
        if (thread->live != NULL && unlikely(live_is_written(thread->live))) live_write_now(thread->live);
        thread->depth--;
    }
    object_release(object, (uint64_t)MAP_REFERENCE << 32);
}

// The close did not happen.
void closing_undo(struct closing *closing, int fd) {
    if (closing->object == NULL) return;
    atomic_fetch_sub(&closing->object->references, ((uint64_t)MAP_REFERENCE << 32) - 1);
    object_release(table_set(fd, closing->object), 1);
}

void closing_range(unsigned first, unsigned last) {
    unsigned end = descriptors_end();
    for (unsigned fd = first; fd <= last && fd < end; fd++) {
        struct closing closing;
        closing_begin(&closing, (int)fd);
        closing_end(&closing, false);
    }
}
