// The private face of the POSIX interceptor, a header for each section, in the order in which one call's data flows:
// raw system calls -> memory -> text -> clock, process and thread -> live file -> object -> access -> event.
//
// Rules for every line that can run inside a wrapper: no malloc, no stdio, no lock, no dl* call, nothing printed;
// system calls of its own are raw, so errno stays as the real call left it and no wrapper is entered twice;
// little stack (a handler may run on a small sigaltstack); a signal handler may run, and do I/O, between any two
// instructions; what can fail makes the thread silent, never the program different.
#ifndef PROVIO_SHIM_H
#define PROVIO_SHIM_H

#include "event.h" // which has all below it

#endif
