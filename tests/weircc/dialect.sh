# C++ that clang refuses by default, as warnings that are errors or as words that strict dialects do not have,
# and nvcc's front end takes without a word.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset LD_LIBRARY_PATH
cat >a.cu <<'END'
#include <cstdio>
/* a template's name without its arguments after the word (alpaka) */
template <class T> struct Sized {
    template <class I> static __host__ __device__ int plus(I i) { return i + (int)sizeof(T); }
};
template <class T, class I> __host__ __device__ int call(I i) { return Sized<T>::template plus(i); }
/* a constant that is no value of its enumeration (Boost's MPL before 1.81) */
enum Color { red, green };
template <class E, E v> struct Constant {
    static constexpr E value = v;
    static constexpr E prior = static_cast<E>(v - 1), next = static_cast<E>(v + 3);
};
/* the size of a type that depends on a parameter, without typename (ThunderKittens) */
template <class T> struct Wrapped { using type = T; };
template <class W> __host__ __device__ int size_in(W) { return (int)sizeof(W::type); }
/* a GNU word in a strict dialect */
__host__ __device__ int half_of(int i)
{
    typeof(i) half = i / 2;
    return half;
}
__global__ void kernel()
{
    printf("device %d %d %d %d %d\n", half_of(9), call<char>(41), (int)Constant<Color, red>::prior, (int)Constant<Color, green>::next,
           size_in(Wrapped<short>()));
}
int main()
{
    kernel<<<1, 1>>>();
    cudaDeviceSynchronize();
    printf("host %d %d %d %d %d\n", half_of(9), call<char>(41), (int)Constant<Color, red>::prior, (int)Constant<Color, green>::next,
           size_in(Wrapped<short>()));
}
END
for options in '' -std=c++14 -std=c++17 '-std=c++20 --host-frontend=ccbin'; do
    run weircc $options a.cu -o program
    ok
    says_not 'warning'
    run ./program
    says 'device 4 42 -1 4 2'
    says 'host 4 42 -1 4 2'
done
done_
