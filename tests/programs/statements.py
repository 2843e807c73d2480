"""Statements of generated programs.

Where a statement stands is a context. Its level says which threads come there together:

    "B"  all threads of the block: barriers are allowed
    "M"  all lanes of a mask, whose name the context knows: warp operations of that mask are allowed
    "T"  whatever thread

A region is what one context's threads do between entering it and leaving it. Jumps stay inside a region, but
for those from a region into the parts of it that are of level T. So threads that a barrier or a warp operation
waits for do arrive, however tangled the jumps are.
"""
from expressions import AS_U32

WARP_TYPES = ["u32", "s32", "u64", "s64", "f32", "f64"]


class Region:
    """Labels and jumps that belong together. A jump of the parent may enter it if it is `open`."""

    def __init__(self, parent=None, open_=False):
        self.parent = parent
        self.children = []
        self.open = open_
        self.labels = []
        if parent is not None:
            parent.children.append(self)

    def targets(self):
        """Labels to which a jump of this region may lead."""
        found = list(self.labels)
        for child in self.children:
            if child.open:
                found += child.targets()
        return found


class Context:
    def __init__(self, level, region, fuel, depth, mask=None):
        self.level = level
        self.region = region
        self.fuel = fuel          # name of the variable that bounds loops and jumps
        self.depth = depth        # how deep constructs may still nest
        self.mask = mask          # expression for the lanes that are here
        self.uniforms = []        # variables that are uniform over the mask
        self.own_uniforms = []    # those of them that may be assigned here
        self.readable = []        # shared arrays that all may read and none writes
        self.loops = ""           # "l" a loop, "s" a switch, around this statement in this region
        self.tangled = False      # many labels and jumps
        self.apart = True         # lanes outside of the mask are elsewhere, so that a shuffle from them gives 0
        self.phase = False        # inside a phase: the function's shared arrays and barriers are in use

    def inner(self, **changes):
        c = Context(self.level, self.region, self.fuel, self.depth - 1, self.mask)
        for name in ("uniforms", "own_uniforms", "readable", "loops", "tangled", "apart", "phase"):
            setattr(c, name, getattr(self, name))
        for name, value in changes.items():
            setattr(c, name, value)
        return c

    @property
    def uniform(self):
        return None if self.level == "T" else self.level


