// FLAGS: -rdc=true -lcudadevrt -arch=sm_80 -DCUDA_FORCE_CDP1_IF_SUPPORTED
// D2_stress.cu with device-side synchronization, in functions that call themselves, too.
#define D5_WAITS 1
#include "D2_stress.cu"
