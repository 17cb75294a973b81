// Starts provio's Python layer (../recognising.py) in a Python process that is recorded. Nothing in the environment or
// the module path is needed, so it works with all options and in embedded interpreters.
#include "event.h"

#include <dlfcn.h>

typedef struct python_object python_object;

// Not NULL in a process that contains Python. (The only name that the loader resolves for the shim in every process.)
__attribute__((weak, visibility("default"))) extern int Py_IsInitialized(void);

// Its functions, looked up only in a Python process, because dlsym allocates an error message for a missing name.
static struct {
    int (*Py_AddPendingCall)(int (*function)(void *), void *argument);
    python_object *(*PyDict_New)(void);
    int (*PyDict_SetItemString)(python_object *, const char *, python_object *);
    python_object *(*PyUnicode_DecodeFSDefault)(const char *);
    python_object *(*PyRun_String)(const char *, int, python_object *, python_object *);
    python_object *(*PyErr_Occurred)(void);
    void (*PyErr_Clear)(void);
    void (*Py_DecRef)(python_object *);
} own;

static bool own_found(void) {
#define FIND(name)                                                                                                     \
    own.name = loaded_symbol(RTLD_DEFAULT, #name);                                                                     \
    if (own.name == NULL) return false;
    FIND(Py_AddPendingCall)
    FIND(PyDict_New)
    FIND(PyDict_SetItemString)
    FIND(PyUnicode_DecodeFSDefault)
    FIND(PyRun_String)
    FIND(PyErr_Occurred)
    FIND(PyErr_Clear)
    FIND(Py_DecRef)
    return true;
#undef FIND
}

enum { FILE_INPUT = 257 };

EARLY _Atomic bool python_pending;

// Other processes pay only for that one name.
void python_detect(void) {
    static const char folder[] = "interceptors", first[] = "/recognising.py";
    if (Py_IsInitialized == NULL || !own_found()) return;
    char *room = arena_take(strlen(own_name()) + sizeof folder + sizeof first);
    size_t before = room == NULL ? 0 : package_folder(room), length = before + sizeof folder - 1;
    if (before == 0) return;
    memcpy(room + before, folder, sizeof folder - 1);
    memcpy(room + length, first, sizeof first);
    if (RAW(faccessat, AT_FDCWD, (long)room, R_OK) != 0) return;
    room[length] = '\0';
    settings.layer = room;
    settings.layer_length = length;
    atomic_store(&python_pending, true);
}

// Byte code is read from the package, but never written, because the user may not own provio. An exception raised by
// the program's own signal handler belongs to the program (../python/guard.py).
static const char beginning[] = "def load(name):\n"
                                "    from _frozen_importlib_external import SourceFileLoader\n"
                                "    loader = SourceFileLoader('_provio.' + name, place + '/' + name + '.py')\n"
                                "    loader.set_data = lambda *_, **__: None\n"
                                "    names = {'__name__': '_provio.' + name}\n"
                                "    exec(loader.get_code('_provio.' + name), names)\n"
                                "    return names\n"
                                "try:\n"
                                "    load('recognising')['begin'](place)\n"
                                "except Exception as error:\n"
                                "    try:\n"
                                "        programs = load('python/guard')['raised_by_handler'](error)\n"
                                "    except Exception:\n"
                                "        programs = False\n"
                                "    if programs:\n"
                                "        raise\n";

static int python_begin(void *unused) {
    (void)unused;
    python_object *names = own.PyDict_New(), *place = own.PyUnicode_DecodeFSDefault(settings.layer), *done = NULL;
    if (names != NULL && place != NULL && own.PyDict_SetItemString(names, "place", place) == 0)
        done = own.PyRun_String(beginning, FILE_INPUT, names, names);
    own.Py_DecRef(done);
    own.Py_DecRef(place);
    own.Py_DecRef(names);
    if (names != NULL && place != NULL && own.PyErr_Occurred() != NULL) return -1;
    own.PyErr_Clear();
    return 0;
}

// Called after a file was opened: the interpreter will run python_begin when it can.
void python_request(void) {
    if (lender != NULL || !Py_IsInitialized() || !atomic_exchange(&python_pending, false)) return;
    int error = errno;
    const char *set = getenv("PROVIO_RECOGNISE"), *off = getenv("PROVIO_OFF");
    if ((set == NULL || strcmp(set, "off") != 0) && (off == NULL || *off == '\0'))
        own.Py_AddPendingCall(python_begin, NULL);
    errno = error;
}
