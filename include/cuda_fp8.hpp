/* cuda_fp8.hpp: the name under which some programs ask for the functions of cuda_fp8.h, which has
 * all of them itself. */
#include "cuda_fp8.h"
