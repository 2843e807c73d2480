# Relocatable device code: how objects hold it, and that links take the registering part in. The
# runtime is stood in for by two functions that print what they are given.
. "$(dirname "$0")/lib.sh"

cat >main.cu <<'END'
#include <cstdio>
extern __device__ int helper(int);
extern __device__ int shared_value;
static __device__ int own = 1;
static __global__ void own_kernel(int *p) { *p = own; }
__global__ void kernel(int *p) { *p = helper(shared_value); }
void launch(int *p) { kernel<<<1, 1>>>(p); own_kernel<<<1, 1>>>(p); }
END
cat >helper.cu <<'END'
__device__ int shared_value = 3;
static __device__ int own = 2;
static __global__ void own_kernel(int *p) { *p = own; }
__device__ int helper(int x) { return x + own; }
void launch2(int *p) { own_kernel<<<1, 1>>>(p); }
END
# Prints the fat binaries and the names of the entries.
cat >runtime.c <<'END'
#include <stdint.h>
#include <stdio.h>
int cudaRuntimeGetVersion(int *version) { return *version = 13000; }
struct entry { void *addr; const char *name; uint64_t size; int32_t flags, data; };
void __cudaWeirRegisterOffload(const char *p, const char *end, const struct entry *e,
                               const struct entry *last)
{
    int blobs = 0;
    for (; p < end; p += 16 + *(const uint64_t *)(p + 8)) {
        printf("magic %x\n", *(const uint32_t *)p);
        blobs++;
    }
    printf("%d fat binaries\n", blobs);
    for (; e < last; e++)
        printf("entry %s %llu\n", e->name, (unsigned long long)e->size);
}
void __cudaWeirUnregisterOffload(const char *p) { printf("unregistered\n"); }
void __cudaWeirRegisterManaged(const char *p, const char *end) { printf("managed %d\n", (int)(end - p)); }
int cudaLaunchKernel(void) { return 0; }
int __cudaPushCallConfiguration(void) { return 1; }
int __cudaPopCallConfiguration(void) { return 1; }
void *__cudaRegisterFatBinary(void *p) { return p; }
void __cudaRegisterFatBinaryEnd(void **p) {}
void __cudaUnregisterFatBinary(void **p) {}
void __cudaRegisterFunction(void) {}
void __cudaRegisterVar(void **h, void *p, void *d, const char *name) { printf("variable %s\n", name); }
int main(void) { return 0; }
END
run weircc -dc main.cu helper.cu
ok
exists main.o helper.o
run weircc -c runtime.c
ok

check_output() {
    ok
    says '2 fat binaries'
    says 'magic ba55ed50'
    says 'unregistered'
    says 'entry _Z6kernelPi 0'
    says 'entry shared_value 4'
}

# weircc links: libcudadevrt.a is taken in by itself.
run weircc -cudart none main.o helper.o runtime.o -L"$build/lib" -lcudadevrt -o direct
ok
run ./direct
check_output
# The names of static kernels are the same in both passes and differ between files.
names=$(grep -c 'entry .*own_kernel.*__' out)
[ "$names" = 2 ]
note $? "$names static kernels, wanted 2"
grep 'entry .*own_kernel' out | sed 's/entry \([^ ]*\) .*/\1/' | while read -r name; do
    grep -qaF "$name" main.o helper.o || echo "$name" >>unknown
done
missing unknown
for f in main helper; do
    run weircc -ptx -rdc=true $f.cu
    ok
done
for name in $(sed -n 's/.*\.entry \(_ZL10own_kernel[A-Za-z0-9_]*\).*/\1/p' main.ptx helper.ptx); do
    ./direct >out
    says "entry $name 0"
done

# Device code alone: one module that defines what both files do.
for phase in -cubin -fatbin; do
    run weircc $phase -dlink main.o helper.o -o linked
    ok
    run weir dump --ptx linked
    ok
    says '.visible .entry _Z6kernelPi'
    says '_Z6helperi'
    rm -f linked
done

