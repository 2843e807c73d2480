// The allocations of a program that works on data frames on the device: scans, filters, joins,
// group-bys and sorts over columns of many lengths, as a library of columns makes them. See
// frames.cu, pools.cu.
//
// Each operator takes its scratch first, its results next and gives the scratch back in the
// opposite order; a result lives until the next operator has used it, some for many queries. Sizes
// go from the 8 bytes of a count to columns of a gigabyte.
#ifndef WEIR_BENCH_FRAMES_H
#define WEIR_BENCH_FRAMES_H

#include "traces.h"

class Frames
{
  public:
    // `most`: bytes that may live at once.
    Frames(uint64_t seed, size_t most) : random(seed), most(most) {}

    Trace queries(int count)
    {
        std::vector<Frame> cached;
        for (int i = 0; i < count; i++) {
            Frame result = query(cached);
            if (chance(0.3) && trace.live < most / 4)
                cached.push_back(result); // for later queries
            else
                drop(result);
            if (cached.size() > 6 || (!cached.empty() && trace.live > most / 4)) {
                size_t which = random() % cached.size();
                drop(cached[which]);
                cached.erase(cached.begin() + (long)which);
            }
        }
        for (Frame &f : cached)
            drop(f);
        return trace;
    }

  private:
    enum { COMPUTE, READ }; // streams
    struct Column {
        size_t width; // bytes of an element, of a string's on average
        bool string, nullable;
    };
    struct Frame {
        size_t rows = 0;
        std::vector<Column> columns;
        std::vector<uint32_t> blocks;
    };
    using Scratch = std::vector<uint32_t>;

    std::mt19937_64 random;
    size_t most;
    Trace trace;

    bool chance(double p) { return (double)(random() % 1000000) < p * 1e6; }
    size_t between(size_t low, size_t high) { return low + random() % (high - low + 1); }

    size_t lognormal_rows(double median, double sigma)
    {
        std::lognormal_distribution<double> d(std::log(median), sigma);
        return std::max<size_t>(100, std::min<size_t>((size_t)d(random), 40000000));
    }

    // ---- columns ----

    std::vector<Column> schema(size_t columns)
    {
        static const size_t widths[] = {1, 4, 4, 8, 8, 8, 16};
        std::vector<Column> all;
        for (size_t i = 0; i < columns; i++) {
            bool string = chance(0.2);
            all.push_back({string ? between(4, 40) : widths[random() % 7], string, chance(0.4)});
        }
        return all;
    }

    size_t row_bytes(const std::vector<Column> &columns) const
    {
        size_t sum = 0;
        for (const Column &c : columns)
            sum += c.width + (c.string ? 4 : 0);
        return sum;
    }

    Frame make(size_t rows, const std::vector<Column> &columns, int stream = COMPUTE)
    {
        Frame f;
        f.rows = rows;
        f.columns = columns;
        for (const Column &c : columns) {
            if (c.string)
                f.blocks.push_back(trace.alloc(4 * (rows + 1), stream));
            f.blocks.push_back(trace.alloc(rows * c.width, stream));
            if (c.nullable)
                f.blocks.push_back(trace.alloc((rows / 8 + 64) / 64 * 64, stream));
        }
        return f;
    }

    void drop(Frame &f, int stream = COMPUTE)
    {
        for (uint32_t id : f.blocks)
            trace.free(id, stream);
        f.blocks.clear();
    }

    void drop(Scratch &s, int stream = COMPUTE)
    {
        while (!s.empty()) {
            trace.free(s.back(), stream);
            s.pop_back();
        }
    }

    // A number that the host reads before it goes on.
    void count()
    {
        Scratch s = {trace.alloc(8), trace.alloc(between(767, 4096))};
        trace.wait(COMPUTE);
        drop(s);
    }

    // ---- operators ----

