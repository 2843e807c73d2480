/* How relocatable device code lies in an object file. weircc includes this before a source file
 * compiled with -rdc=true, in the host pass only, and by itself to wrap PTX.
 *
 * The PTX of the file goes into the section weir_device_code as one piece (struct offload_piece of
 * the runtime's offload.h: "WPTX", 1, size, text, NUL); the linker joins the pieces of all files
 * between __start_weir_device_code and __stop_weir_device_code. The second section is empty; its
 * one relocation makes the linker take in the code that registers all pieces (rdc.c): from the
 * object that `weircc -dlink` writes, or else from libcudadevrt.a. */
#ifdef __WEIR_RDC_PTX__
__asm__(".pushsection weir_device_code,\"a\",@progbits\n"
        ".balign 8\n"
        ".long 0x58545057, 1\n"
        ".quad .Lweir_device_code_end - .Lweir_device_code_begin\n"
        ".Lweir_device_code_begin:\n"
        ".incbin \"" __WEIR_RDC_PTX__ "\"\n"
        ".byte 0\n"
        ".Lweir_device_code_end:\n"
        ".balign 8\n"
        ".popsection\n"
        ".hidden __cudaWeirDeviceLink\n"
        ".pushsection .rodata.weir_device_link,\"a\",@progbits\n"
        ".reloc ., R_X86_64_NONE, __cudaWeirDeviceLink\n"
        ".popsection\n");
#endif
