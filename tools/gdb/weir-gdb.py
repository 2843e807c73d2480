# Commands of gdb for CUDA kernels that run on Weir: `source weir-gdb.py`, then `help weir`.
#
# A thread of the process runs one block at a time, and of that one warp: gdb's thread is the focus,
# its frame of the kernel has the block, the warp and the source's variables for one lane of the warp
# (docs/debugging.md). These commands find such frames and go on to others.
import gdb

LANES = 32


def kernel_frame():
    """The frame of a kernel in the selected thread, the innermost one from the selected frame on."""
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        raise gdb.GdbError("no thread is selected") from None
    while frame is not None:
        try:
            frame.read_var("gridDim")
            frame.read_var("warp")
            return frame
        except ValueError:
            frame = frame.older()
    return None


def focus():
    frame = kernel_frame()
    if frame is None:
        raise gdb.GdbError("this thread runs no kernel here (weir blocks lists those that do)")
    return frame


def triple(value):
    return tuple(int(value[d]) for d in "xyz")


def text(numbers):
    return "(%d,%d,%d)" % numbers


def place(frame):
    """Kernel, block and warp of a frame, for people."""
    line = frame.find_sal()
    where = "%s:%d" % (line.symtab.filename, line.line) if line.symtab is not None else "?"
    return "%s block %s of %s, warp %d, at %s" % (
        frame.name(),
        text(triple(frame.read_var("blockIdx"))),
        text(triple(frame.read_var("gridDim"))),
        int(frame.read_var("warp")),
        where,
    )


def thread_of_lane(frame, lane):
    """threadIdx of a lane of the frame's warp, None when the block has no such thread."""
    x, y, z = triple(frame.read_var("blockDim"))
    number = int(frame.read_var("warp")) * LANES + lane
    return (number % x, number // x % y, number // x // y) if number < x * y * z else None


def numbers(argument, most):
    try:
        found = [int(word) for word in argument.replace(",", " ").split()]
    except ValueError:
        found = []
    if not 1 <= len(found) <= most or min(found) < 0:
        raise gdb.GdbError("wanted: 1 to %d numbers" % most if most > 1 else "wanted: a number")
    return found + [0] * (most - len(found))


def go_on_to(condition):
    """Runs until the focus's kernel is in this line again and the condition holds there. Other
    breakpoints do not stop it meanwhile."""
    frame = focus()
    line = frame.find_sal()
    if line.symtab is None:
        raise gdb.GdbError("no source line is known here")
    others = [b for b in gdb.breakpoints() if b.enabled]
    stop = gdb.Breakpoint("%s:%d" % (line.symtab.fullname(), line.line), internal=True)
    stop.condition = condition
    for other in others:
        other.enabled = False
    try:
        gdb.execute("continue")
    finally:
        if stop.is_valid():
            stop.delete()
        for other in others:
            if other.is_valid():
                other.enabled = True


class Weir(gdb.Command):
    """Commands for kernels on Weir: weir where, blocks, block, warp, lane."""

    def __init__(self):
        super().__init__("weir", gdb.COMMAND_USER, prefix=True)


class Where(gdb.Command):
    """weir where: the kernel, block and warp that the selected thread runs, and its threads."""

    def __init__(self):
        super().__init__("weir where", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        frame = focus()
        lanes = [lane for lane in range(LANES) if thread_of_lane(frame, lane) is not None]
        print(place(frame))
        if lanes:
            print("threads %s to %s" % (text(thread_of_lane(frame, lanes[0])),
                                        text(thread_of_lane(frame, lanes[-1]))))


class Blocks(gdb.Command):
    """weir blocks: all blocks that run at this moment, with the gdb thread that runs each."""

    def __init__(self):
        super().__init__("weir blocks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        selected, any_block = gdb.selected_thread(), False
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
            thread.switch()
            frame = kernel_frame()
            if frame is not None:
                any_block = True
                print("%s thread %d: %s" % ("*" if thread == selected else " ", thread.num, place(frame)))
        if selected is not None:
            selected.switch()
        if not any_block:
            print("no kernel runs")


class Block(gdb.Command):
    """weir block X[,Y[,Z]]: selects the thread that runs this block. If none does, the program goes on
until the block comes to the line at which the selected thread is."""

    def __init__(self):
        super().__init__("weir block", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        wanted = tuple(numbers(argument, 3))
        before = gdb.selected_thread()
        if before is None:
            raise gdb.GdbError("no program runs")
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            frame = kernel_frame()
            if frame is not None and triple(frame.read_var("blockIdx")) == wanted:
                frame.select()
                print(place(frame))
                return
        before.switch()
        count = triple(focus().read_var("gridDim"))
        if any(at >= most for at, most in zip(wanted, count)):
            raise gdb.GdbError("the grid has %s blocks" % text(count))
        go_on_to("blockIdx.x == %d && blockIdx.y == %d && blockIdx.z == %d" % wanted)


class Warp(gdb.Command):
    """weir warp N: goes on until warp N of the same block comes to the line at which the selected thread
is. Warps of a block run one after the other: those that were there before do not come again."""

    def __init__(self):
        super().__init__("weir warp", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        block = triple(focus().read_var("blockIdx"))
        go_on_to("blockIdx.x == %d && blockIdx.y == %d && blockIdx.z == %d && warp == %d"
                 % (block + (numbers(argument, 1)[0],)))


class Lane(gdb.Command):
    """weir lane N: the thread that lane N of the selected warp is. Variables of the block's kernel are this
lane's from now on."""

    def __init__(self):
        super().__init__("weir lane", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        frame, lane = focus(), numbers(argument, 1)[0]
        thread = thread_of_lane(frame, lane) if lane < LANES else None
        if thread is None:
            raise gdb.GdbError("the warp has no lane %d" % lane)
        frame.select()
        gdb.execute("set variable lane = %d" % lane)
        print("lane %d is thread %s of block %s" % (lane, text(thread),
                                                    text(triple(frame.read_var("blockIdx")))))


for command in (Weir, Where, Blocks, Block, Warp, Lane):
    command()