class Statements:
    """Makes statements for one function."""

    def __init__(self, choices, function, expressions):
        self.r = choices
        self.f = function
        self.e = expressions

    # Blocks and their parts -----------------------------------------------------------------------------

    def block(self, context, count):
        lines = []
        for _ in range(count):
            if self.f.budget <= 0:
                break
            if self.r.chance(35 if context.tangled else 6):
                lines += self.label(context)
            lines += self.statement(context)
            if self.r.chance(35 if context.tangled else 7):
                lines += self.jump(context)
        return lines or self.assign(context)

    def label(self, context):
        name = "L%d" % self.f.number()
        context.region.labels.append(name)
        return [("label", name)]

    def jump(self, context):
        condition = self.e.condition(context, 2, context.uniform)
        return [("jump", context.region, "if ((%s) && FUEL(%s))" % (condition, context.fuel))]

    def lower(self, context):
        """The context of a part that only some of the threads enter."""
        if context.level == "T":
            return context.inner()
        return context.inner(level="T", region=Region(context.region, open_=True), fuel="fuel", loops="", tangled=
                             self.r.chance(25))

    def statement(self, context):
        self.f.budget -= 1
        r, level = self.r, context.level
        nested = 1 if context.depth > 0 else 0
        together = 1 if level != "T" else 0
        block = 1 if level == "B" and not context.phase else 0
        table = [
            (9, self.assign), (3, self.array_store), (2, self.own_memory), (2 if self.f.shared else 0, self.shared_store),
            (3, self.global_atomic), (1, self.fence),
            (8 * nested, self.branch), (6 * nested, self.loop), (3 * nested, self.switch), (5 * nested, self.tangle),
            (3 if context.loops else 0, self.leave_loop), (1 * nested, self.one_lane),
            (1 if level == "T" and self.f.may_return else 0, self.leave),
            (5 if self.f.callable("T") else 0, self.call), (2 if self.f.objects else 0, self.virtual_call),
            (2 if len(self.f.callable("T")) > 1 else 0, self.pointer_call),
            (14 * together, self.warp_operation), (7 * together * nested, self.lanes), (3 * together, self.warp_exchange),
            (3 * together if self.f.callable("M") else 0, self.call_together),
            (3 * nested * together, self.part),
            (6 * block, self.barrier), (9 * block * nested, self.exchange), (3 * block * nested, self.shared_sums),
            ((20 if self.f.kernel.calls else 5) * block if self.f.callable("B") else 0, self.call_block), (2 * nested, self.stride_loop),
        ]
        return r.weighted(table)(context)

    # Plain statements -----------------------------------------------------------------------------------

    def assign(self, context):
        r, f = self.r, self.f
        if context.level == "B" and f.block_variables and not context.phase and r.chance(20):
            return ["%s = %s;" % (r.pick(f.block_variables), self.e.u32(context, 2, "B"))]
        if context.level == "M" and context.own_uniforms and r.chance(20):
            return ["%s = %s;" % (r.pick(context.own_uniforms), self.e.u32(context, 2, "M"))]
        if f.fields and r.chance(15):
            name, type_ = r.pick(f.fields)
        else:
            name, type_ = r.pick(f.variables)
        if type_ in ("u32", "u64", "f32", "f64") and r.chance(30):
            operator = r.pick(["+=", "-=", "*="]) if type_[0] == "f" else r.pick(["+=", "-=", "*=", "^=", "|=", "&="])
            return ["%s %s %s;" % (name, operator, self.e.value(context, type_, 2))]
        return ["%s = %s;" % (name, self.e.value(context, type_, self.r.pick([1, 2, 2, 3])))]

    def array_store(self, context):
        if not self.f.arrays:
            return self.assign(context)
        name, size = self.r.pick(self.f.arrays)
        return ["%s[(%s) & %uu] %s %s;" % (name, self.e.u32(context, 1), size - 1, self.r.pick(["=", "+=", "^="]),
                                           self.e.u32(context, 2))]

    def own_memory(self, context):
        """Reads and writes words of the output that the thread owns."""
        word = "own[%uu + (%s & 3u)]" % (self.f.own_first, self.e.u32(context, 1))
        kind = self.r.below(4)
        if kind == 0:
            return ["%s = %s;" % (word, self.e.u32(context, 2))]
        target = self.r.pick([n for n, t in self.f.variables if t == "u32"])
        if kind == 1:
            return ["%s ^= %s;" % (target, word)]
        if kind == 2:
            return ["%s += atomic_%s(&%s, %s);" % (target, self.r.pick(["add", "swap", "max", "xor"]), word,
                                                   self.e.u32(context, 1))]
        return ["%s += %s;" % (word, self.e.u32(context, 1))]

    def shared_store(self, context):
        free = [s for s in self.f.shared if s not in context.readable]
        if not free:
            return self.assign(context)
        name, type_ = self.r.pick(free)
        return ["%s[tid] = %s;" % (name, self.e.value(context, type_, 2))]

    def global_atomic(self, context):
        r = self.r
        index = "[(%s) & 7u]" % self.e.u32(context, 1)
        value = self.e.u32(context, 2)
        return [r.pick([
            "atomic_add(&A.sums->add%s, %s);", "atomic_and(&A.sums->and_%s, %s);", "atomic_or(&A.sums->or_%s, %s);",
            "atomic_xor(&A.sums->xor_%s, %s);", "atomic_min(&A.sums->min%s, %s);", "atomic_max(&A.sums->max%s, %s);",
            "atomic_min(&A.sums->smin%s, (s32)(%s));", "atomic_max(&A.sums->smax%s, (s32)(%s));",
            "atomic_add(&A.sums->add64%s, (u64)(%s) << 7);", "atomic_max(&A.sums->max64%s, (u64)(%s) << 9);",
            "atomic_add(&A.sums->addf%s, (f32)((%s) & 7u));", "atomic_add(&A.sums->addd%s, (f64)((%s) & 0xffffu));",
            "atomic_cas_add(&A.sums->cas%s, %s);", "atomic_inc(&A.sums->inc%s, 6u | (0u & (%s)));",
        ]) % (index, value)]

    def fence(self, context):
        return [self.r.pick(["FENCE();", "FENCE_BLOCK();"])]

    # Control flow ---------------------------------------------------------------------------------------

    def split(self, context):
        """Whether the next construct is decided together, and the context of its parts."""
        if context.level == "T" or self.r.chance(45):
            return context.uniform, context.inner()
        return None, self.lower(context)

    def branch(self, context):
        uniform, inner = self.split(context)
        lines = ["if (%s) {" % self.e.condition(context, 2, uniform)] + self.block(inner, self.r.between(1, 3))
        if self.r.chance(50):
            lines += ["} else {"] + self.block(inner, self.r.between(1, 3))
        return lines + ["}"]

    def loop(self, context):
        r = self.r
        uniform, inner = self.split(context)
        inner.loops = ("" if inner.region is not context.region else context.loops) + "l"
        condition = self.e.condition(context, 2, uniform)
        fuel = "FUEL(%s)" % inner.fuel
        body = self.block(inner, r.between(1, 4))
        kind = r.below(4)
        if kind == 0:
            return ["while ((%s) && %s) {" % (condition, fuel)] + body + ["}"]
        if kind == 1:
            return ["do {"] + body + ["} while (%s && (%s));" % (fuel, condition)]
        counter = self.f.counter()
        if kind == 2:
            return ["for (%s = 0; %s < (%s & 7u) && %s; %s++) {"
                    % (counter, counter, self.e.u32(context, 1, uniform), fuel, counter)] + body + ["}"]
        return ["for (%s = %uu; (%s) && %s; %s += %uu) {"
                % (counter, r.below(4), condition, fuel, counter, r.between(1, 3))] + body + ["}"]

    def switch(self, context):
        r = self.r
        uniform, inner = self.split(context)
        inner.loops = ("" if inner.region is not context.region else context.loops) + "s"
        cases = r.between(2, 5)
        default = r.below(cases + 1)
        lines = ["switch ((%s) %% %uu) {" % (self.e.u32(context, 2, uniform), cases + r.below(3))]
        for k in range(cases):
            lines.append("default:" if k == default else "case %u:" % k)
            lines += self.block(inner, r.between(1, 2))
            if r.chance(70):
                lines.append("break;")
        return lines + ["}"]

    def leave_loop(self, context):
        if not context.loops:
            return self.assign(context)
        word = "break" if "l" not in context.loops or self.r.chance(60) else "continue"
        return ["if (%s) %s;" % (self.e.condition(context, 1, context.uniform), word)]

    def tangle(self, context):
        """Nested constructs with many labels and jumps: graphs that are not reducible."""
        _, inner = self.split(context)
        inner.tangled = True
        if inner.level == "T" or self.r.chance(70):
            return self.block(inner, self.r.between(2, 5))
        return self.block(self.lower(context), 3)

    def one_lane(self, context):
        """A part for one lane, where the active mask is defined."""
        inner = self.lower(context)
        target = self.r.pick([n for n, t in self.f.variables if t == "u32"])
        return ["if (lane == %uu) {" % self.r.below(32), "%s += ACTIVE() == 1u << lane ? 5u : 0u;" % target
                ] + self.block(inner, 1) + ["}"]

    def part(self, context):
        """A part of level T on its own, without a condition."""
        inner = self.lower(context)
        inner.tangled = self.r.chance(50)
        return self.block(inner, self.r.between(2, 4))

    def leave(self, context):
        return ["if (%s) %s" % (self.e.condition(context, 2), self.f.leave(self, context))]

    def stride_loop(self, context):
        """Elements of the input by all threads of the grid in turn."""
        counter = self.f.counter()
        target = self.r.pick([n for n, t in self.f.variables if t == "u32"])
        inner = self.lower(context)
        step = self.r.pick(["nt", "32u", "nt * grid_blocks()"])
        return ["for (%s = %s; %s < %uu && FUEL(%s); %s += %s) {"
                % (counter, self.r.pick(["tid", "gt", "lane"]), counter, self.r.between(40, 600), inner.fuel, counter, step),
                "%s = %s * 31u + A.in[%s & 1023u];" % (target, target, counter)] + self.block(inner, 1) + ["}"]

    # Calls ----------------------------------------------------------------------------------------------

    def target(self):
        """A variable that takes a word, as the beginning of an assignment."""
        name, type_ = self.r.pick([v for v in self.f.variables if v[1] in ("u32", "s32", "u64", "u16")])
        return "%s %s " % (name, self.r.pick(["=", "+=", "^="] if type_ in ("u32", "u64") else ["="]))

    def convert(self, target, call):
        kind = dict(self.f.variables)[target.split(" ")[0]]
        return target + ("(%s)%s;" % (kind, call) if kind != "u32" else call + ";")

    def call(self, context):
        callee = self.r.pick(self.f.callable("T"))
        return [self.convert(self.target(), "%s(%s)" % (callee.name, callee.arguments(self.e, context)))]

    def pointer_call(self, context):
        r = self.r
        names = self.f.callable("T")
        one, other = r.pick(names), r.pick(names)
        pointer = self.f.pointer(one)
        arguments = one.arguments(self.e, context)
        choice = self.e.condition(context, 2, context.uniform if r.chance(40) else None)
        return ["%s = (%s) ? %s : %s;" % (pointer, choice, one.name, other.name),
                self.convert(self.target(), "%s(%s)" % (pointer, arguments))]

    def virtual_call(self, context):
        r = self.r
        one, other, argument_text = self.f.virtual(self.e, context)
        choice = self.e.condition(context, 2, context.uniform if r.chance(40) else None)
        base = self.f.base_pointer()
        return ["%s = (%s) ? (%s *)&%s : (%s *)&%s;" % (base, choice, self.f.base, one, self.f.base, other),
                self.convert(self.target(), "%s->work(%s)" % (base, argument_text))]

    def call_together(self, context):
        callee = self.r.pick(self.f.callable("M"))
        if not context.apart and callee.apart:
            return self.warp_operation(context)
        mask = context.mask or "whole"
        uniform = self.e.u32(context, 1, context.uniform)
        return [self.convert(self.target(), "%s(A, %s, %s, %s, %uu)" % (callee.name, mask, uniform,
                                                                     self.e.u32(context, 1), self.r.below(4)))]

    def call_block(self, context):
        callee, target = self.r.pick(self.f.callable("B")), self.target()
        shared = "".join(", " + name for name, _ in self.f.shared)
        arguments = "(A, %s, %s, %uu%s)" % (self.e.u32(context, 1, "B"), self.e.u32(context, 1), self.r.below(3), shared)
        if not self.f.kernel.calls or self.r.chance(40):
            return [self.convert(target, callee.name + arguments)]
        pointer, other = self.f.block_pointer(callee), self.r.pick(self.f.callable("B"))
        return ["%s = (%s) ? %s : %s;" % (pointer, self.e.condition(context, 2, "B"), callee.name, other.name),
                self.convert(target, pointer + arguments)]

    # Warp operations ------------------------------------------------------------------------------------

    def warp_operation(self, context):
        r, e, f = self.r, self.e, self.f
        mask = context.mask or r.pick(["FULL", "FULL", "whole"])
        kind = r.below(12)
        if kind < 5:
            return self.shuffle(context, mask)
        if kind == 5:
            return ["WARP_SYNC(%s);" % mask]
        if kind == 6:
            key = r.pick(["(%s) & 3u" % e.u32(context, 1), "(%s) %% 5u" % e.u32(context, 1),
                          "%s & 7ull" % e.u64(context, 1), "bits32(%s)" % e.f32(context, 1)])
            return [self.convert(self.target(), "MATCH(%s, %s)" % (mask, key))]
        if kind == 7:
            return [self.convert(self.target(), "MATCH_ALL(%s, (%s) & 1u)" % (mask, e.u32(context, 2)))]
        # The rest give all lanes of the mask the same.
        target = self.target()
        if context.level == "M" and context.own_uniforms and r.chance(60):
            target = r.pick(context.own_uniforms) + " = "
            if kind == 8:
                return ["%sSHUFFLE(%s, %s, %s, 32);" % (target, mask, e.u32(context, 2), e.u32(context, 1, "M")
                                                         if context.apart else "lane_of(%s, %s)" % (mask, e.u32(context, 1, "M")))]
            return [target + self.reduction(context, mask) + ";"]
        return [self.convert(target, self.reduction(context, mask))]

    def reduction(self, context, mask):
        name = self.r.pick(["BALLOT", "BALLOT", "ANY", "ALL", "SUM", "MIN", "MAX", "SMIN", "SMAX", "BITS_AND", "BITS_OR",
                            "BITS_XOR"])
        if name in ("BALLOT", "ANY", "ALL"):
            return "%s(%s, %s)" % (name, mask, self.e.condition(context, 2))
        return "%s(%s, %s)" % (name, mask, self.e.u32(context, 2))

    def shuffle(self, context, mask):
        r, e = self.r, self.e
        names = [v for v in self.f.variables if v[1] in WARP_TYPES]
        name, type_ = r.pick(names)
        value = "(%s)(%s)" % (type_, e.value(context, type_, 2))
        width = r.pick([32, 32, 32, 16, 8, 4, 2])
        if not context.apart:
            return ["%s = SHUFFLE(%s, %s, lane_of(%s, %s), 32);" % (name, mask, value, mask, e.u32(context, 1))]
        word = r.pick(["SHUFFLE", "SHUFFLE", "SHUFFLE_UP", "SHUFFLE_DOWN", "SHUFFLE_XOR"])
        lane = r.pick([e.u32(context, 1), "%uu" % r.below(32), "lane + 1u", e.u32(context, 1, context.uniform)])
        return ["%s = %s(%s, %s, %s, %u);" % (name, word, mask, value, lane, width)]

    def lanes(self, context):
        """A part for the lanes of a warp that a condition or a value chooses, who stay together there."""
        r, f = self.r, self.f
        parent = context.mask or r.pick(["FULL", "whole"])
        mask, fuel, uniform = f.mask_variable(), f.fuel_variable(), f.uniform_variable()
        inner = context.inner(level="M", region=Region(context.region), fuel=fuel, mask=mask, loops="",
                              own_uniforms=[uniform], uniforms=context.uniforms + [uniform], tangled=r.chance(20))
        enter = ["%s = %uu;" % (fuel, r.between(2, 8))]
        kind = r.below(5 if context.level == "B" else 4)
        if kind == 4:  # some of the warps
            lines = ["%s = whole;" % mask, "%s = warp;" % uniform] + enter
            lines += ["if (((%s) + warp) %s) {" % (self.e.u32(context, 1, "B"), r.pick(["& 1u", "& 2u", "% 3u == 1u"]))]
            return lines + self.block(inner, r.between(1, 4)) + ["}"]
        if kind == 0:  # all lanes, in groups of one value each
            inner.apart = False
            key = "(%s) %s" % (self.e.u32(context, 1), r.pick(["& 1u", "& 3u", "% 3u", "% 5u"]))
            lines = ["%s = MATCH(%s, %s);" % (mask, parent, key)] + enter
            lines += ["%s = SHUFFLE(%s, %s, lane_of(%s, 0u), 32);" % (uniform, mask, self.e.u32(context, 1), mask), "{"]
            return lines + self.block(inner, r.between(1, 4)) + ["}"]
        condition = f.condition_variable()
        start = self.e.u32(context, 1, "M" if context.level == "M" else "B")
        lines = ["%s = %s;" % (condition, self.e.condition(context, 2)),
                 "%s = BALLOT(%s, %s);" % (mask, parent, condition)] + enter
        if kind < 3:
            return lines + ["%s = %s;" % (uniform, start), "if (%s) {" % condition] + self.block(inner, r.between(1, 4)) + ["}"]
        lines += ["%s = %s;" % (uniform, start), "if (%s) {" % condition] + self.block(inner, r.between(1, 3))
        lines += ["} else {", "%s = BALLOT(%s & ~%s, true);" % (mask, parent, mask)]
        other = context.inner(level="M", region=Region(context.region), fuel=fuel, mask=mask, loops="",
                              own_uniforms=[uniform], uniforms=context.uniforms + [uniform], tangled=r.chance(20))
        return lines + self.block(other, r.between(1, 3)) + ["}"]

    def warp_exchange(self, context):
        """Values of other lanes by shared memory."""
        free = [s for s in self.f.shared if s not in context.readable]
        if not free:
            return self.warp_operation(context)
        mask = context.mask or self.r.pick(["FULL", "whole"])
        name, type_ = self.r.pick(free)
        target = self.r.pick([n for n, t in self.f.variables if t == "u32"])
        lines = ["%s[tid] = %s;" % (name, self.e.value(context, type_, 2)), ("keep", "WARP_SYNC(%s);" % mask),
                 "%s = %s;" % (target, AS_U32[type_][0].format(
                     "%s[(tid & ~31u) + lane_of(%s, %s)]" % (name, context.mask or "whole", self.e.u32(context, 1)))),
                 ("keep", "WARP_SYNC(%s);" % mask)]
        return lines

    # Barriers and shared memory -------------------------------------------------------------------------

    def barrier(self, context):
        r, e = self.r, self.e
        kind = r.below(5)
        if kind < 2:
            return ["SYNC();"]
        name = r.pick(["SYNC_COUNT", "SYNC_AND", "SYNC_OR"])
        call = "%s(%s)" % (name, e.condition(context, 2))
        if self.f.block_variables and r.chance(50):
            return ["%s = %s;" % (r.pick(self.f.block_variables), call)]
        return [self.convert(self.target(), call)]

    def exchange(self, context):
        """Each thread writes its element of a shared array, then all read any element."""
        free = [s for s in self.f.shared if s not in context.readable]
        if not free:
            return self.barrier(context)
        array = self.r.pick(free)
        name, type_ = array
        inner = context.inner(region=Region(context.region), loops="", readable=context.readable + [array], phase=True,
                              tangled=self.r.chance(15))
        target = self.r.pick([n for n, t in self.f.variables if t == "u32"])
        read = AS_U32[type_][0].format("%s[(%s) %% nt]" % (name, self.e.u32(context, 1)))
        return (["%s[tid] = %s;" % (name, self.e.value(context, type_, 2)), ("keep", "SYNC();"), "{",
                 "%s ^= %s;" % (target, read)] + self.block(inner, self.r.between(0, 2)) + ["}", ("keep", "SYNC();")])

    def shared_sums(self, context):
        """Sums, maxima and the like in shared memory by all threads."""
        if not self.f.has_shared_sums:
            return self.barrier(context)
        inner = context.inner(level="T", region=Region(context.region), fuel="fuel", loops="", phase=True)
        inner.depth = min(inner.depth, 1)
        update = []
        for _ in range(self.r.between(1, 3)):
            name = self.r.pick(["add", "xor", "max", "or"])
            index = {"add": 0, "xor": 4, "max": 8, "or": 12}[name]
            update.append("atomic_%s(&shared_sums[%uu + (%s & 3u)], %s);" % (name, index, self.e.u32(context, 1),
                                                                          self.e.u32(context, 2)))
        lines = [("keep", "SYNC();"), "if (%s) {" % self.e.condition(context, 2)] + update + self.block(inner, self.r.below(2)) + ["}"]
        target = self.r.pick([n for n, t in self.f.variables if t == "u32"])
        return lines + [("keep", "SYNC();"), "%s += shared_sums[(%s) & 15u];" % (target, self.e.u32(context, 1)),
                        ("keep", "SYNC();")]
