// Traces of allocations as two kinds of programs make them, by generators with published sizes and
// lifetimes; and two other ways to serve them, for comparison. See pools.cu.
#ifndef WEIR_BENCH_TRACES_H
#define WEIR_BENCH_TRACES_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

struct Trace {
    // ALLOC: block `id` of `bytes` on a stream; FREE: the same; ORDER: the stream comes after all
    // that the other (in id) has so far; WAIT: the host waits for the stream.
    enum Kind { ALLOC, FREE, ORDER, WAIT };
    struct Op {
        Kind kind;
        int stream;
        uint32_t id;
        size_t bytes;
    };
    std::vector<Op> ops;
    uint32_t ids = 0;
    size_t live = 0, peak = 0;
    std::vector<size_t> sizes;

    uint32_t alloc(size_t bytes, int stream = 0)
    {
        bytes = std::max<size_t>(bytes, 1);
        ops.push_back({ALLOC, stream, ids, bytes});
        sizes.push_back(bytes);
        live += bytes;
        peak = std::max(peak, live);
        return ids++;
    }
    void free(uint32_t id, int stream = 0)
    {
        ops.push_back({FREE, stream, id, 0});
        live -= sizes[id];
    }
    void order(int stream, int after) { ops.push_back({ORDER, stream, (uint32_t)after, 0}); }
    void wait(int stream) { ops.push_back({WAIT, stream, 0, 0}); }
    // Bytes of the block that is allocated or freed.
    size_t size_of(const Op &op) const
    {
        return op.kind == ALLOC || op.kind == FREE ? sizes[op.id] : 0;
    }
};

// Training steps of a GPT-2 small (12 layers, width 768, 12 heads, vocabulary of 50257; 16-bit
// activations, Adam with 32-bit states) on batches whose sequences differ in length from step to
// step, as with bucketed text. What the backward pass needs is kept by the forward pass, the rest
// is given back at once; gradients are reduced in buckets of 25 MiB on a second stream.
inline Trace training(int steps)
{
    const size_t layers = 12, width = 768, heads = 12, vocabulary = 50257, batch = 4;
    Trace t;
    std::mt19937_64 random(1);
    std::vector<size_t> weights = {vocabulary * width, 1024 * width};
    for (size_t l = 0; l < layers; l++)
        for (size_t n : {3 * width * width, width * width, 4 * width * width, 4 * width * width,
                         3 * width, 4 * width, width, width, width, width})
            weights.push_back(n);
    for (size_t n : weights) { // weights, master copy, two moments: for ever
        t.alloc(2 * n);
        for (int i = 0; i < 3; i++)
            t.alloc(4 * n);
    }
    for (int step = 0; step < steps; step++) {
        size_t length = 128 + 8 * (random() % 112), tokens = batch * length, row = tokens * width;
        std::vector<std::vector<uint32_t>> kept(layers);
        uint32_t input = t.alloc(8 * tokens), hidden = t.alloc(2 * row);
        for (size_t l = 0; l < layers; l++) {
            auto keep = [&](size_t bytes) { kept[l].push_back(t.alloc(bytes)); };
            keep(2 * row);                      // normed
            keep(4 * tokens), keep(4 * tokens); // mean, deviation
            keep(6 * row);                      // query, key, value
            uint32_t scores = t.alloc(2 * batch * heads * length * length);
            keep(2 * batch * heads * length * length); // softmax
            keep(batch * heads * length * length);     // dropout mask
            t.free(scores);
            keep(2 * row); // attention's output
            uint32_t projected = t.alloc(2 * row);
            keep(2 * row); // sum
            t.free(projected);
            keep(2 * row); // normed
            keep(8 * row); // before the activation
            keep(8 * row); // after it
            uint32_t down = t.alloc(2 * row);
            uint32_t next = t.alloc(2 * row);
            t.free(down);
            kept[l].push_back(hidden);
            hidden = next;
        }
        uint32_t logits = t.alloc(2 * tokens * vocabulary);
        uint32_t losses = t.alloc(4 * tokens * vocabulary);
        uint32_t gradient = t.alloc(2 * tokens * vocabulary);
        t.free(losses);
        uint32_t flow = t.alloc(2 * row);
        t.free(logits);
        t.free(gradient);
        std::vector<uint32_t> gradients, bucket;
        size_t in_bucket = 0;
        auto reduce = [&] { // packs the gradients, sums them on stream 1, unpacks
            if (bucket.empty())
                return;
            uint32_t packed = t.alloc(in_bucket);
            t.order(1, 0);
            uint32_t work = t.alloc(in_bucket, 1);
            t.free(work, 1);
            t.free(packed, 1);
            bucket.clear();
            in_bucket = 0;
        };
        for (size_t l = layers; l-- > 0;) {
            uint32_t a = t.alloc(8 * row), b = t.alloc(8 * row);
            t.free(a);
            uint32_t c = t.alloc(2 * row);
            t.free(b);
            uint32_t scores = t.alloc(2 * batch * heads * length * length);
            uint32_t qkv = t.alloc(6 * row);
            t.free(scores);
            t.free(c);
            uint32_t next = t.alloc(2 * row);
            t.free(qkv);
            t.free(flow);
            flow = next;
            for (uint32_t id : kept[l])
                t.free(id);
            for (size_t w = 2 + l * 10; w < 12 + l * 10; w++) {
                gradients.push_back(t.alloc(2 * weights[w]));
                bucket.push_back(gradients.back());
                in_bucket += 2 * weights[w];
                if (in_bucket > (size_t)25 << 20)
                    reduce();
            }
        }
        for (size_t w = 0; w < 2; w++)
            gradients.push_back(t.alloc(2 * weights[w]));
        reduce();
        t.free(flow);
        t.free(hidden);
        t.free(input);
        t.order(0, 1);
        for (uint32_t id : gradients)
            t.free(id);
    }
    return t;
}

