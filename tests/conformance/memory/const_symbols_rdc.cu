// FLAGS: -rdc=true -lcudadevrt
/* M1: const_symbols.cu with relocatable device code, where static variables have names of their
 * own. */
#include "const_symbols.cu"