    // Pages are read and decompressed on a stream of their own.
    Frame read(size_t rows, const std::vector<Column> &columns)
    {
        Scratch pages;
        size_t left = rows * row_bytes(columns);
        while (left > 0) { // row groups, compressed
            size_t group = std::min<size_t>(left, between(8 << 20, 128 << 20));
            pages.push_back(trace.alloc(group / between(2, 5) + 4096, READ));
            left -= group;
        }
        pages.push_back(trace.alloc(pages.size() * columns.size() * 160, READ)); // headers
        pages.push_back(trace.alloc(rows * row_bytes(columns) + 65536, READ));   // decompressed
        Frame f = make(rows, columns, READ);
        drop(pages, READ);
        trace.order(COMPUTE, READ);
        return f;
    }

    Frame gather(const Frame &from, size_t rows)
    {
        Scratch sizes;
        for (const Column &c : from.columns)
            if (c.string)
                sizes.push_back(trace.alloc(4 * (rows + 1)));
        Frame f = make(rows, from.columns);
        drop(sizes);
        return f;
    }

    Frame filter(Frame &from)
    {
        Scratch s = {trace.alloc(from.rows), trace.alloc(from.rows / 1024 * 4 + 1024)};
        count();
        Frame f = gather(from, from.rows / between(2, 20) + 1);
        drop(s);
        drop(from);
        return f;
    }

    Frame join(Frame &left, const Frame &right)
    {
        size_t out = std::max<size_t>(1, left.rows / between(1, 4));
        Scratch s = {trace.alloc(right.rows * 16 + 256)}; // the table, half full
        count();
        s.push_back(trace.alloc(4 * out));
        s.push_back(trace.alloc(4 * out));
        Frame joined = gather(left, out), more = gather(right, out);
        drop(s);
        drop(left);
        joined.columns.insert(joined.columns.end(), more.columns.begin(), more.columns.end());
        joined.blocks.insert(joined.blocks.end(), more.blocks.begin(), more.blocks.end());
        return joined;
    }

    Frame group(Frame &from)
    {
        size_t groups = std::max<size_t>(1, std::min(from.rows / 2, lognormal_rows(2e4, 2)));
        size_t values = between(1, 4);
        Scratch s = {trace.alloc(from.rows * 8 + 256)}; // the table
        for (size_t i = 0; i < values; i++) {           // results where the rows are
            s.push_back(trace.alloc(from.rows * 8));
            s.push_back(trace.alloc((from.rows / 8 + 64) / 64 * 64));
        }
        s.push_back(trace.alloc(4 * from.rows));
        count();
        std::vector<Column> keys(from.columns.begin(),
                                 from.columns.begin() +
                                     (long)std::min<size_t>(2, from.columns.size()));
        for (size_t i = 0; i < values; i++)
            keys.push_back({8, false, true});
        Frame f = make(groups, keys);
        drop(s);
        drop(from);
        return f;
    }

    Frame sort(Frame &from)
    {
        Scratch s = {trace.alloc(4 * from.rows), trace.alloc(4 * from.rows),
                     trace.alloc(8 * from.rows), trace.alloc(from.rows / 16 + 32768)};
        Frame f = gather(from, from.rows);
        drop(s);
        drop(from);
        return f;
    }

    Frame query(const std::vector<Frame> &cached)
    {
        std::vector<Column> columns = schema(between(3, 14));
        size_t rows = lognormal_rows(1.5e6, 1.6);
        rows = std::min(rows, std::max<size_t>(100, most / 6 / row_bytes(columns)));
        Frame f = read(rows, columns);
        if (chance(0.8))
            f = filter(f);
        for (size_t joins = between(0, 2); joins > 0 && f.columns.size() < 24; joins--) {
            if (!cached.empty() && chance(0.5) && cached[0].rows < 4 * rows) {
                f = join(f, cached[random() % cached.size()]);
                continue;
            }
            std::vector<Column> side_columns = schema(between(2, 5));
            Frame side = read(lognormal_rows(5e4, 1.5) % (rows + 1) + 1, side_columns);
            f = join(f, side);
            drop(side);
        }
        if (chance(0.6))
            f = group(f);
        if (chance(0.5))
            f = sort(f);
        count();
        return f;
    }
};

#endif