// An inference server with continuous batching: requests come at random, prompts and answers have
// lognormal lengths with the means of ShareGPT's conversations (161 and 338 tokens); keys and
// values take 128 KiB a token (8 heads of 32 layers) in one piece that grows by half. Prompts are
// worked off on stream 0, answers on stream 1.
inline Trace serving(int rounds)
{
    const size_t token = 128 << 10, width = 4096, most = 24;
    struct Request {
        uint32_t cache;
        size_t length, capacity, end;
    };
    Trace t;
    std::mt19937_64 random(2);
    std::lognormal_distribution<double> prompt(std::log(161) - 0.5, 1.0),
        answer(std::log(338) - 0.32, 0.8);
    std::vector<Request> running;
    std::poisson_distribution<int> arrivals(0.06);
    size_t waiting = most;
    for (int round = 0; round < rounds; round++) {
        waiting += (size_t)arrivals(random);
        if (waiting > 0 && running.size() < most) { // one prompt a round
            waiting--;
            size_t n = 1 + std::min<size_t>((size_t)prompt(random), 2047);
            size_t end = n + 1 + std::min<size_t>((size_t)answer(random), 2047);
            uint32_t cache = t.alloc((n + 64) * token);
            uint32_t hidden = t.alloc(2 * n * width), qkv = t.alloc(3 * n * width);
            uint32_t up = t.alloc(7 * n * width);
            t.free(qkv);
            uint32_t down = t.alloc(2 * n * width);
            t.free(up);
            t.free(hidden);
            t.free(down);
            t.order(1, 0);
            running.push_back({cache, n, n + 64, end});
        }
        if (running.empty())
            continue;
        size_t batch = running.size();
        uint32_t hidden = t.alloc(2 * batch * width, 1), up = t.alloc(7 * batch * width, 1);
        uint32_t logits = t.alloc(4 * batch * 128256, 1);
        t.free(up, 1);
        for (size_t i = 0; i < running.size();) {
            Request &r = running[i];
            if (++r.length >= r.end) {
                t.free(r.cache, 1);
                r = running.back();
                running.pop_back();
                continue;
            }
            if (r.length == r.capacity) {
                r.capacity += r.capacity / 2;
                uint32_t larger = t.alloc(r.capacity * token, 1);
                t.free(r.cache, 1);
                r.cache = larger;
            }
            i++;
        }
        t.free(logits, 1);
        t.free(hidden, 1);
        t.order(0, 1);
    }
    for (Request &r : running)
        t.free(r.cache, 1);
    return t;
}

// ---- other ways, in one order of time: what they take from the system at most ------------------

// Best fit with immediate joining in one growing area.
inline size_t best_fit(const Trace &t)
{
    std::map<size_t, size_t> by_address;         // free: address to size
    std::set<std::pair<size_t, size_t>> by_size; // size, address
    std::vector<size_t> at(t.ids);
    size_t top = 0;
    auto add = [&](size_t address, size_t size) {
        auto after = by_address.lower_bound(address);
        if (after != by_address.end() && after->first == address + size) {
            size += after->second;
            by_size.erase({after->second, after->first});
            after = by_address.erase(after);
        }
        if (after != by_address.begin()) {
            auto before = std::prev(after);
            if (before->first + before->second == address) {
                address = before->first;
                size += before->second;
                by_size.erase({before->second, before->first});
                by_address.erase(before);
            }
        }
        by_address[address] = size;
        by_size.insert({size, address});
    };
    for (const Trace::Op &op : t.ops) {
        size_t size = (t.size_of(op) + 511) / 512 * 512;
        if (op.kind == Trace::FREE)
            add(at[op.id], size);
        if (op.kind != Trace::ALLOC)
            continue;
        auto fit = by_size.lower_bound({size, 0});
        if (fit == by_size.end()) { // more, joined with what is free at the end
            size_t free_end = 0;
            if (!by_address.empty() &&
                by_address.rbegin()->first + by_address.rbegin()->second == top)
                free_end = by_address.rbegin()->second;
            size_t more = ((size - free_end) + (2 << 20) - 1) / (2 << 20) * (2 << 20);
            add(top, more);
            top += more;
            fit = by_size.lower_bound({size, 0});
        }
        size_t address = fit->second, whole = fit->first;
        by_size.erase(fit);
        by_address.erase(address);
        at[op.id] = address;
        if (whole > size)
            add(address + size, whole - size);
    }
    return top;
}

// Sizes rounded up to powers of two, kept by size when freed, never cut.
inline size_t powers_of_two(const Trace &t)
{
    std::map<size_t, size_t> kept;
    size_t taken = 0;
    for (const Trace::Op &op : t.ops) {
        size_t size = 512;
        while (size < t.size_of(op))
            size *= 2;
        if (op.kind == Trace::FREE)
            kept[size]++;
        if (op.kind != Trace::ALLOC)
            continue;
        if (kept[size] > 0)
            kept[size]--;
        else
            taken += size;
    }
    return taken;
}

#endif
