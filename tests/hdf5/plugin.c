// A plug-in that calls its linked HDF5.
int H5get_libversion(unsigned *, unsigned *, unsigned *);

void version(unsigned *major, unsigned *minor) {
    unsigned release;
    H5get_libversion(major, minor, &release);
}
