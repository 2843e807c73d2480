/* version: which runtime this is. libcudart.so.12 is made of the same objects with another
 * (cuda12/version.c). */
#include "version.h"
#include "internal.h"

const int rt_version = CUDART_VERSION;
