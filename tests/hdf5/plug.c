// A plug-in that calls the HDF5 that it was linked with.
int H5get_libversion(unsigned *, unsigned *, unsigned *);

void version(unsigned *major, unsigned *minor) {
    unsigned release;
    H5get_libversion(major, minor, &release);
}
