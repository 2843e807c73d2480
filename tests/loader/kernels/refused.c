/* Code that must not be loaded, one reason at a time. */
#include "abi/kernel_abi.h"

#if defined(UNKNOWN)
extern int system(const char *);
#define BODY system("true")
#elif defined(TLS)
static __thread int counter;
#define BODY ++counter
#elif defined(CONSTRUCTOR)
static volatile int value;
__attribute__((constructor)) static void start(void) { value = 1; }
#define BODY value
#elif defined(FAR)
extern int weir_var_0[4];
#define BODY weir_var_0[b->nthreads]
#else
#define BODY 0
#endif

#if defined(NO_ENTRY)
uint32_t another_name(struct jit_block *b)
#else
uint32_t weir_block(struct jit_block *b)
#endif
{
    (void)b;
    return (uint32_t)(BODY);
}
