/* cuda12/version: which runtime this is: libcudart.so.12. */
#include "../version.h"

const int rt_version = 12090;
