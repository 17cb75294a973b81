// Names that the trace uses for numeric constants of HDF5, for the C layer and the connector. The Python layer has the
// same names.
#ifndef CONSTANTS_H
#define CONSTANTS_H

static inline const char *class_word(int class) {
    static const char words[][12] = {"int",      "float",     "time", "string", "bitfield", "opaque",
                                     "compound", "reference", "enum", "vlen",   "array",    "complex"};
    return class >= 0 && class < (int)(sizeof words / sizeof *words) ? words[class] : "other";
}

// NULL: the filter has no name.
static inline const char *filter_word(int filter) {
    static const char words[][12] = {"deflate", "shuffle", "fletcher32", "szip", "nbit", "scaleoffset"};
    if (filter == 32000) return "lzf";
    return filter > 0 && filter <= (int)(sizeof words / sizeof *words) ? words[filter - 1] : (void *)0;
}

#endif
