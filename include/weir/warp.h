/* Warp functions that clang's headers leave out: match and its kin. */
#ifndef WEIR_WARP_H
#define WEIR_WARP_H
#endif
