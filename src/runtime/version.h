/* version: the version of the runtime API that the library is, as CUDART_VERSION. */
#ifndef WEIR_RUNTIME_VERSION_H
#define WEIR_RUNTIME_VERSION_H

extern const int rt_version;

#endif
