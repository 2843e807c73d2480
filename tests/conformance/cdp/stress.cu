// FLAGS: -rdc=true -lcudadevrt
// D1 to D7: random trees of launches. The host makes up what each grid of a tree does (launches in
// all streams, by any thread, in functions and by pointer, with events, copies and fills between),
// each grid takes numbers from a clock that only counts, and the host looks afterwards whether
// everything ran, once, and after all that it had to come after.
//
//   stress [seconds] [seed]      default: about a second, a fixed seed
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

// stress_synchronize.cu is this program with device-side synchronization.
#ifndef D5_WAITS
#define D5_WAITS 0
#endif

enum { NAMED = 3, EVENTS = 3, SLOT = 16, SHARED_MAX = 512, LOCAL = 8, PAYLOAD = 40 };
enum stream { IMPLICIT, FIRST_NAMED, FORGET = FIRST_NAMED + NAMED, TAIL, STREAMS };
enum kind { LAUNCH, LAUNCH_ALL, RECORD, AFTER, FILL, COPY, REFUSED, SYNCHRONIZE };
enum form { PLAIN, SQUARE, LARGE, ALONE, FORMS }; // LARGE ones launch nothing

// One step of one block; `thread` does it, all do LAUNCH_ALL.
struct op {
    int kind, block, thread;
    int stream, event;
    int child;      // LAUNCH, LAUNCH_ALL
    int slot, from; // FILL, COPY
    int called;     // the launch sits so deep in a function that calls itself
};

struct node {
    int blocks, threads, shared, form;
    int first, ops; // its steps
    bool handles;   // its blocks need streams and events
    int slot;       // what must have been filled when it starts, -1: nothing
    int parent;     // -1: launched by the host
    int launches;   // how often it is launched
};

// What a grid leaves.
struct record {
    unsigned long long start, end;
    unsigned threads, wrong;
};

// A tree, on the device.
struct tree {
    node *nodes;
    op *ops;
    record *records;
    unsigned long long *waited; // by step: when SYNCHRONIZE was over
    unsigned (*slots)[SLOT];
};

__device__ unsigned long long ticks;

static __host__ __device__ unsigned mixed(unsigned a, unsigned b)
{
    unsigned h = a * 2654435761u + b * 40503u + 12345u;
    return h ^ h >> 15;
}

// ---- on the device -----------------------------------------------------------------------------

struct payload {
    unsigned words[PAYLOAD];
};
__global__ void plain(const tree *t, int me);
__global__ void large(payload p, const tree *t, int me);
__global__ void alone(const tree *t, int me);
__device__ void (*by_pointer)(const tree *, int) = plain;

static __device__ cudaStream_t stream_of(const op &o, cudaStream_t *named)
{
    return o.stream == IMPLICIT ? 0
           : o.stream == FORGET  ? cudaStreamFireAndForget
           : o.stream == TAIL   ? cudaStreamTailLaunch
                                : named[o.stream - FIRST_NAMED];
}

static __device__ void launch(const tree *t, int child, cudaStream_t s)
{
    const node &n = t->nodes[child];
    if (n.form == LARGE) {
        payload p;
#pragma unroll 1
        for (int k = 0; k < PAYLOAD; k++)
            p.words[k] = mixed(child, k);
        large<<<n.blocks, n.threads, n.shared, s>>>(p, t, child);
    } else if (n.form == ALONE) {
        alone<<<n.blocks, n.threads, n.shared, s>>>(t, child);
    } else {
        dim3 grid(n.blocks);
        if (n.form == SQUARE)
            grid = dim3(1, n.blocks);
        by_pointer<<<grid, n.threads, n.shared, s>>>(t, child);
    }
}

