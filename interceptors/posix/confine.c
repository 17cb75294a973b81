// What keeps the shim from its files later on: seccomp, a changed root, another user, other namespaces.
#include "shim.h"

_Atomic bool sealed, confined;
