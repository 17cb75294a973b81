// The callbacks of pass.def.
#ifndef PASS_H
#define PASS_H

#include "vol.h"

#define PASS(name, parameters, arguments) herr_t pass_##name parameters;
#include "pass.def"
#undef PASS

#endif
