"""Functions of generated programs: kernels, and what they call.

    T functions are called by any threads. Those of a kernel have one signature, so pointers to them are chosen.
    M functions are called by all lanes of a mask, which is their second argument.
    B functions are called by all threads of a block; they get the kernel's shared arrays.
"""
from choices import Choices
from expressions import TYPES, TYPE_WEIGHTS, Expressions, c_type
from statements import Context, Region, Statements

BLOCK_VALUES = ["A.a", "(u32)A.q", "nt", "BLOCK_X", "GRID_X", "(u32)A.c", "(u32)(s32)A.h", "(u32)A.flag", "(u32)(A.q >> 32)"]


class Function:
    """A function while it is made: its variables, and what statements ask of it."""

    def __init__(self, kernel, level, name):
        self.kernel, self.level, self.name = kernel, level, name
        self.r = kernel.r
        self.declared = []
        self.variables, self.arrays, self.fields, self.shared, self.objects = [], [], [], [], []
        self.block_variables, self.block_values = [], list(BLOCK_VALUES)
        self.has_shared_sums = False
        self.apart = False
        self.own_first = 20
        self.numbers = 0
        self.budget = 0
        self.may_return = level == "T" or kernel.exits
        self.base = "%s_base" % kernel.name
        self.callees = list(kernel.functions)

    # What statements ask for ----------------------------------------------------------------------------

    def number(self):
        self.numbers += 1
        return self.numbers

    def declare(self, type_, prefix, value):
        name = "%s%d" % (prefix, self.number())
        self.declared.append("%s %s = %s;" % (type_, name, value))
        return name

    def counter(self):
        return self.declare("u32", "i", "0u")

    def mask_variable(self):
        return self.declare("u32", "m", "0u")

    def fuel_variable(self):
        return self.declare("u32", "g", "0u")

    def uniform_variable(self):
        return self.declare("u32", "w", "0u")

    def condition_variable(self):
        return self.declare("bool", "c", "false")

    def pointer(self, callee):
        return self.declare(self.kernel.name + "_pointer", "p", callee.name)

    def block_pointer(self, callee):
        return self.declare(self.kernel.name + "_block_pointer", "p", callee.name)

    def base_pointer(self):
        return self.declare(self.base + " *", "b", "NULL")

    def callable(self, level):
        return [f for f in self.callees if f.level == level]

    def virtual(self, expressions, context):
        """Two objects and the arguments of a call of one of them."""
        return self.r.pick(self.objects), self.r.pick(self.objects), self.kernel.arguments(expressions, context)

    def arguments(self, expressions, context):
        return self.kernel.arguments(expressions, context)

    def leave(self, statements, context):
        if self.kernel.exits and (self.level in "MB" or self.r.chance(20)):
            return "EXIT();"
        if self.level == "T":
            return "return %s;" % statements.e.u32(context, 2)
        return "{ own[0] += 1u; return; }"

    # Making it ------------------------------------------------------------------------------------------

    def add_variables(self, expressions, context, count):
        """Variables of random types; some have names of parameters already."""
        for _ in range(count):
            type_ = self.r.weighted(TYPE_WEIGHTS)
            value = expressions.value(context, type_, 2)
            self.variables.append((self.declare(c_type(type_), "v", value), type_))
        # A word and a value of each kind that warp operations take are always there.
        for type_ in ("u32", "u32"):
            self.variables.append((self.declare(type_, "v", expressions.u32(context, 1)), type_))
        if self.r.chance(45):
            size = self.r.pick([2, 4, 8, 16])
            name = "a%d" % self.number()
            self.declared.append("u32 %s[%d] = {%s};" % (name, size, ", ".join(
                expressions.u32(context, 1) for _ in range(self.r.between(1, size)))))
            self.arrays.append((name, size))
        if self.kernel.struct and self.r.chance(60):
            name = "t%d" % self.number()
            self.declared.append("struct %s %s = {};" % (self.kernel.struct.name, name))
            self.fields += [("%s.%s" % (name, field), type_) for field, type_ in self.kernel.struct.fields]

    def resolve(self, lines):
        """Gives jumps their labels, and leaves out labels and jumps that have no use."""
        used, chosen = set(), []
        for line in lines:
            if isinstance(line, tuple) and line[0] == "jump":
                targets = line[1].targets()
                if not targets:
                    continue
                target = self.r.pick(targets)
                used.add(target)
                line = "%s goto %s;" % (line[2], target)
            chosen.append(line)
        result = []
        for line in chosen:
            if isinstance(line, tuple):
                if line[0] == "keep":
                    line = line[1] + " // phase"
                elif line[1] in used:
                    line = line[1] + ":;"
                else:
                    continue
            result.append(line)
        return result


