// The rows of the tables, and their real functions: the definition of each name in the first library after the shim. It
// gives the results of dlsym(3) without its lock and in a third of its time, so that it can run inside a wrapper; and
// without linking the library that contains dlsym, which is not the C library on old systems.
#include "raw.h"

#include <link.h>

// ---- the rows of the tables: names and classes

#define CHARACTER CALL
#define VARIADIC CALL
#define HAND CALL
#define FRESH CALL
#define SKIP(name, why)
#define SKIPS(...)
#define CALL(name, ...) #name,
#define HDF5_HAND HDF5
#define HDF5(name, ...) #name,
#define MPIIO_HAND MPIIO
#define MPIIO_LARGE(name, plain, ...) MPIIO(name, __VA_ARGS__)
#define MPIIO HDF5
const char api_names[][32] = {
#include "calls.def"
#include "../hdf5/calls.def"
#include "../mpiio/calls.def"
};
#undef HDF5
#undef CALL
#define CALL(name, ...) sizeof(#name) - 1,
#define HDF5(name, ...) sizeof(#name) - 1,
const unsigned char api_lengths[] = {
#include "calls.def"
#include "../hdf5/calls.def"
#include "../mpiio/calls.def"
};
#undef HDF5
#undef CALL
#undef CHARACTER
#undef VARIADIC
#undef HAND
#undef FRESH

#define CALL(name, type, parameters, arguments, Term, subject, outcome) TERM_##Term,
#define CHARACTER CALL
#define VARIADIC(name, type, parameters, last, sibling, arguments, Term, subject, outcome) TERM_##Term,
#define FIRST_TERM(first, ...) TERM_##first
#define HAND(name, type, parameters, ...) FIRST_TERM(__VA_ARGS__ __VA_OPT__(, ) IOActivity, ),
#define FRESH(name, ...) TERM_IOActivity,
#define HDF5(name, Term, ...) TERM_##Term,
const char api_terms[][16] = {
#include "calls.def"
#include "../hdf5/calls.def"
#include "../mpiio/calls.def"
};

// ---- real functions

// The loader's list in glibc and in musl. Both are weak, because a static program may pass a shim on to a program of
// the other C library: there it only passes the calls on.
extern struct r_debug _r_debug __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static const struct r_debug *loaded(void) {
    if (&_r_debug != NULL) return &_r_debug;
    return &_dl_debug_addr == NULL ? NULL : _dl_debug_addr;
}

bool libc_matches(void) {
#if defined(__GLIBC__)
    return &_r_debug != NULL;
#else
    return &_dl_debug_addr != NULL;
#endif
}

struct library {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash, *old_hash;
    const ElfW(Half) * versions;
};

struct tables tables __attribute__((aligned(PAGE)));

// The libraries loaded at the start of the process: they stay loaded, and libraries loaded later come after them.
static EARLY struct library *_Atomic libraries;
static EARLY _Atomic int library_count;

static const void *table_at(const struct link_map *map, ElfW(Addr) address) {
    return (const void *)(address < map->l_addr ? address + map->l_addr : address); // some loaders do not relocate it
}

static bool library_read(struct library *library, const struct link_map *map) {
    *library = (struct library){.base = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        const void *table = table_at(map, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB) library->symbols = table;
        if (entry->d_tag == DT_STRTAB) library->names = table;
        if (entry->d_tag == DT_GNU_HASH) library->hash = table;
        if (entry->d_tag == DT_HASH) library->old_hash = table;
        if (entry->d_tag == DT_VERSYM) library->versions = table;
    }
    return library->symbols != NULL && library->names != NULL && (library->hash != NULL || library->old_hash != NULL);
}

static uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name != '\0'; name++) hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static void *defined(const struct library *library, uint32_t index) {
    enum { HIDDEN = 0x8000 }; // an old version, for old programs
    const ElfW(Sym) *symbol = &library->symbols[index];
    int type = ELF64_ST_TYPE(symbol->st_info);
    bool found = (type == STT_FUNC || type == STT_OBJECT) && symbol->st_shndx != SHN_UNDEF;
    if (!found || (library->versions != NULL && (library->versions[index] & HIDDEN))) return NULL;
    return (void *)(library->base + symbol->st_value);
}

// For libraries with only the old hash table; its second number is the number of symbols.
static void *old_library_find(const struct library *library, const char *name) {
    for (uint32_t index = 1; index < library->old_hash[1]; index++) {
        if (strcmp(library->names + library->symbols[index].st_name, name) != 0) continue;
        void *found = defined(library, index);
        if (found != NULL) return found;
    }
    return NULL;
}

