/* The second file of other_driver_a.cu. */
__managed__ int counter = 5;
__managed__ double values[8] = {1.5};
__global__ void elsewhere(int n) { atomicAdd(&counter, n); }
