/* Everything that code may want from outside. */
#include "abi/kernel_abi.h"

extern int32_t weir_var_0[4];
extern uint64_t weir_var_1;
extern char weir_func_1[];
extern char weir_func_2[] __attribute__((weak));
extern void weir_rt_note(struct jit_block *b, uint32_t mask, const uint64_t *args, uint64_t *rets);
extern char weir_rt_absent[] __attribute__((weak));
extern float sinf(float);
extern double fmod(double, double);
extern float Sleef_cosf_u10(float);
extern void *memcpy(void *, const void *, unsigned long);

/* params: the address of 12 results; in and out */
uint32_t weir_block(struct jit_block *b)
{
    double *out = *(double *const *)b->params;
    volatile float one = 1.0f;
    volatile double nine = 9.5;
    uint64_t args[2] = {41, 1}, rets[1] = {0};
    weir_rt_note(b, 1, args, rets);
    out[0] = (double)rets[0];
    out[1] = weir_var_0[2];
    weir_var_1 += 5;
    out[2] = (double)(uintptr_t)weir_func_1;
    out[3] = sinf(one);
    out[4] = fmod(nine, 4.0);
    out[5] = Sleef_cosf_u10(one);
    _Float16 h = (_Float16)(one / 3);
    out[6] = (double)h;
    __extension__ unsigned __int128 wide = ((unsigned __int128)(uint64_t)nine << 64) | 6;
    out[7] = (double)(uint64_t)(wide / (uint64_t)(one + 2));
    char from[64] = "copied", to[64];
    memcpy(to, from, b->nthreads);
    out[8] = to[3];
    out[9] = weir_rt_absent == 0;
    out[10] = (double)(uintptr_t)weir_func_2;
    __bf16 brain;
    float third = one / 3;
    brain = (__bf16)third;
    uint16_t bits;
    memcpy(&bits, &brain, sizeof bits);
    out[11] = bits;
    return JIT_DONE;
}
