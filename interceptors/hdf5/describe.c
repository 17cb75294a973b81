// Reads the properties of an object, once for each opening of its file. It uses data in memory where they are enough.
// It never reads file metadata where that could need all ranks of a parallel program.
#include "hdf5.h"
#include "constants.h"

enum { H5S_SCALAR, H5S_SIMPLE, H5S_NULL };
enum { H5D_CHUNKED = 2, H5D_VIRTUAL = 3 };
#define UNLIMITED UINT64_MAX

// The common first members of both structures that the library fills in since 1.10; `room` covers the rest.
union information {
    struct {
        unsigned long number;
        haddr_t address;
        int type;
    } first;
    struct {
        unsigned long number;
        struct token token;
        int type;
    } second;
    char room[512];
};

static bool information_queried(struct library *library, hid_t hid, const char *name, union information *found) {
    enum { BASIC = 1 };
    if (function_of(library, OWN_H5Oget_info_by_name3) != NULL)
        return QUERY(library, H5Oget_info_by_name3, hid, name, found, BASIC, 0) >= 0;
    if (function_of(library, OWN_H5Oget_info_by_name2) != NULL)
        return QUERY(library, H5Oget_info_by_name2, hid, name, found, BASIC, 0) >= 0;
    return QUERY(library, H5Oget_info_by_name, hid, name, found, 0) >= 0;
}

static bool information_of(struct library *library, hid_t hid, union information *found) {
    enum { BASIC = 1 };
    if (function_of(library, OWN_H5Oget_info3) != NULL) return QUERY(library, H5Oget_info3, hid, found, BASIC) >= 0;
    if (function_of(library, OWN_H5Oget_info2) != NULL) return QUERY(library, H5Oget_info2, hid, found, BASIC) >= 0;
    return QUERY(library, H5Oget_info, hid, found) >= 0;
}

// Identify the object that `name` leads to, or (NULL) the object itself.
void identify(struct library *library, hid_t hid, const char *name, struct identity *identity) {
    union information found;
    *identity = (struct identity){.type = -1};
    identity->known =
        name == NULL ? information_of(library, hid, &found) : information_queried(library, hid, name, &found);
    if (!identity->known) return;
    identity->number = found.first.number;
    if (function_of(library, OWN_H5Oget_info3) != NULL) {
        identity->token = found.second.token;
        identity->type = found.second.type;
    } else {
        identity->type = found.first.type;
        for (int i = 0; i < 8; i++) identity->token.bytes[i] = (uint8_t)(found.first.address >> 8 * i);
    }
}

// ---- texts

static void text_hex(struct text *text, uint64_t value, int digits) {
    while (digits-- > 0) text_bytes(text, &"0123456789abcdef"[value >> 4 * digits & 15], 1);
}

// An address is written as a number; any other token as its bytes, without zeros at the end.
static void token_text(struct text *text, const struct token *token) {
    uint64_t address = 0;
    int length = 16, digits = 1;
    while (length > 0 && token->bytes[length - 1] == 0) length--;
    if (length > 8) {
        for (int i = 0; i < length; i++) text_hex(text, token->bytes[i], 2);
        return;
    }
    for (int i = 8; i-- > 0;) address = address << 8 | token->bytes[i];
    while (digits < 16 && address >> 4 * digits != 0) digits++;
    text_hex(text, address, digits);
}

static void sizes_text(char *room, const hsize_t *sizes, int rank) {
    struct text text = {room, room + SHAPE - 1};
    for (int i = 0; i < rank; i++) {
        if (i > 0) TEXT(&text, " ");
        if (sizes[i] == UNLIMITED)
            TEXT(&text, "*");
        else
            text_number(&text, sizes[i]);
    }
    *text.at = '\0';
}

// Write the shape and its limits as texts, and set the number of elements; rank -1: no elements (a null dataspace).
void describe_extent(const struct call *call, struct h5object *h5object, hid_t space, char *shape, char *most) {
    hsize_t sizes[RANK], limits[RANK], elements = 1;
    int rank = QUERY(call->hdf5, H5Sget_simple_extent_dims, space, sizes, limits);
    int kind = rank > 0 ? H5S_SIMPLE : QUERY(call->hdf5, H5Sget_simple_extent_type, space);
    shape[0] = most[0] = '\0';
    h5object->rank = kind == H5S_SCALAR || (kind == H5S_SIMPLE && rank >= 0) ? rank : -1;
    if (h5object->rank > 0) {
        sizes_text(shape, sizes, rank);
        if (h5object->kind == A_DATASET) sizes_text(most, limits, rank);
        for (int i = 0; i < rank; i++) elements *= sizes[i];
    }
    atomic_store_explicit(&h5object->elements, h5object->rank < 0 ? 0 : elements, memory_order_relaxed);
}

