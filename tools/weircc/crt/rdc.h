/* How an object file holds relocatable device code. weircc includes this before a source file
 * compiled with -rdc=true, in the host pass only, and by itself to wrap PTX.
 *
 * The assembler file, written anew for each object, puts the fat binary into the section weir_rdc;
 * the linker joins those of all files between __start_weir_rdc and __stop_weir_rdc. It refers to
 * __cudaWeirDeviceLink, by which the linker takes in the code that registers them all (rdc.c): from
 * the object that `weircc -dlink` writes, or else from libcudadevrt.a. */
#ifdef __WEIR_RDC_ASM__
__asm__(".include \"" __WEIR_RDC_ASM__ "\"\n");
#endif