static __device__ __noinline__ int launch_below(const tree *t, const op &o, cudaStream_t s,
                                                int depth)
{
    if (depth > 0)
        return launch_below(t, o, s, depth - 1) + 1;
    if (o.kind == LAUNCH)
        plain<<<t->nodes[o.child].blocks, t->nodes[o.child].threads, t->nodes[o.child].shared, s>>>(
            t, o.child);
#if D5_WAITS
    else
        cudaDeviceSynchronize();
#endif
    return 0;
}

static __device__ void step(const tree *t, int at, record *mine, cudaStream_t *named,
                            cudaEvent_t *events)
{
    op o = t->ops[at];
    cudaStream_t s = stream_of(o, named);
    cudaError_t e = cudaSuccess, expected = cudaSuccess;
    switch (o.kind) {
    case LAUNCH:
    case LAUNCH_ALL:
        if (o.called > 0)
            launch_below(t, o, s, o.called);
        else
            launch(t, o.child, s);
        break;
    case RECORD: e = cudaEventRecord(events[o.event], s); break;
    case AFTER: e = cudaStreamWaitEvent(s, events[o.event], 0); break;
    // zeros: an H100 fills with nothing else
    case FILL: e = cudaMemsetAsync(t->slots[o.slot], 0, sizeof t->slots[0], s); break;
    case COPY:
        e = cudaMemcpyAsync(t->slots[o.slot], t->slots[o.from], sizeof t->slots[0],
                            cudaMemcpyDeviceToDevice, s);
        break;
    case REFUSED:
        alone<<<1, 2000, 0, s>>>(t, -1);
        expected = cudaErrorInvalidConfiguration;
        break;
#if D5_WAITS
    case SYNCHRONIZE:
        if (o.called > 0)
            launch_below(t, o, s, o.called);
        else
            e = cudaDeviceSynchronize();
        t->waited[at] = atomicAdd(&ticks, 1ull);
        break;
#endif
    }
    if (e == cudaSuccess)
        e = cudaGetLastError();
    if (e != expected)
        atomicAdd(&mine->wrong, 1u);
}

static __device__ void note_start(record *mine)
{
    atomicMin(&mine->start, atomicAdd(&ticks, 1ull));
    atomicAdd(&mine->threads, 1u);
}

static __device__ void note_end(record *mine)
{
    __threadfence();
    atomicMax(&mine->end, atomicAdd(&ticks, 1ull));
}

// What most grids do: `barriers` says whether its threads meet between the steps.
template <bool barriers> static __device__ void body(const tree *t, int me)
{
    extern __shared__ unsigned memory[];
    __shared__ cudaStream_t named[NAMED];
    __shared__ cudaEvent_t events[EVENTS];
    record *mine = &t->records[me];
    node n = t->nodes[me];
    int thread = threadIdx.x, block = blockIdx.x + blockIdx.y;
    note_start(mine);
    unsigned wrong = 0, local[LOCAL], own = mixed(me * 32 + block, thread);
#pragma unroll 1
    for (int k = 0; n.slot >= 0 && k < SLOT; k++)
        wrong += t->slots[n.slot][k] != 0;
    for (int k = 0; k < LOCAL; k++)
        local[(k + own) % LOCAL] = own + k;
    for (int k = thread; k < n.shared / 4; k += n.threads)
        memory[k] = own;
    if (n.handles && thread == 0) {
        for (cudaStream_t &s : named)
            wrong += cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) != cudaSuccess;
        for (cudaEvent_t &e : events)
            wrong += cudaEventCreateWithFlags(&e, cudaEventDisableTiming) != cudaSuccess;
    }
    if (barriers)
        __syncthreads();
    for (int at = n.first; at < n.first + n.ops; at++) {
        if (t->ops[at].block == block &&
            (t->ops[at].kind == LAUNCH_ALL || t->ops[at].thread == thread))
            step(t, at, mine, named, events);
        if (barriers)
            __syncthreads();
    }
    if (n.handles && thread == 0) {
        for (cudaStream_t &s : named)
            wrong += cudaStreamDestroy(s) != cudaSuccess;
        for (cudaEvent_t &e : events)
            wrong += cudaEventDestroy(e) != cudaSuccess;
    }
    for (int k = 0; k < LOCAL; k++)
        wrong += local[(k + own) % LOCAL] != own + k;
    for (int k = thread; k < n.shared / 4; k += n.threads)
        wrong += memory[k] != own;
    if (wrong > 0)
        atomicAdd(&mine->wrong, wrong);
    note_end(mine);
}

