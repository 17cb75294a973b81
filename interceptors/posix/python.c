// A Python that is watched waits for the libraries whose calls say what it does (../recognising.py): nothing of that is
// in its environment or on its path, whatever its options are and whoever started it.
#include "shim.h"

typedef struct python_object python_object;

// Where this process is a Python, its own; else NULL. (What dlsym does not find, it says with malloc.)
#define OWN(type, name, parameters) __attribute__((weak, visibility("default"))) extern type name parameters
OWN(int, Py_IsInitialized, (void));
OWN(int, Py_AddPendingCall, (int (*function)(void *), void *argument));
OWN(python_object *, PyDict_New, (void));
OWN(int, PyDict_SetItemString, (python_object *, const char *, python_object *));
OWN(python_object *, PyUnicode_DecodeFSDefault, (const char *));
OWN(python_object *, PyRun_String, (const char *, int, python_object *, python_object *));
OWN(python_object *, PyErr_Occurred, (void));
OWN(int, PyErr_GivenExceptionMatches, (python_object *, python_object *));
OWN(void, PyErr_Clear, (void));
OWN(void, Py_DecRef, (python_object *));
OWN(python_object *, PyExc_KeyboardInterrupt, );

enum { FILE_INPUT = 257 };

_Atomic bool python_waits;

// Whoever has no Python pays for the look-ups of the loader alone.
void python_look(void) {
    static const char folder[] = "interceptors", first[] = "/recognising.py";
    if (Py_IsInitialized == NULL || Py_AddPendingCall == NULL) return;
    const char *own = own_name(), *slash = strrchr(own, '/');
    if (slash == NULL) return;
    size_t before = (size_t)(slash + 1 - own), length = before + sizeof folder - 1;
    char *room = arena_take(length + sizeof first);
    if (room == NULL) return;
    memcpy(room, own, before);
    memcpy(room + before, folder, sizeof folder - 1);
    memcpy(room + length, first, sizeof first);
    if (RAW(faccessat, AT_FDCWD, (long)room, R_OK) != 0) return;
    room[length] = '\0';
    settings.layer = room;
    settings.layer_length = length;
    atomic_store(&python_waits, true);
}

// Its byte code is read where it lies, but never written: the program's user may not be provio's.
static const char beginning[] = "from _frozen_importlib_external import SourceFileLoader as loader\n"
                                "loader = loader('_provio.recognising', place + '/recognising.py')\n"
                                "loader.set_data = lambda *_, **__: None\n"
                                "names = {'__name__': '_provio.recognising'}\n"
                                "exec(loader.get_code('_provio.recognising'), names)\n"
                                "names['begin'](place)\n";

static int python_begin(void *unused) {
    (void)unused;
    python_object *names = PyDict_New(), *place = PyUnicode_DecodeFSDefault(settings.layer), *done = NULL;
    if (names != NULL && place != NULL && PyDict_SetItemString(names, "place", place) == 0)
        done = PyRun_String(beginning, FILE_INPUT, names, names);
    Py_DecRef(done);
    Py_DecRef(place);
    Py_DecRef(names);
    python_object *error = PyErr_Occurred();
    if (error == NULL) return 0;
    if (PyErr_GivenExceptionMatches(error, PyExc_KeyboardInterrupt)) return -1; // which is the program's
    PyErr_Clear();
    return 0;
}

// Called where a file was opened: the interpreter is asked to make a call of its own when it next can.
void python_ask(void) {
    if (lender != NULL || !Py_IsInitialized() || !atomic_exchange(&python_waits, false)) return;
    int error = errno;
    const char *set = getenv("PROVIO_RECOGNISE"), *off = getenv("PROVIO_OFF");
    if ((set == NULL || strcmp(set, "off") != 0) && (off == NULL || *off == '\0'))
        Py_AddPendingCall(python_begin, NULL);
    errno = error;
}
