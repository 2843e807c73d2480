// FLAGS: -rdc=true -lcudadevrt -arch=sm_80 -DCUDA_FORCE_CDP1_IF_SUPPORTED
// GPU: GPUs lost cudaDeviceSynchronize in device code with sm_90
// D5: stress.cu with device-side synchronization, in functions that call themselves, too.
#define D5_WAITS 1
#include "stress.cu"