__global__ void plain(const tree *t, int me) { body<true>(t, me); }
__global__ void alone(const tree *t, int me) { body<false>(t, me); }
__global__ void large(payload p, const tree *t, int me)
{
#pragma unroll 1
    for (int k = 0; k < PAYLOAD; k++)
        if (p.words[k] != mixed(me, k))
            atomicAdd(&t->records[me].wrong, 1u);
    note_start(&t->records[me]);
    note_end(&t->records[me]);
}

// ---- the host makes a tree up ------------------------------------------------------------------

struct random_numbers {
    unsigned state;
    unsigned below(unsigned n)
    {
        state = state * 1664525u + 1013904223u;
        return (unsigned)((unsigned long long)(state >> 4) * n >> 28);
    }
    bool one_in(unsigned n) { return below(n) == 0; }
};

struct plan {
    random_numbers random;
    std::vector<node> nodes;
    std::vector<op> ops;
    int slots = 0, depth, most; // how deep, how many nodes
    bool chain;                 // one child in each

    int add_node(int parent, bool leaf)
    {
        static const int shapes[FORMS] = {40, 40, 34, 1};
        node n = {};
        n.form = parent < 0 ? PLAIN : (int)random.below(FORMS);
        n.blocks = random.one_in(3) ? 1 + (int)random.below(4) : 1;
        n.threads = shapes[n.form];
        n.shared = random.one_in(3) ? 4 * (int)random.below(SHARED_MAX / 4) : 0;
        n.slot = -1;
        n.parent = parent;
        n.launches = 1;
        if (leaf || chain)
            n.blocks = 1;
        if (chain && n.form == LARGE)
            n.form = ALONE, n.threads = 1;
        nodes.push_back(n);
        return (int)nodes.size() - 1;
    }

    // The steps of one block; slots[s] is the one that stream s has filled last.
    void add_block(int me, int block, int depth_left)
    {
        node n = nodes[me];
        int count = chain ? 1 : 1 + (int)random.below(6), slots_of[STREAMS];
        std::fill(slots_of, slots_of + STREAMS, -1);
        std::vector<std::pair<int, int>> below; // children that have steps themselves
        std::vector<op> mine;
        for (int k = 0; k < count; k++) {
            op o = {};
            o.block = block;
            o.thread = (int)random.below(n.threads);
            o.stream = (int)random.below(STREAMS);
            o.event = (int)random.below(EVENTS);
            unsigned what = chain ? 0 : random.below(16);
            bool in_order = o.stream < FORGET;
            if (what == 1 && in_order) {
                o.kind = RECORD;
            } else if (what == 2 && in_order) {
                o.kind = AFTER;
            } else if (what == 3 && in_order) {
                o.kind = slots_of[o.stream] >= 0 ? COPY : FILL;
                o.from = slots_of[o.stream];
                o.slot = slots_of[o.stream] = slots++;
            } else if (what == 4) {
                o.kind = REFUSED;
            } else if (D5_WAITS && (what >= 13 || (chain && random.one_in(4)))) {
                o.kind = SYNCHRONIZE;
                o.called = random.one_in(2) ? 1 + (int)random.below(3) : 0;
            } else if ((int)nodes.size() < most) {
                bool all = !chain && what == 5;
                o.kind = all ? LAUNCH_ALL : LAUNCH;
                o.called = !all && random.one_in(4) ? 1 + (int)random.below(3) : 0;
                o.child = add_node(me, all);
                node &child = nodes[o.child];
                if (o.called > 0 && child.form != PLAIN) {
                    child.form = PLAIN;
                    child.threads = 40;
                }
                child.launches = all ? n.threads : 1;
                child.slot = slots_of[o.stream];
                if (!all && child.form != LARGE)
                    below.push_back({o.child, depth_left - 1});
            } else {
                continue;
            }
            mine.push_back(o);
            if (chain && o.kind == SYNCHRONIZE)
                count++;
        }
        steps[me].insert(steps[me].end(), mine.begin(), mine.end());
        for (auto &child : below)
            add_steps(child.first, child.second);
    }

