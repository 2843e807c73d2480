/* The functions that a kernel calls and something outside it performs: printf, malloc, free and a
 * failed assertion. Their names are those of the CUDA system call interface ("PTX Writer's Guide to
 * Interoperability"); the driver supplies them.
 *
 * Comes before <cstdlib> and <new>, so that std::malloc and operator new mean these, too. */
#ifndef WEIR_DEVICE_SYSTEM_H
#define WEIR_DEVICE_SYSTEM_H

extern "C" {
__device__ int vprintf(const char *format, const char *arguments);
__device__ void *malloc(size_t bytes) __attribute__((nothrow, malloc));
__device__ void free(void *pointer) __attribute__((nothrow));
__device__ void __assertfail(const char *message, const char *file, unsigned line,
                             const char *function, size_t char_size);

/* clang turns calls of printf into vprintf with a packed argument buffer. */
__device__ int printf(const char *format, ...);

/* What glibc's assert() calls. It does not claim to never return, because the launch goes on for
 * other threads until the block notices. */
__device__ static inline void __assert_fail(const char *message, const char *file, unsigned line,
                                            const char *function)
{
    __assertfail(message, file, line, function, sizeof(char));
}

/* What a virtual function table has for a function that is pure or deleted. */
__device__ inline void __cxa_pure_virtual() { __builtin_trap(); }
__device__ inline void __cxa_deleted_virtual() { __builtin_trap(); }
}

#endif
