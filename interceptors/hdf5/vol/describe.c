// Describes a dataset or attribute as the trace does: shape, datatype, chunks, filters.
#include "../constants.h"
#include "vol.h"
#include <stdio.h>
#include <string.h>

// "100 200"; "*" means unlimited.
static void numbers(const hsize_t *values, int rank, char *text, size_t room) {
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < rank && length + 24 < room; i++) {
        const char *gap = i > 0 ? " " : "";
        if (values[i] == H5S_UNLIMITED)
            length += (size_t)snprintf(text + length, room - length, "%s*", gap);
        else
            length += (size_t)snprintf(text + length, room - length, "%s%llu", gap, (unsigned long long)values[i]);
    }
}

static void describe_space(struct library *library, hid_t space, bool dataset, struct description *to) {
    hsize_t shape[H5S_MAX_RANK], most[H5S_MAX_RANK];
    if (space < 0) return;
    int rank = library->H5Sget_simple_extent_dims(space, shape, most);
    H5S_class_t class = library->H5Sget_simple_extent_type(space);
    if (rank >= 0 && class != H5S_NULL) {
        numbers(shape, rank, to->room[0], sizeof to->room[0]);
        to->member.shape = to->room[0];
    }
    if (rank >= 0 && class == H5S_SIMPLE && dataset) {
        numbers(most, rank, to->room[1], sizeof to->room[1]);
        to->member.max_shape = to->room[1];
    }
    library->H5Sclose(space);
}

static void describe_type(struct library *library, hid_t type, struct description *to) {
    if (type < 0) return;
    H5T_class_t class = library->H5Tget_class(type);
    to->member.element_size = library->H5Tget_size(type);
    const char *sign = class == H5T_INTEGER && library->H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "";
    bool sized = class == H5T_INTEGER || class == H5T_FLOAT;
    int length = snprintf(to->room[2], sizeof to->room[2], "%s%s", sign, class_word(class));
    if (sized) snprintf(to->room[2] + length, 24, "%llu", (unsigned long long)to->member.element_size * 8);
    to->member.datatype = to->room[2];
    library->H5Tclose(type);
}

static void describe_filters(struct library *library, hid_t list, char *text, size_t room) {
    size_t length = 0;
    for (int i = 0, most = library->H5Pget_nfilters(list); i < most && length + 16 < room; i++) {
        unsigned flags, config;
        size_t values = 0;
        char number[16];
        H5Z_filter_t filter = library->H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        snprintf(number, sizeof number, "%d", filter);
        const char *word = filter_word(filter) != NULL ? filter_word(filter) : number;
        length += (size_t)snprintf(text + length, room - length, "%s%s", i > 0 ? " " : "", word);
    }
}

static void describe_storage(struct library *library, hid_t list, struct description *to) {
    hsize_t chunks[H5S_MAX_RANK];
    if (list < 0) return;
    if (library->H5Pget_layout(list) == H5D_CHUNKED) {
        numbers(chunks, library->H5Pget_chunk(list, H5S_MAX_RANK, chunks), to->room[3], sizeof to->room[3]);
        to->member.chunks = to->room[3];
        describe_filters(library, list, to->room[4], sizeof to->room[4]);
        to->member.filters = to->room[4][0] != '\0' ? to->room[4] : NULL;
    }
    library->H5Pclose(list);
}

void describe_dataset(struct library *library, void *dataset, hid_t list, struct description *to) {
    describe_space(library, query_dataset(library, dataset, H5VL_DATASET_GET_SPACE, list), true, to);
    describe_type(library, query_dataset(library, dataset, H5VL_DATASET_GET_TYPE, list), to);
    describe_storage(library, query_dataset(library, dataset, H5VL_DATASET_GET_DCPL, list), to);
}

void describe_attribute(struct library *library, void *attribute, hid_t list, struct description *to) {
    describe_space(library, query_attribute(library, attribute, H5VL_ATTR_GET_SPACE, list), false, to);
    describe_type(library, query_attribute(library, attribute, H5VL_ATTR_GET_TYPE, list), to);
}

// The native connector's tokens are addresses, least significant byte first.
void describe_token(const H5O_token_t *token, char *text, size_t room) {
    unsigned long long address = 0;
    for (int i = 7; i >= 0; i--) address = address << 8 | ((const unsigned char *)token)[i];
    snprintf(text, room, "%llx", address);
}
