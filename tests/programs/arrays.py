"""Kernels over arrays, as programs have them: images, matrices, tables, histograms, tiles in shared memory.

Their indices are made of threadIdx, blockIdx and the counters of loops, by few coefficients, and their grids have
many blocks. Integers carry the interval of their values, so that signed arithmetic, which C++ leaves undefined where it
overflows, is as usual as in programs.

Memory: args.out is cut into arrays of which each thread owns elements by an injective index, and into counters for
atomics at its end.
"""
from choices import Choices

BIG = 1 << 26        # the sum of an accumulator stays below
COUNTERS = 4096      # words for atomics after the outputs
WORDS = 24           # of the output, a thread (program.h)
INPUTS = 16384       # words of input, of which the last half are floats
PREFIX = "#define INPUTS %du\n#define FLOATS %du" % (INPUTS, INPUTS // 2)

BITS = {"u8": 8, "s8": 8, "u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "f32": 32, "f64": 64}
RANGE = {"u8": (0, 255), "s8": (-128, 127), "u16": (0, 65535), "s16": (-32768, 32767),
         "s32": (-(1 << 31), (1 << 31) - 1)}
INT_KINDS = ("u8", "s8", "u16", "s16", "s32")


class Int:
    """An expression of the type int and the interval of its values."""

    def __init__(self, text, low, high):
        self.text, self.low, self.high = text, low, high


class Array:
    """Memory that may be read."""

    def __init__(self, name, kind, count):
        self.name, self.kind, self.count = name, kind, count


class Scope:
    """What a statement may use."""

    def __init__(self, together, trips, depth):
        self.ints, self.arrays = [], []
        self.together = together   # all threads of the block are here
        self.trips = trips         # how often this runs, at most
        self.depth = depth         # how deep it may nest
        self.in_loop = False

    def inner(self, **changes):
        s = Scope(self.together, self.trips, self.depth - 1)
        s.ints, s.arrays, s.in_loop = list(self.ints), list(self.arrays), self.in_loop
        for name, value in changes.items():
            setattr(s, name, value)
        return s


class ArrayKernel:
    BLOCKS = {1: [(256,), (128,), (64,), (32,), (16,), (8,), (96,), (33,), (17,), (1,), (160,), (48,), (24,), (100,), (512,)],
              2: [(16, 16), (8, 8), (32, 8), (16, 4), (64, 4), (8, 16), (32, 2), (32, 4), (4, 8), (24, 8), (17, 5), (1, 32),
                  (16, 8), (8, 4), (4, 4), (2, 16), (32, 16), (64, 2), (128, 2), (12, 12), (8, 32), (64, 1), (16, 1)],
              3: [(4, 4, 4), (8, 8, 2), (8, 4, 4), (16, 4, 2), (32, 2, 2), (5, 3, 2), (2, 2, 2), (16, 2, 4)]}
    MOST_THREADS = 12288

    def __init__(self, seed, name):
        self.seed, self.name = seed, name
        self.r = r = Choices(seed ^ 0x5ad5)
        self.dims = r.weighted([(4, 1), (7, 2), (2, 3)])
        block = r.pick(self.BLOCKS[self.dims])
        self.block = tuple(block) + (1,) * (3 - len(block))
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.choose_grid()
        self.blocks = self.grid[0] * self.grid[1] * self.grid[2]
        self.total = self.threads * self.blocks
        self.numbers = self.shared_used = 0
        self.budget = r.weighted([(4, 4), (4, 7), (2, 12)])
        self.lines, self.locals, self.values = [], [], []
        self.out_used = 0
        self.outs = []
        self.helpers = []
        self.body()

    def choose_grid(self):
        r = self.r
        most = max(1, self.MOST_THREADS // self.threads)
        if self.dims == 1:
            g = (min(most, r.pick([1, 2, 5, 16, 20, 32, 37, 64, 64, 128])), 1, 1)
        elif self.dims == 2:
            g = r.pick([(1, 1), (2, 2), (3, 5), (4, 8), (8, 8), (8, 4), (16, 4), (4, 16), (16, 2), (6, 7), (2, 32), (32, 2), (12, 3)]) + (1,)
        else:
            g = r.pick([(1, 1, 1), (2, 2, 2), (4, 4, 4), (4, 2, 8), (8, 4, 2), (3, 3, 3)])
        while g[0] * g[1] * g[2] > most:
            g = tuple(max(1, n // 2) for n in g)
        self.grid = g

    # Names ----------------------------------------------------------------------------------------------

    def fresh(self, prefix):
        self.numbers += 1
        return "%s%d" % (prefix, self.numbers)

    # Integers -------------------------------------------------------------------------------------------

    def constant(self, most=9):
        n = self.r.below(most + 1)
        return Int(str(n), n, n)

    def affine(self, scope, terms):
        """A sum of coefficients and what indexes."""
        r = self.r
        total = None
        for _ in range(terms):
            v = r.pick(scope.ints)
            c = r.weighted([(8, 1), (3, 2), (2, 3), (1, 4), (1, 8), (1, 16), (2, -1), (1, -2), (2, "W"), (1, 17)])
            if c == "W":
                t = Int("%s * W" % v.text, min(0, v.low * self.w), max(0, v.high * self.w))
            elif c == 1:
                t = v
            elif c == -1:
                t = Int("-%s" % v.text, -v.high, -v.low)
            else:
                t = Int("%s * %d" % (v.text, c), min(v.low * c, v.high * c), max(v.low * c, v.high * c))
            total = t if total is None else self.sum(total, t)
        if r.chance(45):
            c = r.pick([1, 1, -1, 2, -2, 3, 7, 8, 16, -16, 31, 32, 64, -5])
            total = self.sum(total, Int(str(c) if c >= 0 else "(%d)" % c, c, c))
        return total

    def sum(self, a, b):
        return Int("(%s + %s)" % (a.text, b.text), a.low + b.low, a.high + b.high)

    def index(self, scope, depth):
        """An integer that indexes."""
        r = self.r
        kind = r.below(20)
        if kind < 13 or depth <= 0:
            return self.affine(scope, r.weighted([(3, 1), (5, 2), (2, 3)]))
        if kind < 15:
            a, q = self.affine(scope, r.between(1, 2)), r.pick([2, 3, 4, 5, 7, 8, 10, 16, 24, 32, 100])
            if a.low < 0:
                return a
            if r.chance(50):
                return Int("(%s) / %d" % (a.text, q), a.low // q, a.high // q)
            return Int("(%s) %% %d" % (a.text, q), 0, min(q - 1, a.high))
        if kind < 16:
            a, q = self.affine(scope, 1), r.pick([4, 8, 16, 32])
            if a.low < 0:
                return a
            return Int("(%s ^ %d)" % (a.text, r.pick([1, 2, 3, 7, 8, 15, 16])), 0, a.high | 31)
        if kind < 18:
            return self.small(scope, depth - 1)
        a, b = self.index(scope, depth - 1), self.index(scope, depth - 1)
        return Int("%s(%s, %s)" % (("min" if kind == 18 else "max"), a.text, b.text),
                   (min if kind == 18 else max)(a.low, b.low), (min if kind == 18 else max)(a.high, b.high))

    def small(self, scope, depth):
        """An integer of data, with a small interval."""
        kind = self.r.pick(["u8", "u8", "s8", "u16", "s16", "s32"])
        return self.shrunk(self.read_int(scope, kind, depth), 255)

    def shrunk(self, a, most):
        """The same with an interval of at most so much on either side."""
        if -most <= a.low and a.high <= most:
            return a
        r = self.r
        if r.chance(60) or a.low < -(1 << 30) or a.high > 1 << 30:
            return Int("(%s & %d)" % (a.text, most if most & (most + 1) == 0 else (1 << most.bit_length() - 1) - 1), 0, most)
        shift = 0
        while (a.high >> shift) > most or -(a.low >> shift) > most:
            shift += 1
        return Int("(%s >> %d)" % (a.text, shift), a.low >> shift, a.high >> shift)

    def fitting(self, a):
        """An integer that cannot overflow when three of its kind are multiplied by small numbers."""
        return a if -BIG <= a.low and a.high <= BIG else self.shrunk(a, 4095)

    def int_leaf(self, scope, depth):
        r = self.r
        kind = r.below(12)
        sums = [v for v in self.values if v[1] == "int"]
        if kind < 6:
            return self.read_int(scope, r.pick(INT_KINDS + ("u8", "u8", "s16")), depth)
        if kind < 9 and scope.ints:
            return r.pick(scope.ints)
        if kind < 10 and sums:
            return Int(r.pick(sums)[0], -2 * BIG, 2 * BIG)
        return self.constant(r.pick([3, 20, 300]))

    def integer(self, scope, depth):
        r = self.r
        if depth <= 0 or r.chance(15):
            return self.fitting(self.int_leaf(scope, depth))
        a = self.fitting(self.integer(scope, depth - 1))
        kind = r.below(24)
        if kind < 5:
            return self.sum(a, self.fitting(self.integer(scope, depth - 1)))
        if kind < 8:
            b = self.fitting(self.integer(scope, depth - 1))
            return Int("(%s - %s)" % (a.text, b.text), a.low - b.high, a.high - b.low)
        if kind < 11:
            a, b = self.shrunk(a, 4095), self.shrunk(self.integer(scope, depth - 1), 4095)
            ends = [p * q for p in (a.low, a.high) for q in (b.low, b.high)]
            return Int("%s * %s" % (a.text, b.text), min(ends), max(ends))
        if kind < 13:
            n = r.between(1, 6)
            return Int("(%s >> %d)" % (a.text, n), a.low >> n, a.high >> n)
        if kind < 15:
            b = self.integer(scope, depth - 1)
            name = r.pick(["min", "max"])
            pick = min if name == "min" else max
            return Int("%s(%s, %s)" % (name, a.text, b.text), pick(a.low, b.low), pick(a.high, b.high))
        if kind < 16:
            return Int("abs(%s)" % a.text, 0, max(abs(a.low), abs(a.high)))
        if kind < 18:
            b = self.integer(scope, depth - 1)
            return Int("(%s ? %s : %s)" % (self.condition(scope, depth - 1), a.text, b.text), min(a.low, b.low), max(a.high, b.high))
        if kind < 19:
            n = r.pick([3, 7, 10, 16, 255, 60])
            return Int("(%s) / %d" % (a.text, n), -(abs(a.low) // n) - 1, abs(a.high) // n + 1)
        if kind < 20:
            n = r.pick([3, 7, 10, 16, 255, 60])
            return Int("(%s) %% %d" % (a.text, n), -n, n)
        if kind < 22:
            low, high = r.pick([(0, 255), (-128, 127), (0, 1023), (-1000, 1000)])
            return Int("min(max(%s, %d), %d)" % (a.text, low, high), low, high)
        kinds = r.pick(["u8", "s8", "s16", "u16"])
        return Int("(int)(%s)(%s)" % (kinds, a.text), *RANGE[kinds])

    # Memory ---------------------------------------------------------------------------------------------

    def place(self, array, a):
        """The index of an element, whatever a is. Gives the text of the index, and a condition or nothing."""
        r = self.r
        count = array.count
        if 0 <= a.low and a.high < count:
            return r.weighted([(6, a.text), (2, "(u32)(%s)" % a.text), (2, "(size_t)(%s)" % a.text), (1, "(s64)(%s)" % a.text)]), None
        if a.low >= 0 and a.high - a.low < count and r.chance(50):
            return "%s - %d" % (a.text, a.low), None
        if a.low < 0 and a.high - a.low < count and r.chance(50):
            return r.pick(["%s + %d", "(u32)(%s) + %du", "(size_t)((s64)(%s) + %d)"]) % (a.text, -a.low), None
        kind = r.below(10)
        if count & (count - 1) == 0 and kind < 5:
            return "(%s) & %s" % (a.text if r.chance(50) else "(u32)(%s)" % a.text, ("%d" if r.chance(50) else "%du") % (count - 1)), None
        if kind < 7:
            return "min(max(%s, 0), %d)" % (a.text, count - 1), None
        if kind < 9:
            return a.text, r.pick(["(u32)(%s) < %du" % (a.text, count), "%s >= 0 && %s < %d" % (a.text, a.text, count)])
        return "(u32)(%s) %% %du" % (a.text, count), None

    def element(self, scope, array, depth):
        place, guard = self.place(array, self.index(scope, depth))
        text = "%s[%s]" % (array.name, place)
        return text if guard is None else "(%s ? %s : (%s)%d)" % (guard, text, array.kind, self.r.pick([0, 0, 1, -1, 77]))

    def arrays_of(self, scope, kinds):
        found = [a for a in scope.arrays if a.kind in kinds]
        return found + [a for a in found if not a.name.startswith("in_")] * 3

    def read_int(self, scope, kind, depth):
        found = self.arrays_of(scope, (kind,)) or self.arrays_of(scope, INT_KINDS)
        array = self.r.pick(found)
        return Int("(int)" * (array.kind != "s32") + self.element(scope, array, depth), *RANGE[array.kind])

    # Other values ---------------------------------------------------------------------------------------

    def word(self, scope, depth):
        """A u32 of any value."""
        r = self.r
        kind = r.below(14)
        words = [v for v in self.values if v[1] == "u32"]
        if depth <= 0 or kind < 3:
            if words and r.chance(40):
                return r.pick(words)[0]
            found = self.arrays_of(scope, ("u32",))
            if found and r.chance(60):
                return self.element(scope, r.pick(found), depth)
            return "(u32)%s" % self.int_leaf(scope, depth).text
        sub = lambda: self.word(scope, depth - 1)
        if kind < 8:
            return "(%s %s %s)" % (sub(), r.pick(["+", "-", "*", "^", "&", "|"]), sub())
        if kind < 10:
            return "(%s %s %d)" % (sub(), r.pick(["<<", ">>"]), r.between(1, 31))
        if kind < 11:
            n = r.between(1, 31)
            a = r.pick(words)[0] if words else "(u32)%s" % self.int_leaf(scope, 0).text
            return "(%s << %d | %s >> %d)" % (a, n, a, 32 - n)
        if kind < 12:
            return "(%s ? %s : %s)" % (self.condition(scope, depth - 1), sub(), sub())
        if kind < 13:
            return r.pick(["popcount(%s)", "reversed(%s)", "leading_zeros(%s)"]) % sub()
        return "(%s) %s %s" % (sub(), r.pick(["/", "%"]), r.pick(["3u", "10u", "7u", "1000u", "641u"]))

    def real(self, scope, depth):
        """A f32."""
        r = self.r
        kind = r.below(16)
        sums = [v for v in self.values if v[1] == "f32"]
        if depth <= 0 or kind < 5:
            if sums and r.chance(30):
                return r.pick(sums)[0]
            found = self.arrays_of(scope, ("f32",))
            if found and r.chance(80):
                return self.element(scope, r.pick(found), depth)
            return r.pick(["0.5f", "1.25f", "-3.0f", "(f32)(%s)" % self.fitting(self.int_leaf(scope, 0)).text])
        sub = lambda: self.real(scope, depth - 1)
        if kind < 11:
            return "(%s %s %s)" % (sub(), r.pick(["+", "-", "*", "*"]), sub())
        if kind < 12:
            return "%s(%s, %s)" % (r.pick(["least", "greatest"]), sub(), sub())
        if kind < 13:
            return "(%s ? %s : %s)" % (self.condition(scope, depth - 1), sub(), sub())
        if kind < 14:
            return "fused(%s, %s, %s)" % (sub(), sub(), sub())
        if kind < 15:
            return r.pick(["fabsf(%s)", "-(%s)", "root(fabsf(%s))", "floorf(%s)"]) % sub()
        return "(%s / %s)" % (sub(), r.pick(["3.0f", "(fabsf(%s) + 1.0f)" % sub()]))

    def double(self, scope, depth):
        r = self.r
        sums = [v for v in self.values if v[1] == "f64"]
        if depth <= 0 or r.chance(25):
            if sums and r.chance(40):
                return r.pick(sums)[0]
            return "(f64)" + self.real(scope, depth - 1)
        return "(%s %s %s)" % (self.double(scope, depth - 1), r.pick(["+", "-", "*"]), self.double(scope, depth - 1))

    def long(self, scope, depth):
        r = self.r
        sums = [v for v in self.values if v[1] == "u64"]
        if depth <= 0 or r.chance(25):
            if sums and r.chance(40):
                return r.pick(sums)[0]
            found = self.arrays_of(scope, ("u64",))
            if found and r.chance(50):
                return self.element(scope, r.pick(found), depth)
            return "(u64)%s" % r.pick([self.word(scope, 0), self.int_leaf(scope, 0).text])
        a, b = self.long(scope, depth - 1), self.long(scope, depth - 1)
        if r.chance(75):
            return "(%s %s %s)" % (a, r.pick(["+", "-", "*", "^", "&", "|"]), b)
        if r.chance(60):
            return "(%s %s %d)" % (a, r.pick(["<<", ">>"]), r.between(1, 63))
        return "(%s) %s (%s | 1u)" % (a, r.pick(["/", "%"]), b)

    def value(self, scope, kind, depth):
        if kind in ("f32",):
            return self.real(scope, depth)
        if kind == "f64":
            return self.double(scope, depth)
        if kind == "u32":
            return self.word(scope, depth)
        if kind == "u64":
            return self.long(scope, depth)
        return "(%s)(%s)" % (kind, self.integer(scope, depth).text) if kind != "s32" else self.integer(scope, depth).text

    def condition(self, scope, depth):
        r = self.r
        kind = r.below(12)
        if kind < 3:
            a = self.affine(scope, r.between(1, 2))
            n = r.between(a.low, a.high)
            return "%s %s %d" % (a.text, r.pick(["<", ">", "<=", ">=", "==", "!="]), n)
        if kind < 4:
            a = r.pick(scope.ints)
            return "(%s & %d) %s 0" % (a.text, r.pick([1, 1, 2, 3, 7, 8]), r.pick(["==", "!="]))
        if kind < 8:
            a = self.small(scope, depth)
            return "%s %s %d" % (a.text, r.pick(["<", ">", "<=", ">=", "==", "!="]), r.between(a.low, a.high))
        if kind < 9:
            return "%s %s %s" % (self.real(scope, depth - 1), r.pick(["<", ">", "<=", "!="]), self.real(scope, depth - 1))
        if kind < 10:
            return r.pick(["A.flag", "K > 2", "W > 40", "radius != 0", "(A.c & 1) != 0"])
        if kind < 11 and depth > 0:
            return "(%s %s %s)" % (self.condition(scope, depth - 1), r.pick(["&&", "||"]), self.condition(scope, depth - 1))
        return "%s %s %s" % (self.word(scope, depth - 1), r.pick(["<", ">", "==", "!="]), self.word(scope, depth - 1))

    # Statements -----------------------------------------------------------------------------------------

    def block_of(self, scope, count):
        lines = []
        for _ in range(count):
            if self.budget <= 0:
                break
            lines += self.statement(scope)
        return lines or self.update(scope)

    def statement(self, scope):
        self.budget -= 1
        nested = 1 if scope.depth > 0 else 0
        few = 1 if scope.trips <= 64 else 0
        together = 1 if scope.together else 0
        return self.r.weighted([
            (8, self.update), (5, self.store), (2, self.atomic),
            (9 * nested * few, self.loop), (4 * nested, self.branch), (2 * nested * few, self.search),
            (2 if scope.in_loop else 0, self.leave), (2 * nested, self.switch), (2 * few * nested, self.local_array),
            (2, self.vector), (1, self.helper_call),
            (5 * together * nested * few, self.tile), (4 * together, self.warp), (2 * together, self.tree),
            (3 * together * nested, self.histogram)])(scope)

    def update(self, scope):
        """A change of one of the thread's values."""
        r = self.r
        name, kind = r.pick(self.values)
        depth = r.between(1, 3)
        if kind == "int":
            most = BIG // 16 // max(1, scope.trips)
            e = self.integer(scope, depth)
            if max(-e.low, e.high) > most:
                if most < 255:
                    return ["%s = max(%s, %s);" % (name, name, self.shrunk(e, 4095).text)]
                e = self.shrunk(e, 255)
            return ["%s %s %s;" % (name, r.pick(["+=", "+=", "-="]), e.text)]
        if kind == "f32":
            return [r.pick(["%s += %s;" % (name, self.real(scope, depth)), "%s = %s;" % (name, self.real(scope, depth)),
                            "%s = greatest(%s, %s);" % (name, name, self.real(scope, depth)),
                            "%s = fused(%s, %s, %s);" % (name, self.real(scope, 1), self.real(scope, 1), name)])]
        if kind == "f64":
            return ["%s %s %s;" % (name, r.pick(["+=", "="]), self.double(scope, 2))]
        return ["%s %s %s;" % (name, r.pick(["+=", "^=", "=", "*=", "-="]), self.value(scope, kind, depth))]

    def store(self, scope):
        out = self.r.pick(self.outs)
        name, kind, index, each = out
        place = index if each == 1 else "(%s) * %d + %d" % (index, each, self.r.below(each))
        op = self.r.pick(["=", "=", "+="]) if kind not in ("f32", "f64") else "="
        e = self.value(scope, kind, self.r.between(1, 3))
        if op == "+=":
            return ["%s[%s] = (%s)((u64)%s[%s] + (u64)(%s));" % (name, place, kind, name, place, e)]
        return ["%s[%s] = %s;" % (name, place, e)]

    def atomic(self, scope):
        r = self.r
        kind = r.below(9)
        places = r.pick([1, 2, 16, 64, 256])
        at = self.index(scope, 1)
        at = "(u32)(%s) & %du" % (at.text, places - 1) if r.chance(70) else "(u32)(%s) & %du" % (self.small(scope, 1).text, places - 1)
        if kind < 3:
            return ["atomic_add(&count_u[%s], %s);" % (at, r.pick(["1u", "1u", self.word(scope, 1)]))]
        if kind < 5:
            return ["atomic_add(&count_f[%s], (f32)(%s));" % (at, r.pick(["1", "1", self.shrunk(self.integer(scope, 1), 7).text]))]
        if kind < 6:
            return ["atomic_max(&count_s[%s], %s);" % (at, self.integer(scope, 2).text)]
        if kind < 7:
            return ["atomic_add(&count_l[%s], %s);" % (at, self.long(scope, 1))]
        if kind < 8:
            return ["atomic_add(&count_d[%s], (f64)(%s));" % (at, self.shrunk(self.integer(scope, 1), 7).text)]
        position = self.fresh("p")
        return ["{", "u32 %s = atomic_add(&count_u[%d], 1u);" % (position, 256 + r.below(16)),
                "atomic_or(&count_u[768 + (%s >> 5 & 255u)], 1u << (%s & 31u));" % (position, position), "}"]

    def bounds(self, scope):
        """Begin, end and step of a loop: text and most trips. Counters grow."""
        r = self.r
        begin = r.weighted([(6, Int("0", 0, 0)), (2, self.constant(3)), (1, Int("-radius", -self.radius, -self.radius)),
                            (2, None)])
        if begin is None:
            begin = Int("(%s & 7)" % r.pick(scope.ints).text, 0, 7)
        kind = r.below(10)
        if kind < 3:
            n = r.pick([2, 3, 4, 5, 7, 8, 8, 16, 17, 32])
            end = Int(str(n), n, n)
        elif kind < 6:
            end = r.pick([Int("K", self.k, self.k), Int("radius + 1", self.radius + 1, self.radius + 1),
                          Int("K * 2", 2 * self.k, 2 * self.k)])
        elif kind < 8:
            a = self.small(scope, 0)
            end = Int("(%s & 15)" % a.text, 0, 15)
        elif kind < 9:
            a = r.pick(scope.ints)
            end = Int("(%s & 15) + 1" % a.text, 1, 16)
        else:
            end = Int("min(%s, 20)" % r.pick(scope.ints).text, min(0, min(v.low for v in scope.ints)), 20)
        return begin, end

    def loop(self, scope):
        r = self.r
        begin, end = self.bounds(scope)
        step = r.weighted([(7, 1), (1, 2), (1, 3), (1, 4)])
        trips = max(1, -(-(end.high - begin.low) // step))
        name = self.fresh("k")
        kind = r.weighted([(6, "int"), (2, "u32"), (1, "s64"), (1, "s16")])
        if kind == "u32" and (begin.low < 0 or end.low < 0):
            kind = "int"
        text, last = name, max(begin.low, end.high - 1)
        if kind != "int":
            text = "(int)" + name
        head = "for (%s %s = %s; %s < (%s)(%s); %s)" % (
            kind, name, begin.text, name, kind, end.text,
            ("%s++" % name if step == 1 else "%s += %d" % (name, step)))
        if r.chance(15):  # downwards
            head = "for (int %s = %s; %s >= %s; %s -= %d)" % (name, "(%s) - 1" % end.text, name, begin.text, name, step)
            text = name
        pragma = ["#pragma unroll%s" % r.pick(["", " 4", " 2", " 1"])] if r.chance(25) else []
        inner = scope.inner(trips=scope.trips * trips, together=False, in_loop=True)
        counter = Int(text, min(begin.low, last), max(last, begin.high))
        inner.ints = inner.ints + [counter] * 3
        return pragma + [head + " {"] + self.block_of(inner, r.between(1, 3)) + ["}"]

    def search(self, scope):
        """A loop that data ends."""
        r = self.r
        name, most = self.fresh("n"), r.pick([6, 12, 20])
        inner = scope.inner(trips=scope.trips * most, together=False, in_loop=True)
        kind = r.below(3)
        if kind == 0:  # a chain of indices
            at = self.fresh("c")
            array = r.pick(self.arrays_of(scope, ("u8", "u16")) or [Array("in_u8", "u8", INPUTS * 2)])
            inner.ints = inner.ints + [Int("(int)" + at, 0, array.count - 1)]
            start, guard = self.place(array, self.index(scope, 1))
            if guard is not None:
                start = "0"
            return ["{", "u32 %s = (u32)(%s), %s = 0;" % (at, start, name), "while (%s > %du && %s++ < %du) {" % (at, r.below(30), name, most),
                    "%s = (%s[%s] + %du * %s) %% %du;" % (at, array.name, at, r.pick([0, 1, 3]), at, array.count)] + self.block_of(
                        inner, r.between(0, 2)) + ["}", "}"]
        if kind == 1:  # bisection
            low, high, mid = self.fresh("a"), self.fresh("b"), self.fresh("m")
            array = r.pick(self.arrays_of(scope, ("u8", "s16", "f32")))
            return ["{", "int %s = 0, %s = %d;" % (low, high, array.count - 1), "while (%s < %s) {" % (low, high),
                    "int %s = (%s + %s) >> 1;" % (mid, low, high),
                    "if (%s[%s] < %s) %s = %s + 1; else %s = %s;" % (array.name, mid, self.value(scope, array.kind, 1), low, mid, high, mid),
                    "}", "%s ^= (u32)%s;" % (self.word_value(), low), "}"]
        inner.ints = inner.ints + [Int(name, 0, most)]
        return ["for (int %s = 0; %s < %d && %s; %s++) {" % (name, name, most, self.condition(inner, 1), name)] + self.block_of(
            inner, r.between(1, 2)) + ["}"]

    def word_value(self):
        return self.r.pick([n for n, kind in self.values if kind == "u32"])

    def leave(self, scope):
        return ["if (%s) %s;" % (self.condition(scope, 1), self.r.pick(["break", "continue"]))]

    def branch(self, scope):
        inner = scope.inner(together=False)
        lines = ["if (%s) {" % self.condition(scope, 2)] + self.block_of(inner, self.r.between(1, 3)) + ["}"]
        if self.r.chance(40):
            lines[-1] = "} else {"
            lines += self.block_of(inner, self.r.between(1, 2)) + ["}"]
        return lines

    def switch(self, scope):
        r = self.r
        inner = scope.inner(together=False, in_loop=False)
        cases = r.pick([2, 4, 6, 9])
        lines = ["switch ((%s) & 15) {" % self.index(scope, 1).text]
        for k in range(cases):
            lines += ["case %d:" % k] + self.update(inner) + (["break;"] if r.chance(75) else [])
        return lines + ["default:"] + self.update(inner) + ["}"]

    def local_array(self, scope):
        r = self.r
        name, size, kind, k = self.fresh("t"), r.pick([4, 8, 9, 16, 25]), r.pick(["s32", "u32", "f32", "u8"]), self.fresh("k")
        inner = scope.inner(trips=scope.trips * size, together=False)
        inner.ints = inner.ints + [Int(k, 0, size - 1)] * 3
        lines = ["{", "%s %s[%d];" % (kind, name, size), "for (int %s = 0; %s < %d; %s++)" % (k, k, size, k),
                 "%s[%s] = %s;" % (name, k, self.value(inner, kind, 2))]
        if r.chance(40):  # sorted
            a, b, c = self.fresh("k"), self.fresh("k"), self.fresh("x")
            lines += ["for (int %s = 0; %s < %d; %s++)" % (a, a, size - 1, a),
                      "for (int %s = 0; %s < %d - %s; %s++)" % (b, b, size - 1, a, b),
                      "if (%s[%s] > %s[%s + 1]) { %s %s = %s[%s]; %s[%s] = %s[%s + 1]; %s[%s + 1] = %s; }" % (
                          name, b, name, b, kind, c, name, b, name, b, name, b, name, b, c)]
        inner = scope.inner(arrays=scope.arrays + [Array(name, kind, size)] * 2, together=False)
        return lines + self.block_of(inner, r.between(1, 3)) + ["}"]

    def vector(self, scope):
        """Reads of four or two elements at once."""
        r = self.r
        kind, width = r.pick([("f32", 4), ("f32", 2), ("u32", 4), ("u32", 2), ("u8", 4)])
        array = [a for a in scope.arrays if a.name == "in_" + kind][0]
        place, guard = self.place(Array(array.name, kind, array.count // width), self.index(scope, 1))
        name = self.fresh("q")
        ctype = {"f32": "float", "u32": "uint", "u8": "uchar"}[kind] + str(width)
        head = "%s %s = ((const %s *)%s)[%s];" % (ctype, name, ctype, array.name, place if guard is None else "0")
        parts = ["%s.%s" % (name, c) for c in "xyzw"[:width]]
        if kind == "f32":
            target = r.pick([n for n, k in self.values if k == "f32"])
            return ["{", head, "%s += %s;" % (target, " + ".join("%s * %d.5f" % (p, n) for n, p in enumerate(parts))), "}"]
        return ["{", head, "%s += %s;" % (self.word_value(), " + ".join("%s * %du" % (p, 2 * n + 1) for n, p in enumerate(parts))), "}"]

    def helper_call(self, scope):
        r = self.r
        name = "%s_%s" % (self.name, self.fresh("h"))
        body = r.pick(["a * b + (a >> 3)", "a > b ? a - b : b - a", "b == 0u ? a : %s(a >> 1, b >> 2) + b" % name])
        self.helpers.append("static %sHD u32 %s(u32 a, u32 b) { return %s; }" % (r.pick(["__noinline__ ", "__forceinline__ "]), name, body))
        return ["%s = %s(%s, %s);" % (self.word_value(), name, self.word(scope, 1), self.word(scope, 1))]

    # What blocks do together ----------------------------------------------------------------------------

    def shared(self, kind, count):
        name, size = self.fresh("sh"), (count * BITS[kind] // 8 + 15) // 16 * 16
        if self.shared_used + size > 40000:
            return None
        self.locals.append("SHARED(%s, %s, %d, %d);" % (kind, name, count, self.shared_used))
        self.shared_used += size
        return name

    def fill(self, scope, name, kind, count):
        """All threads fill a shared array."""
        r = self.r
        inner = scope.inner(together=False, trips=scope.trips * max(1, count // self.threads))
        if count == self.threads and r.chance(70):
            return ["%s[tid] = %s;" % (name, self.value(inner, kind, 2))]
        bx, by = self.block[0], self.block[1]
        if self.block[2] == 1 and by > 1 and r.chance(60):
            wide = next((w for w in (bx + 2, bx, 2 * bx, 36, 18) if count % w == 0), None)
            if wide:
                jy, jx = self.fresh("j"), self.fresh("j")
                inner.ints = inner.ints + [Int(jx, 0, wide - 1), Int(jy, 0, count // wide - 1)] * 3
                return ["for (int %s = (int)THREAD_Y; %s < %d; %s += (int)SIZE_Y)" % (jy, jy, count // wide, jy),
                        "for (int %s = (int)THREAD_X; %s < %d; %s += (int)SIZE_X)" % (jx, jx, wide, jx),
                        "%s[%s * %d + %s] = %s;" % (name, jy, wide, jx, self.value(inner, kind, 2))]
        j = self.fresh("j")
        inner.ints = inner.ints + [Int("(int)" + j, 0, count - 1)] * 3
        return ["for (u32 %s = tid; %s < %du; %s += nt)" % (j, j, count, j), "%s[%s] = %s;" % (name, j, self.value(inner, kind, 2))]

    def tile(self, scope):
        r = self.r
        kind = r.pick(["f32", "f32", "u8", "s32", "u32", "s16"])
        bx, by = self.block[0], self.block[1]
        count = r.pick([self.threads, self.threads, (bx + 2) * (by + 2), 2 * self.threads, 256, bx * (by + 1)])
        name = self.shared(kind, count)
        if name is None:
            return self.update(scope)
        array = Array(name, kind, count)
        if r.chance(50):  # tile by tile
            t, n = self.fresh("k"), r.pick([2, 3, 4])
            bound = Int("K", self.k, self.k) if r.chance(40) else Int(str(n), n, n)
            outer = scope.inner(trips=scope.trips * bound.high)
            outer.ints = outer.ints + [Int(t, 0, max(0, bound.high - 1))] * 2
            inner = outer.inner(together=False, arrays=outer.arrays + [array] * 4)
            return (["for (int %s = 0; %s < %s; %s++) {" % (t, t, bound.text, t)] + self.fill(outer, name, kind, count) + ["SYNC();"]
                    + self.block_of(inner, r.between(1, 2)) + ["SYNC();", "}"])
        lines = self.fill(scope, name, kind, count) + ["SYNC();"]
        scope.arrays = scope.arrays + [array] * 3
        return lines

    def warp(self, scope):
        r = self.r
        target = self.word_value()
        kind = r.below(5)
        if kind == 0:
            name, op = self.fresh("d"), r.pick(["SHUFFLE_XOR", "SHUFFLE_DOWN"])
            reals = r.pick([n for n, k in self.values if k == "f32"])
            v = reals if r.chance(40) and self.threads % 32 == 0 else target
            return ["#pragma unroll", "for (u32 %s = 16; %s != 0; %s >>= 1)" % (name, name, name),
                    "%s %s= %s(whole, %s, %s, 32);" % (v, "+", op, v, name)]
        if kind == 1:
            name, other = self.fresh("d"), self.fresh("y")
            return ["for (u32 %s = 1; %s < 32; %s *= 2) {" % (name, name, name),
                    "u32 %s = SHUFFLE_UP(whole, %s, %s, 32);" % (other, target, name),
                    "if (lane >= %s) %s += %s;" % (name, target, other), "}"]
        if kind == 2:
            return ["%s += %s(whole, %s);" % (target, r.pick(["SUM", "MIN", "MAX", "BITS_XOR"]), self.word(scope, 1))]
        if kind == 3:
            return ["%s ^= BALLOT(whole, %s);" % (target, self.condition(scope, 1))]
        return ["%s += SHUFFLE(whole, %s, %s, %d);" % (target, self.word(scope, 1), self.affine(scope, 1).text, r.pick([32, 16, 8]))]

    def tree(self, scope):
        """A sum or a scan of the block in shared memory."""
        r = self.r
        kind = r.pick(["u32", "f32", "s32", "u64"])
        name = self.shared(kind, self.threads)
        if name is None:
            return self.update(scope)
        s, lines = self.fresh("k"), ["%s[tid] = %s;" % (name, self.value(scope, kind, 1) if kind != "s32" else self.shrunk(self.integer(scope, 1), 255).text), "SYNC();"]
        if self.threads & (self.threads - 1) == 0 and r.chance(60):
            lines += ["for (u32 %s = nt / 2; %s > 0; %s >>= 1) {" % (s, s, s),
                      "if (tid < %s) %s[tid] += %s[tid + %s];" % (s, name, name, s), "SYNC();", "}"]
        else:
            v = self.fresh("y")
            lines += ["for (u32 %s = 1; %s < nt; %s *= 2) {" % (s, s, s),
                      "%s %s = tid >= %s ? %s[tid - %s] : (%s)0;" % (kind, v, s, name, s, kind), "SYNC();",
                      "%s[tid] += %s;" % (name, v), "SYNC();", "}"]
        scope.arrays = scope.arrays + [Array(name, kind, self.threads)] * 2
        return lines

    def histogram(self, scope):
        r = self.r
        count = r.pick([16, 64, 256])
        name = self.shared("u32", count)
        if name is None:
            return self.update(scope)
        j = self.fresh("j")
        lines = ["for (u32 %s = tid; %s < %du; %s += nt)" % (j, j, count, j), "%s[%s] = 0;" % (name, j), "SYNC();"]
        k, n = self.fresh("k"), r.pick([1, 4, 9])
        inner = scope.inner(together=False, trips=scope.trips * n)
        inner.ints = inner.ints + [Int(k, 0, n - 1)] * 2
        at = "(u32)(%s) & %du" % (self.small(inner, 1).text, count - 1)
        lines += ["for (int %s = 0; %s < %d; %s++) {" % (k, k, n, k)]
        if r.chance(50):
            lines += ["if (%s)" % self.condition(inner, 1)]
        lines += ["atomic_add(&%s[%s], %s);" % (name, at, r.pick(["1u", "1u", self.word(inner, 1)])), "}", "SYNC();"]
        if r.chance(60):
            lines += ["for (u32 %s = tid; %s < %du; %s += nt)" % (j, j, count, j), "atomic_add(&count_u[512 + %s], %s[%s]);" % (j, name, j)]
        scope.arrays = scope.arrays + [Array(name, "u32", count)]
        return lines

    # The kernel -----------------------------------------------------------------------------------------

    def add_out(self, index):
        """An output array by an injective index below `total`."""
        r = self.r
        kind = r.pick(["u32", "f32", "u8", "u8", "s16", "u64", "f64", "s32", "u16"])
        each = r.pick([1, 1, 1, 2, 3, 4])
        while BITS[kind] * each > 64:
            each -= 1
        if self.out_used + 2 > WORDS:
            return
        name = self.fresh("out_")
        self.locals.append("%s *%s%s = (%s *)(A.out + %du);" % (kind, r.pick(["", "const ", "__restrict__ "]), name, kind, self.out_used * self.total))
        self.out_used += 2
        self.outs.append((name, kind, index, each))

    def body(self):
        r = self.r
        bx, by, bz = self.block
        sizes = tuple(b * g for b, g in zip(self.block, self.grid))
        self.w = sizes[0] if r.chance(40) else max(1, sizes[0] - r.below(min(sizes[0], 2 * bx)))
        self.h = sizes[1] if r.chance(50) else max(1, sizes[1] - r.below(min(sizes[1], 2 * by)))
        self.k, self.radius = r.pick([0, 1, 2, 3, 4, 5, 7, 8, 9, 16]), r.pick([0, 1, 2, 3])
        scope = Scope(True, 1, r.between(2, 4))
        half = INPUTS // 2
        for kind in ("u8", "s8", "u16", "s16", "s32", "u32", "u64"):
            bytes_ = half * 4
            count = r.pick([bytes_ * 8 // BITS[kind], bytes_ * 8 // BITS[kind], 256, 1000])
            self.locals.append("const %s *%sin_%s = (const %s *)%s;" % (
                kind, r.pick(["", "__restrict__ "]), kind, kind, "(A.in + %d)" % r.pick([0, 0, 0, 64]) if count <= 1000 else "A.in"))
            scope.arrays.append(Array("in_" + kind, kind, count))
        self.locals.append("const f32 *in_f32 = (const f32 *)(A.in + %d);" % half)
        scope.arrays.append(Array("in_f32", "f32", r.pick([half, half, 256, 1024])))
        self.locals.append("const int W = (int)A.a, H = (int)(A.q & 0xffff), K = (int)A.h, radius = (int)A.c; (void)W, (void)H, (void)K, (void)radius;")
        self.locals.append("u32 *count_u = A.out + %du; f32 *count_f = (f32 *)(count_u + 1024); s32 *count_s = (s32 *)(count_u + 2048);"
                           % (self.total * WORDS))
        self.locals.append("u64 *count_l = (u64 *)(count_u + 2560); f64 *count_d = (f64 *)(count_u + 3072);")
        kind = r.pick(["int", "int", "int", "u32"])
        coordinates = []
        for name, d, size in (("x", "X", sizes[0]), ("y", "Y", sizes[1]), ("z", "Z", sizes[2])):
            if "xyz".index(name) >= self.dims:
                continue
            self.locals.append("const %s %s = BLOCK_%s * SIZE_%s + THREAD_%s;" % (kind, name, d, d, d))
            coordinates.append(Int("(int)" * (kind != "int") + name, 0, size - 1))
            scope.ints.append(coordinates[-1])
        if r.chance(60):
            self.locals.append("const int tx = (int)THREAD_X, ty = (int)THREAD_Y;")
            scope.ints += [Int("tx", 0, bx - 1)] + ([Int("ty", 0, by - 1)] if by > 1 else [])
        if r.chance(30):
            scope.ints.append(Int("(int)BLOCK_X", 0, self.grid[0] - 1))
        if r.chance(20):
            scope.ints.append(Int("(int)lane", 0, 31))
        scope.ints.append(Int("(int)gt", 0, self.total - 1))
        # values of the thread
        for kind_ in ["u32", "f32"] + [r.pick(["int", "int", "u64", "f64", "u32", "f32"]) for _ in range(r.between(1, 4))]:
            name = self.fresh("v")
            self.locals.append("%s %s = 0;" % (kind_, name))
            self.values.append((name, kind_))
        row = self.row_index(r, sizes)
        style = r.weighted([(4, "guard"), (3, "none"), (3, "inside"), (2, "stride")])
        head, tail = [], []
        for _ in range(r.between(1, 3) if style != "stride" else 0):
            self.add_out(row)
        if style == "stride":
            n = self.fresh("i")
            count = r.pick([self.total, max(1, self.total - r.below(self.threads))])
            self.locals.append("const int total = %d;" % count)
            head = ["for (int %s = (int)gt; %s < total; %s += %s) {" % (n, n, n, "(int)(nt * grid_blocks())")]
            tail = ["}"]
            scope.together = False
            scope.ints += [Int(n, 0, count - 1)] * 3
            scope.ints += [Int("(%s %% %d)" % (n, self.w), 0, self.w - 1), Int("(%s / %d)" % (n, self.w), 0, count // self.w)]
            scope.trips = 1
            scope.in_loop = True
            row = n
            for _ in range(r.between(1, 3)):
                self.add_out(row)
        elif style == "guard":
            tests = []
            for c, bound, text in zip(coordinates, (self.w, self.h, sizes[2]), ("W", "H", str(sizes[2]))):
                tests.append("%s >= %s" % (c.text, text))
            head = ["if (%s) %s;" % (" || ".join(tests), "return")]
            scope.together = False
            scope.ints += [Int(c.text, 0, min(c.high, b - 1)) for c, b in zip(coordinates, (self.w, self.h, sizes[2]))]
        elif style == "inside":
            tests = ["%s < %s" % (c.text, t) for c, t in zip(coordinates, ("W", "H", str(sizes[2])))]
            head, tail = ["if (%s) {" % " && ".join(tests)], ["}"]
            inner = scope.inner(together=False)
            inner.depth += 1
            lead = []
            count = r.between(0, 2)
            for _ in range(count):
                lead += self.statement(scope)
            inner.arrays = list(scope.arrays)
            scope = inner
            head = lead + head
        lines = self.block_of(scope, self.budget)
        finals = []
        for name, kind_ in self.values:
            if self.out_used + 2 <= WORDS:
                out = self.fresh("out_")
                self.locals.append("u64 *%s = (u64 *)(A.out + %du);" % (out, self.out_used * self.total))
                self.out_used += 2
                bits = {"f32": "(u64)bits32(%s)", "f64": "bits64(%s)", "int": "(u64)(s64)%s"}.get(kind_, "(u64)%s") % name
                finals.append("%s[%s] = %s;" % (out, row, bits))
        self.lines = head + lines + finals + tail

    def row_index(self, r, sizes):
        """An injective index of threads, below their number."""
        if self.dims == 1:
            return r.pick(["gt", "x", "gt", "%du - gt" % (self.total - 1)])
        if self.dims == 2:
            return r.pick(["y * %d + x" % sizes[0], "y * %d + x" % sizes[0], "gt", "x * %d + y" % sizes[1], "(size_t)y * %d + x" % sizes[0]])
        return r.pick(["(z * %d + y) * %d + x" % (sizes[1], sizes[0]), "gt"])

    def rows(self):
        return self.total + COUNTERS // WORDS + 1

    def entry(self):
        r = self.r
        return ('{"%s", %dull, dim3(%d, %d, %d), dim3(%d, %d, %d), 0, %d, (const void *)%s, %s_body_of, '
                '{NULL, NULL, NULL, %uu, 0x%xull, %s, %s, %d, %d, %s}},'
                % ((self.name, self.seed) + self.grid + self.block
                   + (self.rows(), self.name, self.name, self.w, self.h | r.below(1 << 20) << 16, "1.5f", "2.5", self.k, self.radius,
                      r.pick(["true", "false"]))))

    def text(self):
        lines = ["", "/* Seed %d. */" % self.seed] + self.helpers
        lines += ["static %sHD void %s_body(const args &A)" % (self.r.pick(["", "__forceinline__ "]), self.name), "{", "PLACE;"]
        lines += self.locals + self.lines + ["}"]
        bounds = self.r.pick(["", "__launch_bounds__(%d) " % self.threads])
        lines += ['extern "C" __global__ void %s%s(args A) { %s_body(A); }' % (bounds, self.name, self.name),
                  "#ifndef __CUDA_ARCH__", "static void %s_body_of(args A) { %s_body(A); }" % (self.name, self.name), "#endif"]
        return lines
