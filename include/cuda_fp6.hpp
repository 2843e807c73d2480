/* cuda_fp6.hpp: the name under which some programs ask for the functions of cuda_fp6.h, which has
 * all of them itself. */
#include "cuda_fp6.h"
