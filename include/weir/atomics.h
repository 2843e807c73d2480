#ifndef WEIR_ATOMICS_H
#define WEIR_ATOMICS_H
#endif
