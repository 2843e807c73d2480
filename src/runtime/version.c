/* version: which runtime this is. libcudart.so.12 is made of the same objects with another
 * (cuda12/version.c). */
#include "runtime/version.h"
#include "runtime/internal.h"

const int rt_version = CUDART_VERSION;
