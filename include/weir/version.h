/* The toolkit whose interface we have: what programs see as CUDA_VERSION, CUDART_VERSION and the
 * compiler's version. Defined once, because several headers must agree. */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

#define WEIR_CUDA_MAJOR   13
#define WEIR_CUDA_MINOR   0
#define WEIR_CUDA_VERSION 13000

#endif