static void type_text(const struct call *call, struct h5object *h5object, hid_t type, char *room) {
    enum { INTEGER, FLOAT };
    struct text text = {room, room + 31};
    int class = QUERY(call->hdf5, H5Tget_class, type);
    h5object->element_size = QUERY(call->hdf5, H5Tget_size, type);
    if (class == INTEGER && QUERY(call->hdf5, H5Tget_sign, type) == 0) TEXT(&text, "u");
    const char *word = class_word(class);
    text_bytes(&text, word, strlen(word));
    if (class == INTEGER || class == FLOAT) text_number(&text, 8 * h5object->element_size);
    *text.at = '\0';
}

static void filters_text(const struct call *call, hid_t creation, char *room) {
    struct text text = {room, room + 127};
    int count = QUERY(call->hdf5, H5Pget_nfilters, creation);
    for (int i = 0; i < count; i++) {
        unsigned flags, configuration;
        size_t values = 0;
        int filter =
            QUERY(call->hdf5, H5Pget_filter2, creation, (unsigned)i, &flags, &values, NULL, 0, NULL, &configuration);
        if (i > 0) TEXT(&text, " ");
        const char *word = filter_word(filter);
        if (word != NULL)
            text_bytes(&text, word, strlen(word));
        else
            text_number(&text, filter < 0 ? 0 : (uint64_t)filter);
    }
    *text.at = '\0';
}

static void chunks_text(const struct call *call, struct h5object *h5object, hid_t creation, char *room) {
    hsize_t sizes[RANK];
    int rank = QUERY(call->hdf5, H5Pget_chunk, creation, RANK, sizes);
    if (rank <= 0 || rank > RANK) return;
    sizes_text(room, sizes, rank);
    h5object->chunk = 1;
    for (int i = 0; i < rank; i++) h5object->chunk *= sizes[i];
}

// ---- the sources of a virtual dataset

static bool there(const char *path) {
    struct facts facts;
    return statx_facts(AT_FDCWD, path, 0, &facts);
}

// Search like the library: below the folder that the environment names, next to the file, then the name as given.
static bool source_path(const struct file *file, const char *name, char *room) {
    struct text text = {room, room + PATH_ROOM - 1};
    const char *folder = file->path == NULL ? NULL : strrchr(file->path, '/');
    if (name[0] != '/' && folder != NULL) text_bytes(&text, file->path, (size_t)(folder + 1 - file->path));
    text_bytes(&text, name, strlen(name));
    *text.at = '\0';
    if (name[0] != '/' && folder != NULL && !there(room)) memcpy(room, name, strlen(name) + 1);
    return text.at < text.end;
}

static void source_record(const struct call *call, struct h5object *h5object, const char *name, const char *path,
                          char *room) {
    struct file *file = h5object->file;
    bool same = strcmp(name, ".") == 0;
    if (!same && !source_path(file, name, room)) return;
    provio_object *holder = same ? file->object : provio_file(function_number(call), room, O_RDONLY, call->started);
    struct provio_member member = {.kind = "Dataset", .path = path};
    provio_object *source = provio_member(holder, &member);
    provio_virtual(h5object->object, source);
    provio_release(source);
    if (!same) provio_release(holder);
}

// Record a pair of file and dataset once if several consecutive parts come from it.
static void sources_record(const struct call *call, struct h5object *h5object, hid_t creation) {
    char *room[5];
    size_t count = 0;
    bool ready = true;
    for (int i = 0; i < 5; i++) ready &= (room[i] = pool_take(&scratches)) != NULL;
    if (ready) QUERY(call->hdf5, H5Pget_virtual_count, creation, &count);
    for (size_t i = 0; i < count; i++) {
        char **these = room + i % 2 * 2, **before = room + (i + 1) % 2 * 2;
        these[0][0] = these[1][1] = '\0';
        these[1][0] = '/';
        QUERY(call->hdf5, H5Pget_virtual_filename, creation, i, these[0], PATH_ROOM);
        QUERY(call->hdf5, H5Pget_virtual_dsetname, creation, i, these[1] + 1, PATH_ROOM - 1);
        if (i == 0 || strcmp(these[0], before[0]) != 0 || strcmp(these[1], before[1]) != 0)
            source_record(call, h5object, these[0], these[1] + (these[1][1] == '/'), room[4]);
    }
    for (int i = 0; i < 5; i++)
        if (room[i] != NULL) pool_give(&scratches, room[i]);
}

// ---- the description of an object

struct facts_of { // the texts of one description
    char shape[SHAPE], most[SHAPE], chunks[SHAPE], filters[128], type[32], token[40];
};

