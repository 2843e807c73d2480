/* cuda12/version: which runtime this is: libcudart.so.12. */
#include "runtime/version.h"

const int rt_version = 12090;
