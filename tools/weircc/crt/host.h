/* Included by weircc before every CUDA source file, in the host pass.
 *
 * The object file records where the toolkit's libraries are, as a program would by a search path: a
 * program that holds the static runtime finds the driver by it when it was linked by another
 * compiler (CMake does that), which knows of no such path. All copies are one symbol. */
#ifdef __WEIR_TOOLKIT_LIB__
extern "C" {
extern const char weir_toolkit_lib[] __attribute__((weak));
const char weir_toolkit_lib[] = __WEIR_TOOLKIT_LIB__;
}
#endif