static void describe_data(const struct call *call, hid_t hid, struct h5object *h5object,
                          const struct material *material, struct facts_of *of) {
    struct library *library = call->hdf5;
    bool attribute = h5object->kind == AN_ATTRIBUTE;
    // The elements of a committed type may have another size on disk than in memory.
    bool given = material->type > 0 && QUERY(library, H5Tcommitted, material->type) == 0;
    hid_t type = given       ? material->type
                 : attribute ? QUERY(library, H5Aget_type, hid)
                             : QUERY(library, H5Dget_type, hid);
    hid_t space = material->space;
    if (space <= 0) space = attribute ? QUERY(library, H5Aget_space, hid) : QUERY(library, H5Dget_space, hid);
    type_text(call, h5object, type, of->type);
    describe_extent(call, h5object, space, of->shape, of->most);
    if (!given) QUERY(library, H5Tclose, type);
    if (material->space <= 0) QUERY(library, H5Sclose, space);
}

static void announce(struct h5object *h5object, const struct facts_of *of) {
    static const char kinds[][12] = {"", "Group", "Dataset", "Attribute", "Datatype"};
    bool data = h5object->kind == A_DATASET || h5object->kind == AN_ATTRIBUTE;
    struct provio_member member = {
        .kind = kinds[h5object->kind],
        .path = h5object_path(h5object),
        .name = h5object->kind == AN_ATTRIBUTE ? h5object_name(h5object) : NULL,
        .shape = data && h5object->rank >= 0 ? of->shape : NULL,
        .max_shape = of->most[0] != '\0' ? of->most : NULL,
        .datatype = of->type[0] != '\0' ? of->type : NULL,
        .chunks = of->chunks[0] != '\0' ? of->chunks : NULL,
        .filters = of->filters[0] != '\0' ? of->filters : NULL,
        .token = of->token[0] != '\0' ? of->token : NULL,
        .element_size = h5object->element_size,
        .created = h5object->created,
    };
    h5object->object = provio_member(h5object->file->object, &member);
}

// The creation property list costs up to a third of the time of opening a dataset. It is read only if the dataset has
// neither an address of its own nor chunks.
static bool perhaps_virtual(const struct call *call, struct file *file, hid_t dataset) {
    int index;
    bool chunks = relaxed(file->chunks); // most datasets of a file are alike: try the last layout first
    if (chunks && QUERY(call->hdf5, H5Dget_chunk_index_type, dataset, &index) >= 0) return false;
    haddr_t address = QUERY(call->hdf5, H5Dget_offset, dataset);
    if (!chunks && address == UINT64_MAX)
        chunks = QUERY(call->hdf5, H5Dget_chunk_index_type, dataset, &index) >= 0;
    else
        chunks = false;
    atomic_store_explicit(&file->chunks, chunks, memory_order_relaxed);
    return address == UINT64_MAX && !chunks;
}

// Set the number of elements in one chunk, when a raw chunk is first read or written.
void describe_chunk(const struct call *call, hid_t dataset, struct h5object *h5object) {
    char room[SHAPE];
    struct silence silence;
    silence_begin(&silence, call->hdf5);
    hid_t creation = QUERY(call->hdf5, H5Dget_create_plist, dataset);
    chunks_text(call, h5object, creation, room);
    if (creation > 0) QUERY(call->hdf5, H5Pclose, creation);
    silence_end(&silence);
}

// Also records the object, unless it has no name yet.
void describe(const struct call *call, hid_t hid, struct h5object *h5object, const struct material *material) {
    struct facts_of of;
    struct library *library = call->hdf5;
    bool dataset = h5object->kind == A_DATASET;
    of.shape[0] = of.most[0] = of.chunks[0] = of.filters[0] = of.type[0] = of.token[0] = '\0';
    if (h5object->named) {
        struct text text = {of.token, of.token + sizeof of.token - 1};
        token_text(&text, &h5object->token);
        *text.at = '\0';
    }
    if (dataset || h5object->kind == AN_ATTRIBUTE) describe_data(call, hid, h5object, material, &of);
    if (h5object->kind == A_TYPE) type_text(call, h5object, hid, of.type);
    bool lookups =
        dataset && material->creation < 0 && (h5object->created || perhaps_virtual(call, h5object->file, hid));
    hid_t creation = lookups ? QUERY(library, H5Dget_create_plist, hid) : dataset ? material->creation : 0;
    int layout = creation > 0 ? QUERY(library, H5Pget_layout, creation) : -1;
    if (layout == H5D_CHUNKED && h5object->created) {
        chunks_text(call, h5object, creation, of.chunks);
        filters_text(call, creation, of.filters);
    }
    if (h5object->text != NULL) announce(h5object, &of);
    if (layout == H5D_VIRTUAL && h5object->object != NULL) sources_record(call, h5object, creation);
    if (lookups) QUERY(library, H5Pclose, creation);
}
