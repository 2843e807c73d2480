"""Expressions of generated programs: without side effects, without undefined behaviour.

An expression has one of the C types u32, s32, u64, s64, f32 and f64, or is a condition; variables of narrower
types are converted where they are read. A uniform expression has one value for all threads that evaluate it
together: those of the block ("B"), or the lanes of the mask that is in force ("M").
"""

CONSTANTS32 = ["0u", "1u", "2u", "3u", "5u", "7u", "8u", "15u", "16u", "31u", "32u", "33u", "63u", "100u", "127u",
               "128u", "255u", "256u", "0x7fffu", "0x8000u", "0xffffu", "0x10000u", "0x7fffffffu", "0x80000000u",
               "0xfffffffeu", "0xffffffffu", "0x55555555u", "0x9e3779b9u", "1664525u"]
CONSTANTSF = ["0.0f", "1.0f", "-1.0f", "0.5f", "3.0f", "-2.5f", "1.0e-3f", "16777216.0f", "1.0e30f", "-0.0f",
              "1.17549435e-38f", "0.1f", "65504.0f"]
CONSTANTSD = ["0.0", "1.0", "-1.0", "0.5", "3.0", "-2.5", "1.0e-3", "9007199254740992.0", "1.0e300", "0.1",
              "2.2250738585072014e-308"]

# How a variable of each type is read as u32 and as u64.
AS_U32 = {
    "u8": ["(u32){}"], "s8": ["(u32){}", "(u32)(s32){}"], "u16": ["(u32){}"], "s16": ["(u32){}"], "u32": ["{}"],
    "s32": ["(u32){}"], "u64": ["(u32){}", "(u32)({} >> 32)"], "s64": ["(u32){}", "(u32)({} >> 17)"],
    "bool": ["(u32){}"], "f32": ["bits32({})", "to_u32({})", "(u32)to_u8({})", "(u32)(s32)to_s16({})"],
    "f64": ["(u32)bits64({})", "(u32)(bits64({}) >> 32)", "(u32)to_s32({})"],
    "half": ["(u32){}", "to_u32(half_value({}))"],
}
AS_U64 = {
    "u8": ["(u64){}"], "s8": ["(u64)(s64){}"], "u16": ["(u64){}"], "s16": ["(u64){}"], "u32": ["(u64){}"],
    "s32": ["(u64){}", "(u64)(s64){}"], "u64": ["{}"], "s64": ["(u64){}"], "bool": ["(u64){}"],
    "f32": ["to_u64({})", "(u64)bits32({})"], "f64": ["bits64({})", "(u64)to_s64({})"], "half": ["(u64){}"],
}
AS_F32 = {
    "u8": ["(f32){}"], "s8": ["(f32){}"], "u16": ["(f32){}"], "s16": ["(f32){}"], "u32": ["(f32){}"],
    "s32": ["(f32){}"], "u64": ["(f32){}"], "s64": ["(f32){}"], "bool": ["({} ? 1.5f : -0.25f)"], "f32": ["{}"],
    "f64": ["(f32){}"], "half": ["half_value({})"],
}
AS_F64 = dict(AS_F32, bool=["({} ? 1.25 : -3.0)"], f32=["(f64){}"], f64=["{}"], half=["(f64)half_value({})"])
for _type in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
    AS_F64[_type] = ["(f64){}"]

TYPES = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "bool", "f32", "f64", "half"]
TYPE_WEIGHTS = [(1, "u8"), (1, "s8"), (1, "u16"), (1, "s16"), (5, "u32"), (2, "s32"), (2, "u64"), (1, "s64"),
                (1, "bool"), (2, "f32"), (1, "f64"), (1, "half")]


def c_type(kind):
    """The C type of a variable."""
    return "u16" if kind == "half" else kind