    std::vector<std::vector<op>> steps;
    void add_steps(int me, int depth_left)
    {
        steps.resize(std::max(steps.size(), nodes.size()));
        if (depth_left <= 0)
            return;
        for (int b = 0; b < nodes[me].blocks; b++) {
            add_block(me, b, depth_left);
            steps.resize(std::max(steps.size(), nodes.size()));
        }
    }

    void make(unsigned seed)
    {
        random.state = seed;
        chain = random.one_in(8);
        depth = chain ? (D5_WAITS ? 20 : 60) : 2 + (int)random.below(5);
        most = chain ? 100 : 20 + (int)random.below(200);
        add_steps(add_node(-1, false), depth);
        steps.resize(nodes.size());
        for (size_t k = 0; k < nodes.size(); k++) {
            nodes[k].first = (int)ops.size();
            nodes[k].ops = (int)steps[k].size();
            for (const op &o : steps[k])
                nodes[k].handles |= (o.stream >= FIRST_NAMED && o.stream < FORGET) ||
                                    o.kind == RECORD || o.kind == AFTER;
            ops.insert(ops.end(), steps[k].begin(), steps[k].end());
        }
    }
};

// ---- and looks at what has become of it --------------------------------------------------------

struct result {
    const plan &p;
    std::vector<record> records;
    std::vector<unsigned long long> waited;
    std::vector<unsigned long long> complete; // by node, with all that it led to
    unsigned seed;
    int wrong = 0;

    result(const plan &p, unsigned seed) : p(p), complete(p.nodes.size()), seed(seed) {}

    void expect(bool right, int me, const char *what)
    {
        CHECK(right);
        if (!right && wrong++ < 5)
            printf("  seed %u, grid %d (form %d, %d blocks of %d threads): %s\n", seed, me,
                   p.nodes[me].form, p.nodes[me].blocks, p.nodes[me].threads, what);
    }

    void look_at_block(int me, int block, unsigned long long others)
    {
        unsigned long long last[STREAMS] = {}, event[EVENTS] = {}, sent = 0;
        for (int at = p.nodes[me].first; at < p.nodes[me].first + p.nodes[me].ops; at++) {
            const op &o = p.ops[at];
            if (o.block != block)
                continue;
            bool launches = o.kind == LAUNCH || o.kind == LAUNCH_ALL;
            if (launches && o.stream == TAIL)
                expect(records[o.child].start > others, me, "a tail launch came too soon");
            if (launches && o.stream != FORGET) {
                expect(records[o.child].start > last[o.stream], me, "a stream's order is broken");
                last[o.stream] = std::max(last[o.stream], complete[o.child]);
            }
            if (launches && o.stream != TAIL)
                sent = std::max(sent, complete[o.child]);
            if (o.kind == RECORD)
                event[o.event] = last[o.stream];
            if (o.kind == AFTER)
                last[o.stream] = std::max(last[o.stream], event[o.event]);
            if (o.kind == SYNCHRONIZE)
                expect(waited[at] > sent, me, "a device synchronization did not wait");
        }
    }