# Two stages, the last by the host compiler.
run weircc -dlink main.o helper.o -o dlink.o
ok
run g++ dlink.o main.o helper.o runtime.o -o staged
ok
run ./staged
check_output
# The -dlink object and the library together register once.
run g++ dlink.o main.o helper.o runtime.o -L"$build/lib" -lcudadevrt -o twice
ok
run ./twice
check_output
[ "$(grep -c 'fat binaries' out)" = 1 ]
note $? "registered more than once"
# A device function that no file defines is missed when the program is linked.
run weircc -cudart none main.o runtime.o -L"$build/lib" -lcudadevrt -o incomplete
fails
says 'device function `helper(int)'
# A device function that is defined nowhere is named as in the source.
echo 'namespace n { __device__ int missing(int); } __global__ void uses(int *p) { *p = n::missing(3); } int main() {}' >open.cu
run weircc -rdc=true open.cu -o open
fails
says "undefined reference to device function \`n::missing(int)'"
says "in device function \`uses(int*)'"
says_not '__weir_device'
says_not 'hidden symbol'
# A file that was rewritten (launches by a kernel) is named by its own name.
printf 'int nowhere();\n__global__ void c() {}\n__global__ void p() { c<<<1, 1>>>(); }\nint main() { return nowhere(); }\n' >nested.cu
run weircc -rdc=true nested.cu -o nested
fails
says 'nested.cu:'
says_not 'rewritten'

# Without either, the linker says what is missing.
run g++ main.o helper.o runtime.o -o none
fails
says '__cudaWeirDeviceLink'

# An archive's member that only device code needs is taken in.
run weircc -lib helper.o -o libhelper.a
ok
run weircc -cudart none main.o runtime.o libhelper.a -L"$build/lib" -lcudadevrt -o by_need
ok
run ./by_need
check_output
# From an archive, and from a shared library, which registers for itself.
run weircc -lib main.o helper.o -o libboth.a
ok
run weircc -cudart none runtime.o -Xlinker --whole-archive libboth.a -Xlinker --no-whole-archive \
    -L"$build/lib" -lcudadevrt -o archived
ok
run ./archived
check_output
run weircc -dc -Xcompiler -fPIC main.cu helper.cu
ok
run weircc -shared -cudart none main.o helper.o -L"$build/lib" -lcudadevrt -o libshared.so
ok
run weircc -cudart none runtime.o -Xlinker --no-as-needed ./libshared.so -Xcompiler -rdynamic -o with_shared
ok
run ./with_shared
check_output

# PTX as an input.
run weircc -dc helper.ptx -o helper_ptx.o
ok
run weircc -fatbin helper.ptx
ok
run weircc -dlink main.o helper.fatbin -o with_ptx.o
ok
run g++ with_ptx.o main.o runtime.o -o ptx_program
ok
run ./ptx_program
ok
says '2 fat binaries'

# A static variable is the file's own, even if the device code refers to it before clang knows that
# the host does, too; and virtual tables need nothing from elsewhere.
cat >statics.cu <<'END'
static __constant__ float factors[4];
struct base { __device__ virtual float get() = 0; };
struct derived : base { __device__ float get() override { return factors[0]; } };
__device__ float call(base *b) { return b->get(); }
__global__ void kernel(float *p) { derived d; *p = factors[1] + call(&d); }
const void *where() { return &factors; }
END
run weircc -rdc=true -c statics.cu
ok
run weircc -cudart none statics.o runtime.o -L"$build/lib" -lcudadevrt -o statics
ok

# Variables that host and device share.
cat >managed.cu <<'END'
__managed__ int counter = 5;
__managed__ double table[10];
__device__ int plain;
__global__ void k() { counter++; table[0] = plain; }
int read() { return counter + (int)table[3]; }
END
run weircc -c managed.cu
ok
run g++ managed.o runtime.o -o managed
ok
run ./managed
ok
says 'managed '
says 'variable counter'
sed 's/counter/counter2/; s/table/table2/; s/ k()/ k2()/; s/ read()/ read2()/; s/plain/plain2/' managed.cu >managed2.cu
run weircc -c managed2.cu
ok
run g++ managed.o managed2.o runtime.o -o managed2
ok
run ./managed2
ok
[ "$(grep -c '^managed' out)" = 1 ]
note $? "registered more than once"
# What was linked can be looked into.
run weir dump direct
ok
says '2 relocatable parts linked'
says '_Z6kernelPi'
run weir dump helper.o
ok
says 'own_kernel'
done_
