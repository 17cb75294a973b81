// The facts of a file: device, inode, times.
#include "shim.h"

bool statx_facts(int dirfd, const char *path, int flags, struct facts *facts) {
    struct statx found;
    *facts = (struct facts){0};
    if (RAW(statx, dirfd, (long)path, flags, STATX_BASIC_STATS | STATX_BTIME, (long)&found) != 0) return false;
    *facts = (struct facts){
        .device_major = found.stx_dev_major,
        .device_minor = found.stx_dev_minor,
        .links = found.stx_nlink,
        .mode = found.stx_mode,
        .inode = found.stx_ino,
        .birth = found.stx_mask & STATX_BTIME ? nanoseconds(found.stx_btime.tv_sec, found.stx_btime.tv_nsec) : 0,
        .modified = nanoseconds(found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
        .changed = nanoseconds(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        .size = found.stx_size,
    };
    unsigned major = found.stx_rdev_major;
    if (S_ISCHR(found.stx_mode) && (major == 4 || major == 5 || (major >= 136 && major <= 143)))
        facts->mode = 0; // a terminal: as little recorded as what has no type
    return true;
}

void text_facts(struct text *text, const struct facts *facts) {
    TEXT(text, " ; " TERM_device " \"");
    text_number(text, facts->device_major);
    TEXT(text, ":");
    text_number(text, facts->device_minor);
    TEXT(text, "\"");
    TEXT_NUMBER(text, TERM_inode, facts->inode);
    TEXT_NUMBER(text, TERM_birthNs, facts->birth);
    TEXT_NUMBER(text, TERM_mtimeNs, facts->modified);
    TEXT_NUMBER(text, TERM_ctimeNs, facts->changed);
    TEXT_NUMBER(text, TERM_size, facts->size);
}
