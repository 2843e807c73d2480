/* cuda_fp4.hpp: the name under which some programs ask for the functions of cuda_fp4.h, which has
 * all of them itself. */
#include "cuda_fp4.h"