class Struct:
    """A struct with fields of random types, a field of bits among them."""

    def __init__(self, choices, name):
        self.name = name
        self.fields, self.lines = [], []
        for k in range(choices.between(2, 6)):
            type_ = choices.weighted(TYPE_WEIGHTS)
            self.fields.append(("f%d" % k, type_))
            self.lines.append("%s f%d;" % (c_type(type_), k))
        if choices.chance(50):
            self.fields.append(("bits", "u32"))
            self.lines.append("u32 bits : %d;" % choices.between(1, 31))
            self.lines.append("u32 rest : %d;" % choices.between(1, 31))
            self.fields.append(("rest", "u32"))

    def text(self):
        return ["struct %s {" % self.name] + self.lines + ["};"]


class Kernel:
    """A kernel with the functions that it calls. Each is made from a seed of its own."""

    SHAPES = [(32, 1, 1), (64, 1, 1), (128, 1, 1), (96, 1, 1), (1, 1, 1), (7, 1, 1), (33, 1, 1), (40, 1, 1), (100, 1, 1),
              (16, 2, 1), (8, 8, 1), (5, 3, 1), (4, 4, 4), (3, 5, 7), (32, 2, 1), (31, 3, 1), (17, 1, 1), (48, 1, 1),
              (2, 16, 3), (1, 32, 1), (160, 1, 1), (256, 1, 1)]
    GRIDS = [(1, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 2, 2), (1, 1, 3)]

    CHILD_THREADS = 64  # at most, in one block

    # How large kernels are: most are small, so that many are tried, since what a kernel costs grows with its size.
    # weight: statements of the kernel, of its functions, how deep they nest, statements side by side
    SIZES = [(55, {"kernel": [2, 3, 4, 5], "function": (1, 3), "depth": (1, 2), "width": (2, 4)}),
             (35, {"kernel": [4, 6, 8, 10], "function": (2, 5), "depth": (2, 3), "width": (2, 6)}),
             (10, {"kernel": [10, 16, 24, 40], "function": (2, 7), "depth": (2, 4), "width": (3, 8)})]

    def __init__(self, seed, name, launches=False, is_child=False, calls=False):
        """A kernel of a seed. With `launches`, one thread of each block launches a kernel of its own. With `calls`,
        functions with barriers are recursive or called through pointers."""
        self.calls = calls
        self.seed, self.name = seed, name
        self.r = r = Choices(seed * 2 + 1 if is_child else seed)
        self.size = r.weighted(self.SIZES)
        self.block, self.grid = r.pick(self.SHAPES), r.pick(self.GRIDS)
        if is_child:
            self.grid = (1, 1, 1)
            while self.block[0] * self.block[1] * self.block[2] > self.CHILD_THREADS:
                self.block = r.pick(self.SHAPES)
        self.child = Kernel(seed, name + "_child", is_child=True) if launches else None
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.exits = r.chance(30)
        self.functions, self.texts = [], []
        self.struct = Struct(r, name + "_struct") if r.chance(40) else None
        self.parameters = ["f64" if t == "half" else t for t in (r.weighted(TYPE_WEIGHTS) for _ in range(r.between(1, 3)))]
        self.dynamic = 0
        if self.struct:
            self.texts += self.struct.text()
        self.texts += ["typedef u32 (*%s_pointer)(%s);" % (name, self.parameter_list(False))]
        for k in range(r.pick([0, 0, 0, 1, 1, 2])):
            self.plain_function("%s_f%d" % (name, k))
        self.has_objects = r.chance(10)
        if self.has_objects:
            self.classes()
        for k in range(r.pick([0, 0, 0, 0, 1])):
            self.mask_function("%s_m%d" % (name, k))
        self.shared = []
        for k in range(r.pick([0, 1, 1, 2, 3])):
            self.shared.append(("s%d" % k, r.pick(["u32", "u32", "u64", "u8", "s16", "f32", "f64"])))
        if calls:
            self.texts += ["typedef u32 (*%s_block_pointer)(%s);" % (name, self.block_parameters(False))]
        for k in range(r.pick([1, 2, 2, 3] if calls else [0, 0, 0, 0, 0, 1])):
            self.block_function("%s_b%d" % (name, k))
        self.body()

    # Signatures -----------------------------------------------------------------------------------------

    def parameter_list(self, named):
        names = ["const args &" + ("A" if named else "")]
        names += [t + (" x%d" % k if named else "") for k, t in enumerate(self.parameters)]
        return ", ".join(names + ["u32" + (" depth" if named else "")])

    def arguments(self, expressions, context):
        values = [expressions.value(context, t, 1) for t in self.parameters]
        return ", ".join(["A"] + ["(%s)(%s)" % (t, v) for t, v in zip(self.parameters, values)] + ["%uu" % self.r.below(4)])

    def block_parameters(self, named):
        parts = [("const args &", "A"), ("u32 ", "ub"), ("u32 ", "x"), ("u32 ", "depth")]
        parts += [(t + " *", n) for n, t in self.shared]
        return ", ".join(t + n if named else t.strip() for t, n in parts)

    def attribute(self, recursive=False):
        return self.r.pick(["", "__noinline__ "] if recursive else ["", "__noinline__ ", "__forceinline__ ", "__noinline__ "])

    # Functions ------------------------------------------------------------------------------------------

    def start(self, function, context, parameters, count):
        e = Expressions(self.r, function)
        function.variables = list(parameters)
        function.add_variables(e, context, count)
        return e, Statements(self.r, function, e)

    def finish(self, function, head, body):
        lines = function.resolve(body)
        self.texts += [head, "{", "PLACE;"] + function.declared + lines + ["}"]
        self.functions.append(function)

    def result(self, function):
        """All that a function has come to, as a word."""
        parts = []
        for k, (name, type_) in enumerate(function.variables + function.fields):
            parts.append("%s * %du" % (word_of(name, type_), 2 * k + 1))
        return " ^ ".join(parts)

    def thread_body(self, function, budget, recursive):
        """The body of a T function, whose parameters are there."""
        region = Region()
        context = Context("T", region, "fuel", self.r.between(1, 2))
        function.declared.append("u32 fuel = %uu;" % self.r.between(3, 12))
        e, s = self.start(function, context, [("x%d" % k, t) for k, t in enumerate(self.parameters)] + [("depth", "u32")],
                          self.r.between(0, 3))
        function.variables.remove(("depth", "u32"))
        function.budget = budget
        context.tangled = self.r.chance(25)
        body = s.block(context, self.r.between(1, 4))
        if recursive:
            call = "%s(%s" % (function.name, self.arguments(e, context))
            call = call[:call.rindex(",")] + ", depth - 1u)"
            body += ["if (depth != 0u && depth < 5u && (%s)) {" % e.condition(context, 1), s.convert(s.target(), call), "}"]
            if self.r.chance(40):
                body += s.block(context, 2)
        return body + ["return %s;" % self.result(function)]

    def plain_function(self, name):
        function = Function(self, "T", name)
        recursive = self.r.chance(35)
        body = self.thread_body(function, self.r.between(*self.size["function"]), recursive)
        self.finish(function, "static %sHD u32 %s(%s)" % (self.attribute(recursive), name, self.parameter_list(True)), body)

    def classes(self):
        """A base class and two that override its work."""
        base = self.name + "_base"
        self.texts += ["struct %s {" % base, "u32 own_value;", "HD %s(u32 v) : own_value(v) {}" % base,
                       "virtual HD u32 work(%s) const { return own_value + depth; }" % self.parameter_list(True), "};"]
        for k in range(2):
            function = Function(self, "T", "work")
            function.fields = [("seen", "u32")]
            function.declared.append("u32 seen = own_value;")
            body = self.thread_body(function, self.r.between(1, 3), False)
            lines = function.resolve(body)
            self.texts += ["struct %s_class%d : %s {" % (self.name, k, base),
                           "HD %s_class%d(u32 v) : %s(v) {}" % (self.name, k, base),
                           "HD u32 work(%s) const override {" % self.parameter_list(True), "PLACE;"]
            self.texts += function.declared + lines + ["}", "};"]

    def mask_function(self, name):
        function = Function(self, "M", name)
        function.apart = self.r.chance(40)
        region = Region()
        context = Context("M", region, "mfuel", self.r.between(1, 2), "mask")
        context.uniforms, context.own_uniforms, context.apart = ["um"], ["um"], function.apart
        function.declared.append("u32 fuel = %uu, mfuel = %uu;" % (self.r.between(3, 10), self.r.between(2, 6)))
        e, s = self.start(function, context, [("x", "u32")], self.r.between(1, 3))
        function.budget = self.r.between(*self.size["function"])
        body = s.block(context, self.r.between(2, 5))
        recursive = not function.apart and self.r.chance(30)
        if recursive:
            body += ["if (depth != 0u && (%s)) {" % e.condition(context, 1, "M"),
                     s.convert(s.target(), "%s(A, mask, %s, %s, depth - 1u)" % (name, e.u32(context, 1, "M"),
                                                                           e.u32(context, 1))), "}"]
        head = "static %sHD u32 %s(const args &A, u32 mask, u32 um, u32 x, u32 depth)" % (
            "__forceinline__ " if function.apart else self.attribute(recursive), name)
        self.finish(function, head, body + ["return %s;" % self.result(function)])

    def block_function(self, name):
        function = Function(self, "B", name)
        region = Region()
        context = Context("B", region, "bfuel", self.r.between(1, 2))
        function.shared = list(self.shared)
        function.declared.append("u32 fuel = %uu, bfuel = %uu;" % (self.r.between(3, 10), self.r.between(2, 5)))
        function.block_variables = ["ub"]
        e, s = self.start(function, context, [("x", "u32")], self.r.between(1, 3))
        function.budget = self.r.between(*self.size["function"])
        body = s.block(context, self.r.between(2, 5))
        recursive = self.calls and self.r.chance(60)
        if recursive:
            call = "%s(A, %s, %s, depth - 1u%s)" % (name, e.u32(context, 1, "B"), e.u32(context, 1),
                                                   "".join(", " + n for n, _ in self.shared))
            body += ["if (depth != 0u && depth < 4u && (%s)) {" % e.condition(context, 1, "B"),
                     s.convert(s.target(), call), "}"]
            if self.r.chance(40):
                body += s.block(context, 2)
        head = "static %sHD u32 %s(%s)" % (self.attribute(recursive), name, self.block_parameters(True))
        self.finish(function, head, body + ["return %s;" % self.result(function)])

    # The kernel -----------------------------------------------------------------------------------------

    def body(self):
        r = self.r
        function = Function(self, "K", self.name)
        function.own_first = 16
        context = Context("B", Region(), "bfuel", r.between(*self.size["depth"]))
        offset = 0
        dynamic = r.below(len(self.shared)) if self.shared and r.chance(40) else None
        for k, (name, type_) in enumerate(self.shared):
            size = {"u8": 1, "s16": 2, "u32": 4, "f32": 4}.get(type_, 8)
            if k == dynamic:
                function.declared.append("DYNAMIC(%s, %s);" % (type_, name))
                self.dynamic = size * self.threads
            else:
                function.declared.append("SHARED(%s, %s, %d, %d);" % (type_, name, self.threads, offset))
                offset += (size * self.threads + 7) // 8 * 8
        if r.chance(60):
            function.declared += ["SHARED(u32, shared_sums, 16, %d);" % offset,
                                  "for (u32 k = tid; k < 16u; k += nt)", "shared_sums[k] = 0u;"]
            function.has_shared_sums = True
        function.declared.append("u32 fuel = %uu, bfuel = %uu;" % (r.between(6, 40), r.between(3, 14)))
        starts = ["A.in[gt & 1023u]", "tid", "A.in[(gt * 7u + 3u) & 1023u]", "lane * 3u + 1u", "A.in[tid & 1023u] & 15u"]
        first = []
        for k in range(2):
            first.append((function.declare("u32", "v", r.pick(starts)), "u32"))
        first.append((function.declare("s32", "v", "(s32)A.in[(tid + 100u) & 1023u]"), "s32"))
        for type_ in r.pick([[], ["f32"], ["u64"], ["f64", "s64"]]):
            first.append((function.declare(type_, "v", "(%s)(s32)A.in[(gt + 200u) & 1023u]" % type_), type_))
        e, s = self.start(function, context, first, r.between(0, 3))
        for _ in range(r.between(1, 2)):
            function.block_variables.append(function.declare("u32", "ub", e.u32(context, 1, "B")))
        if self.has_objects:
            for k in range(2):
                name = "o%d" % k
                function.declared.append("%s_class%d %s(%s);" % (self.name, k, name, e.u32(context, 1)))
                function.objects.append(name)
        for name, type_ in self.shared:
            function.declared.append("%s[tid] = %s;" % (name, e.value(context, type_, 2)))
        if self.child:
            function.declared.append(self.launch(e, context))
        function.shared = list(self.shared)
        function.budget = r.pick(self.size["kernel"])
        context.tangled = r.chance(15)
        lines = s.block(context, r.between(*self.size["width"]))
        for _ in range(r.between(1, 3) if self.calls else 0):
            lines += s.call_block(context)
        for k, (name, type_) in enumerate((function.variables + function.fields)[:16]):
            lines.append("own[%d] ^= %s;" % (k, word_of(name, type_)))
        for k, (name, size) in enumerate(function.arrays):
            lines += ["for (fuel = 0u; fuel < %uu; fuel++)" % size, "own[15] = own[15] * 31u + %s[fuel];" % name]
        self.finish(function, "static %sHD void %s_body(const args &A)" % (r.pick(["", "__noinline__ ", "__forceinline__ "]),
                                                                      self.name), lines)
        self.texts += ['extern "C" __global__ void %s(args A) { %s_body(A); }' % (self.name, self.name)]

    def launch(self, e, context):
        """The launch of the child, whose output comes after that of all threads of this kernel."""
        condition = "tid == %uu && (%s)" % (self.r.below(self.threads), e.condition(context, 1))
        return ("if (%s) LAUNCH(%s, dim3(%d, %d, %d), %d, block_rank() * %du + nt * grid_blocks());"
                % ((condition, self.child.name) + self.child.block + (self.child.dynamic, self.CHILD_THREADS)))

    def rows(self):
        """Rows of the output: one a thread, and those of the children."""
        blocks = self.grid[0] * self.grid[1] * self.grid[2]
        return blocks * (self.threads + (self.CHILD_THREADS if self.child else 0))

    def entry(self):
        """The kernel's row in the program's table."""
        r = self.r
        return ('{"%s", %dull, dim3(%d, %d, %d), dim3(%d, %d, %d), %d, %d, (const void *)%s, %s_body_of, '
                '{NULL, NULL, NULL, %uu, 0x%xull, %s, %s, %d, %d, %s}},'
                % ((self.name, self.seed) + self.grid + self.block
                   + (self.dynamic, self.rows(), self.name, self.name, r.below(1 << 32) >> r.below(31), r.word() >> r.below(60),
                      r.pick(["1.5f", "-3.25f", "1e10f", "0.0f"]), r.pick(["2.5", "-1e100", "7.0"]),
                      r.between(-32768, 32767), r.below(256), r.pick(["true", "false"]))))

    def text(self):
        lines = (self.child.text() if self.child else ["", "/* Seed %d. */" % self.seed]) + self.texts
        lines += ["#ifndef __CUDA_ARCH__", "static void %s_body_of(args A) { %s_body(A); }" % (self.name, self.name), "#endif"]
        return lines


def word_of(name, type_):
    """A variable's value as a word."""
    if type_ in ("u64", "s64"):
        return "((u32)%s ^ (u32)((u64)%s >> 32))" % (name, name)
    if type_ == "f32":
        return "bits32(%s)" % name
    if type_ == "f64":
        return "((u32)bits64(%s) ^ (u32)(bits64(%s) >> 32))" % (name, name)
    return "((u32)%s)" % name
