// What keeps the shim from its files later on: seccomp, a changed root, another user, other namespaces.
#include "shim.h"

EARLY _Atomic bool sealed, confined;
