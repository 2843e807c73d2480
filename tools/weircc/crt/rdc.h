/* How relocatable device code lies in an object file. weircc includes this before a source file
 * compiled with -rdc=true, in the host pass only, and by itself to wrap PTX.
 *
 * The fat binary of the file goes into the section weir_rdc; the linker joins those of all files
 * between __start_weir_rdc and __stop_weir_rdc. The second section is empty; its one relocation
 * makes the linker take in the code that registers them all (rdc.c): from the object that
 * `weircc -dlink` writes, or else from libcudadevrt.a. */
#ifdef __WEIR_RDC_FATBIN__
__asm__(".pushsection weir_rdc,\"a\",@progbits\n"
        ".balign 8\n"
        ".incbin \"" __WEIR_RDC_FATBIN__ "\"\n"
        ".balign 8\n"
        ".popsection\n"
        ".hidden __cudaWeirDeviceLink\n"
        ".pushsection .rodata.weir_device_link,\"a\",@progbits\n"
        ".reloc ., R_X86_64_NONE, __cudaWeirDeviceLink\n"
        ".popsection\n");
#endif