// The GNU hash table: a Bloom filter that excludes most names, then buckets of chains.
static void *library_find(const struct library *library, const char *name, uint32_t hash) {
    if (library->hash == NULL) return old_library_find(library, name);
    enum { BITS = 8 * sizeof(ElfW(Addr)) };
    uint32_t buckets = library->hash[0], first = library->hash[1], words = library->hash[2], shift = library->hash[3];
    const ElfW(Addr) *filter = (const void *)(library->hash + 4), one = 1;
    const uint32_t *heads = (const void *)(filter + words), *chain = heads + buckets;
    ElfW(Addr) both = one << hash % BITS | one << (hash >> shift) % BITS;
    if ((filter[hash / BITS % words] & both) != both) return NULL;
    uint32_t index = heads[hash % buckets];
    for (bool last = index < first; !last; index++) {
        uint32_t other = chain[index - first];
        if ((other | 1) == (hash | 1) && strcmp(library->names + library->symbols[index].st_name, name) == 0) {
            void *found = defined(library, index);
            if (found != NULL) return found;
        }
        last = other & 1;
    }
    return NULL;
}

static long absent(void) {
    errno = ENOSYS;
    return -1;
}

static const struct link_map *own_map(void) {
    const struct link_map *map = loaded() == NULL ? NULL : loaded()->r_map;
    while (map != NULL && map->l_ld != _DYNAMIC) map = map->l_next;
    return map;
}

static void *find_from(const struct link_map *map, const char *name, uint32_t hash) {
    void *found = NULL;
    for (; map != NULL && found == NULL; map = map->l_next) {
        struct library library;
        if (library_read(&library, map)) found = library_find(&library, name, hash);
    }
    return found;
}

// Search libraries loaded after the start: before glibc 2.34, threads are in a separate library.
static void *find_loaded(const char *name, uint32_t hash) {
    const struct link_map *own = own_map();
    return find_from(own == NULL ? NULL : own->l_next, name, hash);
}

static void *find_name(const char *name) {
    void *found = NULL;
    uint32_t hash = hash_of(name);
    const struct library *known = relaxed(libraries);
    for (int i = 0, count = relaxed(library_count); i < count && found == NULL; i++)
        found = library_find(&known[i], name, hash);
    return found != NULL ? found : find_loaded(name, hash);
}

#if defined(__GLIBC__)
static void *find(int api) {
    return find_name(api_names[api]);
}
#else
// Since musl 1.2.4, only its loader knows that `open64` is `open`.
static void *find(int api) {
    const char *name = api_names[api], *wide = strstr(name, "64");
    void *found = find_name(name);
    if (found != NULL || wide == NULL) return found;
    char plain[sizeof *api_names];
    memcpy(plain, name, (size_t)(wide - name));
    memcpy(plain + (wide - name), wide + 2, strlen(wide + 2) + 1);
    return find_name(plain);
}
#endif

const char *own_name(void) {
    const struct link_map *map = own_map();
    return map == NULL || map->l_name == NULL ? "" : map->l_name;
}

void resolve_begin(void) {
    int count = 0;
    if (relaxed(library_count) != 0) return;
    const struct link_map *own = own_map(), *first = own == NULL ? NULL : own->l_next;
    for (const struct link_map *map = first; map != NULL; map = map->l_next) count++;
    struct library *found = arena_take((size_t)count * sizeof *found);
    count = 0;
    for (const struct link_map *map = found == NULL ? NULL : first; map != NULL; map = map->l_next)
        count += library_read(&found[count], map);
    atomic_store(&libraries, found);
    atomic_store(&library_count, count == 0 ? -1 : count);
}

void *real_named(const char *name) {
    resolve_begin();
    return find_name(name);
}

// Whether the C library defines the function that a program calls by this name, and no library before it.
bool real_is_of_libc(const char *name) {
    const struct link_map *own = own_map();
    for (const struct link_map *map = own == NULL ? NULL : own->l_next; map != NULL; map = map->l_next) {
        struct library library;
        if (library_read(&library, map) && library_find(&library, name, hash_of(name)) != NULL)
            return library_find(&library, "__libc_start_main", hash_of("__libc_start_main")) != NULL;
    }
    return false;
}

// The program may have the C library's variable.
void *variable_named(const char *name) {
    return find_from(loaded() == NULL ? NULL : loaded()->r_map, name, hash_of(name));
}

// The vdso comes before the shim in the list of glibc, and last in that of musl.
void *kernel_function(const char *name) {
    return find_from(loaded() == NULL ? NULL : loaded()->r_map, name, hash_of(name));
}

struct definitions {
    const char *name;
    int count;
};

static int count_definition(struct dl_phdr_info *info, size_t size, void *data) {
    struct definitions *definitions = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        void *dynamic = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        const struct link_map map = {.l_addr = info->dlpi_addr, .l_ld = dynamic};
        struct library library;
        definitions->count += dynamic != _DYNAMIC && library_read(&library, &map) &&
                              library_find(&library, definitions->name, hash_of(definitions->name)) != NULL;
    }
    return 0;
}

// With the loader's lock: another thread may unload a library at the same time.
int libraries_that_define(const char *name) {
    struct definitions definitions = {name, 0};
    int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *) = real_named("dl_iterate_phdr");
    if (iterate != NULL) iterate(count_definition, &definitions);
    return definitions.count;
}

__attribute__((cold, noinline)) void *resolve(int api) {
    resolve_begin(); // the constructor of another library may call before this one's
    void *found = relaxed(real_functions[api]);
    if (found == NULL && (found = find(api)) == NULL) found = (void *)absent;
    atomic_store(&real_functions[api], found);
    return found;
}