    void look()
    {
        for (int me = (int)p.nodes.size() - 1; me >= 0; me--) { // children come after parents
            const node &n = p.nodes[me];
            expect(records[me].threads == (unsigned)(n.blocks * n.threads * n.launches), me,
                   "threads are missing");
            expect(records[me].wrong == 0, me, "something was not as expected inside");
            unsigned long long others = complete[me] = records[me].end;
            for (int at = n.first; at < n.first + n.ops; at++)
                if (p.ops[at].kind == LAUNCH || p.ops[at].kind == LAUNCH_ALL) {
                    unsigned long long end = complete[p.ops[at].child];
                    complete[me] = std::max(complete[me], end);
                    if (p.ops[at].stream != TAIL)
                        others = std::max(others, end);
                }
            for (int b = 0; b < n.blocks; b++)
                look_at_block(me, b, others);
        }
    }
};

template <class T> static T *copy_of(const std::vector<T> &items)
{
    T *p;
    OK(cudaMalloc(&p, (items.size() + 1) * sizeof(T)));
    OK(cudaMemcpy(p, items.data(), items.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

// Some trees at once, in streams of the host; those of one stream come one after the other.
static void run_trees(unsigned seed, int count, int streams)
{
    std::vector<plan> plans(count);
    std::vector<tree> trees(count);
    std::vector<tree *> copies(count);
    std::vector<cudaStream_t> used(streams);
    for (cudaStream_t &s : used)
        OK(cudaStreamCreate(&s));
    for (int k = 0; k < count; k++) {
        plan &p = plans[k];
        p.make(seed + k);
        std::vector<record> fresh(p.nodes.size(), record{~0ull, 0, 0, 0});
        trees[k].nodes = copy_of(p.nodes);
        trees[k].ops = copy_of(p.ops);
        trees[k].records = copy_of(fresh);
        trees[k].waited = copy_of(std::vector<unsigned long long>(p.ops.size()));
        OK(cudaMalloc(&trees[k].slots, (p.slots + 1) * sizeof *trees[k].slots));
        OK(cudaMemset(trees[k].slots, 0xee, (p.slots + 1) * sizeof *trees[k].slots));
        copies[k] = copy_of(std::vector<tree>(1, trees[k]));
    }
    for (int k = 0; k < count; k++) {
        const node &n = plans[k].nodes[0];
        cudaStream_t s = used[k % streams];
        plain<<<n.blocks, n.threads, n.shared, s>>>(copies[k], 0);
        OK(cudaGetLastError());
    }
    OK(cudaDeviceSynchronize());
    std::vector<unsigned long long> last(streams);
    for (int k = 0; k < count; k++) {
        result r(plans[k], seed + k);
        r.records.resize(plans[k].nodes.size());
        r.waited.resize(plans[k].ops.size());
        OK(cudaMemcpy(r.records.data(), trees[k].records, r.records.size() * sizeof(record),
                      cudaMemcpyDeviceToHost));
        OK(cudaMemcpy(r.waited.data(), trees[k].waited, r.waited.size() * sizeof r.waited[0],
                      cudaMemcpyDeviceToHost));
        r.look();
        r.expect(r.records[0].start > last[k % streams] || k < streams, 0,
                 "the host's stream went on too soon");
        last[k % streams] = r.complete[0];
        for (void *p : {(void *)trees[k].nodes, (void *)trees[k].ops, (void *)trees[k].records,
                        (void *)trees[k].waited, (void *)trees[k].slots, (void *)copies[k]})
            OK(cudaFree(p));
    }
    for (cudaStream_t s : used)
        OK(cudaStreamDestroy(s));
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    unsigned seed = argc > 2 ? (unsigned)strtoul(argv[2], nullptr, 0) : 1;
    if (D5_WAITS)
        OK(cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 24));
    time_t start = time(nullptr);
    unsigned rounds = 0;
    do {
        run_trees(seed, 6, 1 + (int)(rounds % 3));
        seed += 6;
    } while (++rounds < 10 || difftime(time(nullptr), start) < seconds);
    printf("%u rounds, the next seed is %u\n", rounds, seed);
    return check_done();
}
