# NVTX from Weir's headers: found as in a toolkit, by other compilers, too, after those that a program brings;
# what a program says by it is in a timeline.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset LD_LIBRARY_PATH NVTX_INJECTION64_PATH
include=$build/lib/weir/cuda/include

cat >use.cpp <<'END'
#include <nvtx3/nvtx3.hpp>
#include <cstdio>
struct mine { static constexpr const char *name = "mine"; };
struct text { static constexpr const char *message = "registered"; };
struct kind { static constexpr const char *name = "kind"; static constexpr uint32_t id = 7; };
static int work(int x) { NVTX3_FUNC_RANGE(); return x + 1; }
static int other(int x) { NVTX3_FUNC_RANGE_IN(mine); return x + 1; }
static int maybe(int x) { NVTX3_V1_FUNC_RANGE_IF_IN(mine, x > 3); return x; }
int main()
{
    nvtx3::scoped_range r{"range"};
    nvtx3::scoped_range_in<mine> q{std::string("x").c_str(), nvtx3::rgb{1, 2, 3}, nvtx3::payload{4}, nvtx3::category{3}};
    nvtx3::unique_range u{"unique", nvtx3::color{0xff00ff00}};
    auto v = std::move(u);
    auto h = nvtx3::start_range("started");
    nvtx3::end_range(h);
    auto h2 = nvtx3::start_range_in<mine>(nvtx3::event_attributes{"a", nvtx3::payload{2.5}});
    nvtx3::end_range_in<mine>(h2);
    nvtx3::mark("mark", nvtx3::payload{1.0f});
    nvtx3::mark_in<mine>(nvtx3::registered_string_in<mine>::get<text>(), nvtx3::named_category_in<mine>::get<kind>());
    nvtx3::event_attributes a{nvtx3::argb{1, 2, 3, 4}, nvtx3::message{"m"}};
    nvtx3::scoped_range s{a};
    printf("%d %08x %s %d\n", work(1) + other(2) + maybe(5), a.get()->color, a.get()->message.ascii, a.get()->version);
}
END
cat >use.c <<'END'
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <stdio.h>
int main(void)
{
    int pushed = nvtxRangePushA("in C");
    nvtxMark("mark in C");
    nvtxNameCudaDeviceA(0, "device");
    printf("levels %d %d\n", pushed, nvtxRangePop());
    return 0;
}
END
# traced TEXT...: a timeline of the program has them
traced() {
    run weir run --trace=trace.json ./program
    ok
    for text; do
        contains trace.json "\"$text\""
    done
}
cp use.cpp use.cu
for compiler in "weircc use.cu" "weircc --host-frontend=ccbin -ccbin g++ use.cu" \
    "g++ -std=c++11 -Wall -Wextra -Werror -I$include use.cpp" "g++ -std=c++20 -isystem $include use.cpp"; do
    run $compiler -o program -ldl
    ok
    run ./program
    says "10 01020304 m 3"
    traced range x unique started a mark registered work other maybe m
done
run gcc -Wall -Wextra -Werror -I"$include" use.c -o program -ldl
ok
run ./program
says "levels -2 -2"
run weir run --trace=trace.json ./program
says "levels 0 0"
traced "in C" "mark in C"

# Two files of one program have one set of functions, which the first call loads.
printf '#include <nvtx3/nvToolsExt.h>\nvoid other(void) { nvtxMarkA("elsewhere"); }\n' >other.c
sed 's/int main(void)/void other(void);\n&/; s/nvtxMark("mark in C")/other()/' use.c >first.c
run gcc -I"$include" first.c other.c -o program -ldl
ok
traced "in C" "elsewhere"

# Headers that a program brings come first.
mkdir -p mine/nvtx3
echo '#error these are the ones of the program' >mine/nvtx3/nvToolsExt.h
cp use.c c.cu
for compiler in "weircc -Imine -c c.cu" "gcc -I$include -Imine -c use.c" "gcc -Imine -I$include -c use.c"; do
    run $compiler
    fails
    says "these are the ones of the program"
done
done_
