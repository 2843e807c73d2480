/* texture_loops.h: what texture reads of api.cu are compared with. */
#ifndef WEIR_BENCH_TEXTURE_LOOPS_H
#define WEIR_BENCH_TEXTURE_LOOPS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The sums of `reads` bilinear reads by each of so many readers (a multiple of eight) from a square
 * of floats or of bytes, after which three more bytes can be read. 0: this CPU has no such loop. */
int texture_loop(int of_bytes, const void *texels, int side, int readers, int reads, float *out);

#ifdef __cplusplus
}
#endif

#endif