class Expressions:
    """Makes expressions for one function. `function` knows the variables, `context` where the expression
    stands and so what may be read."""

    def __init__(self, choices, function):
        self.r = choices
        self.f = function

    def constant(self):
        if self.r.chance(15):
            return "%du" % self.r.below(1 << 32)
        return self.r.pick(CONSTANTS32)

    # Leaves ---------------------------------------------------------------------------------------------

    def leaf32(self, context, uniform):
        r, f = self.r, self.f
        if uniform:
            names = list(f.block_variables) + f.block_values
            if uniform == "M":
                names = context.uniforms * 3 + names + ["WARP_OF"]
            kind = r.below(10)
            if kind < 6:
                name = r.pick(names)
                return "warp" if name == "WARP_OF" else name
            if kind < 7:
                return "A.in[%s & %uu]" % (r.pick(names).replace("WARP_OF", "warp"), 1023)
            if kind < 8 and context.readable and uniform == "B":
                name, type_ = r.pick(context.readable)
                return AS_U32[type_][0].format("%s[%uu %% nt]" % (name, r.below(64)))
            return self.constant()
        kind = r.below(20)
        if kind < 9:
            name, type_ = r.pick(f.variables)
            return r.pick(AS_U32[type_]).format(name)
        if kind < 11:
            return r.pick(["tid", "lane", "gt", "warp", "tid", "THREAD_X", "(THREAD_Y + THREAD_Z)"])
        if kind < 12:
            return r.pick(list(f.block_variables) + f.block_values + context.uniforms)
        if kind < 14:
            return "A.in[(%s) & 1023u]" % self.u32(context, 1)
        if kind < 15 and f.arrays:
            name, size = r.pick(f.arrays)
            return "%s[(%s) & %uu]" % (name, self.u32(context, 0), size - 1)
        if kind < 16 and context.readable:
            name, type_ = r.pick(context.readable)
            return r.pick(AS_U32[type_]).format("%s[(%s) %% nt]" % (name, self.u32(context, 0)))
        if kind < 17 and f.shared:
            name, type_ = r.pick(f.shared)
            return r.pick(AS_U32[type_]).format("%s[tid]" % name)
        if kind < 18 and f.fields:
            name, type_ = r.pick(f.fields)
            return r.pick(AS_U32[type_]).format(name)
        return self.constant()

    # Integers -------------------------------------------------------------------------------------------

    def u32(self, context, depth, uniform=None):
        r = self.r
        if depth <= 0 or r.chance(20):
            return self.leaf32(context, uniform)
        sub = lambda: self.u32(context, depth - 1, uniform)
        kind = r.below(22)
        if kind < 3:
            return "(%s + %s)" % (sub(), sub())
        if kind < 5:
            return "(%s - %s)" % (sub(), sub())
        if kind < 7:
            return "(%s * %s)" % (sub(), sub())
        if kind < 10:
            return "(%s %s %s)" % (sub(), r.pick(["&", "|", "^"]), sub())
        if kind == 10:
            return "(%s %s (%s & 31u))" % (sub(), r.pick(["<<", ">>"]), sub())
        if kind == 11:
            return "(%s %s (%s | 1u))" % (sub(), r.pick(["/", "%"]), sub())
        if kind == 12:
            return "(%s ? %s : %s)" % (self.condition(context, 1, uniform), sub(), sub())
        if kind == 13:
            return "(u32)(%s)" % self.condition(context, 1, uniform)
        if kind == 14:
            return "%s(%s)" % (r.pick(["popcount", "leading_zeros", "first_set", "reversed", "~", "-"]), sub())
        if kind == 15:
            return "product_high(%s, %s)" % (sub(), sub())
        if kind == 16:
            return "bytes_of(%s, %s, %s)" % (sub(), sub(), sub())
        if kind == 17:
            return "(u32)%s" % self.s32(context, depth - 1, uniform)
        if kind == 18:
            return "(u32)(%s >> %u)" % (self.u64(context, depth - 1, uniform), r.below(33))
        if kind == 19:
            return "(u32)(%s)(%s)" % (r.pick(["u8", "s8", "u16", "s16"]), sub())
        if kind == 20 and not uniform:
            return "bits32(%s)" % self.f32(context, depth - 1)
        return "(%s + %s)" % (sub(), self.constant())

    def s32(self, context, depth, uniform=None):
        r = self.r
        a, b = self.u32(context, depth - 1, uniform), self.u32(context, depth - 1, uniform)
        kind = r.below(6)
        if kind == 0:
            return "quotient((s32)(%s), (s32)(%s))" % (a, b)
        if kind == 1:
            return "remainder_of((s32)(%s), (s32)(%s))" % (a, b)
        if kind == 2:
            return "((s32)(%s) >> (%s & 31u))" % (a, b)
        if kind == 3:
            return "((s32)(%s) < (s32)(%s) ? -1 : 1)" % (a, b)
        return "((s32)(%s))" % a

    def u64(self, context, depth, uniform=None):
        r, f = self.r, self.f
        if depth <= 0 or r.chance(25):
            if not uniform and r.chance(60):
                name, type_ = r.pick(f.variables)
                return "(%s)" % r.pick(AS_U64[type_]).format(name)
            return r.pick(["((u64)%s)", "((u64)%s << 32)", "((u64)%s * 0x100000001ull)", "(A.q + %s)"]) % (
                self.leaf32(context, uniform))
        sub = lambda: self.u64(context, depth - 1, uniform)
        kind = r.below(9)
        if kind < 4:
            return "(%s %s %s)" % (sub(), r.pick(["+", "-", "*", "^", "&", "|"]), sub())
        if kind == 4:
            return "(%s %s (%s & 63u))" % (sub(), r.pick(["<<", ">>"]), sub())
        if kind == 5:
            return "(%s %s (%s | 1u))" % (sub(), r.pick(["/", "%"]), sub())
        if kind == 6:
            return "(u64)%s((s64)%s, (s64)%s)" % (r.pick(["quotient", "remainder_of"]), sub(), sub())
        if kind == 7:
            return "(u64)((s64)%s >> (%s & 63u))" % (sub(), sub())
        return "(%s ? %s : %s)" % (self.condition(context, 1, uniform), sub(), sub())

    # Floating point -------------------------------------------------------------------------------------

    def float_leaf(self, context, table, constants, cast):
        r, f = self.r, self.f
        kind = r.below(10)
        if kind < 6:
            name, type_ = r.pick(f.variables)
            return "(%s)" % r.pick(table[type_]).format(name)
        if kind < 8:
            return "(%s)(%s%s)" % (cast, r.pick(["", "(s32)", "(s16)", "(u8)"]), self.u32(context, 0))
        return r.pick(constants)

    def f32(self, context, depth):
        r = self.r
        if depth <= 0 or r.chance(25):
            return self.float_leaf(context, AS_F32, CONSTANTSF + ["A.f"], "f32")
        sub = lambda: self.f32(context, depth - 1)
        kind = r.below(9)
        if kind < 5:
            return "(%s %s %s)" % (sub(), r.pick(["+", "-", "*"]), sub())
        if kind == 5:
            return "(%s / %s)" % (sub(), sub())
        if kind == 6:
            return "fused(%s, %s, %s)" % (sub(), sub(), sub())
        if kind == 7:
            return "root(%s)" % sub()
        return "(%s ? %s : %s)" % (self.condition(context, 1), sub(), sub())

    def f64(self, context, depth):
        r = self.r
        if depth <= 0 or r.chance(25):
            return self.float_leaf(context, AS_F64, CONSTANTSD + ["A.d"], "f64")
        sub = lambda: self.f64(context, depth - 1)
        kind = r.below(9)
        if kind < 5:
            return "(%s %s %s)" % (sub(), r.pick(["+", "-", "*"]), sub())
        if kind == 5:
            return "(%s / %s)" % (sub(), sub())
        if kind == 6:
            return "fused(%s, %s, %s)" % (sub(), sub(), sub())
        if kind == 7:
            return "root(%s)" % sub()
        return "(f64)%s" % self.f32(context, depth - 1)

    def half(self, context, depth):
        r = self.r
        kind = r.below(4)
        if depth <= 0 or kind == 0:
            return "half_from((f32)(s16)(%s))" % self.u32(context, 0)
        if kind == 1:
            return "half_from(%s)" % self.f32(context, depth - 1)
        return "%s(%s, %s)" % (r.pick(["half_add", "half_mul"]), self.half(context, depth - 1),
                               self.half(context, depth - 1))

    # Conditions -----------------------------------------------------------------------------------------

    def condition(self, context, depth, uniform=None):
        """A condition of threads that evaluate it together: uniform where that is asked for."""
        r, f = self.r, self.f
        if not uniform:
            kind = r.below(12)
            if kind == 0:
                return "lane %s %uu" % (r.pick(["<", ">", "==", "!="]), r.below(33))
            if kind == 1:
                return "tid %s %uu" % (r.pick(["<", ">", "!="]), r.below(70))
            if kind == 2:
                return "%s %s %s" % (self.f32(context, depth - 1), r.pick(["<", ">", "<=", ">=", "==", "!="]),
                                     self.f32(context, depth - 1))
            if kind == 3:
                return "(s32)(%s) %s (s32)(%s)" % (self.u32(context, depth - 1), r.pick(["<", ">", "<=", ">="]),
                                                   self.u32(context, depth - 1))
            if kind == 4:
                names = [n for n, t in f.variables if t == "bool"]
                if names:
                    return r.pick(["", "!"]) + r.pick(names)
            if kind == 5:
                return "%s %s %s" % (self.u64(context, depth - 1), r.pick(["<", ">", "=="]),
                                     self.u64(context, depth - 1))
        kind = r.below(10)
        if kind < 4:
            return "((%s) & %s) %s 0u" % (self.u32(context, depth - 1, uniform),
                                          r.pick(["1u", "2u", "3u", "4u", "8u", "0x15u"]), r.pick(["!=", "=="]))
        if kind < 8 or depth <= 0:
            return "%s %s %s" % (self.u32(context, depth - 1, uniform), r.pick(["<", ">", "<=", ">=", "==", "!="]),
                                 self.u32(context, depth - 1, uniform))
        if kind == 8:
            return "((%s) %s (%s))" % (self.condition(context, depth - 1, uniform), r.pick(["&&", "||"]),
                                       self.condition(context, depth - 1, uniform))
        return "!(%s)" % self.condition(context, depth - 1, uniform)

    def value(self, context, type_, depth):
        """An expression for a variable of any type."""
        if type_ in ("u8", "s8", "u16", "s16", "s32"):
            return "(%s)(%s)" % (type_, self.u32(context, depth))
        if type_ == "u32":
            return self.u32(context, depth)
        if type_ == "u64":
            return self.u64(context, depth)
        if type_ == "s64":
            return "(s64)%s" % self.u64(context, depth)
        if type_ == "bool":
            return "%s" % self.condition(context, depth)
        if type_ == "f32":
            return self.f32(context, depth)
        if type_ == "f64":
            return self.f64(context, depth)
        return self.half(context, depth)
