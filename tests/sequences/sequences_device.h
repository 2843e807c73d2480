/* What device.cu gives to C code: kernels by number, and the symbol. */
#ifndef WEIR_TEST_SEQUENCES_DEVICE_H
#define WEIR_TEST_SEQUENCES_DEVICE_H
enum kernel_number { KERNEL_MIX, KERNEL_COPY, KERNEL_GATE, KERNEL_COUNT, KERNEL_SMALL, KERNELS };
enum { SYMBOL_BYTES = 16 * 1024 };
#ifdef __cplusplus
extern "C" {
#endif
/* As cudaLaunchKernel takes it. */
const void *kernel_handle(int number);
const void *symbol_handle(void);
#ifdef __cplusplus
}
#endif
#endif
