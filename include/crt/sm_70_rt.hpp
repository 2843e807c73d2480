/* Here because clang's __clang_cuda_intrinsics.h includes this name; the warp match functions that
 * it would define are in weir/warp.h. */
