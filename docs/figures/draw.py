#!/usr/bin/env python3
"""Draws the figures of the documents as SVG: layers, launch, memory and warps.

    python3 docs/figures/draw.py [DIRECTORY]        default: beside this file

A figure is a list of boxes, arrows and labels at given positions. Nothing but the standard library is
needed; the files are committed, so that readers need not run this.
"""
import pathlib
import sys
from xml.sax.saxutils import escape

INK, FAINT, PAPER = "#1f2933", "#6b7785", "#ffffff"
HOST, CORE, RUN, MEM, TOOL = "#e3edf8", "#eef1f4", "#e5f3e7", "#fbf0da", "#f4e6f2"
FONT = "font-family='Helvetica, Arial, sans-serif'"
MONO = "font-family='DejaVu Sans Mono, Menlo, monospace'"


class Figure:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.items = [f"<title>{escape(title)}</title>"]

    def box(self, x, y, w, h, title, lines=(), fill=CORE, dashed=False, top=False, size=13):
        """A box; its title centred, or at the top left for boxes that hold others (top)."""
        dash = " stroke-dasharray='5 4'" if dashed else ""
        self.items.append(f"<rect x='{x}' y='{y}' width='{w}' height='{h}' rx='5' fill='{fill}' "
                          f"stroke='{FAINT}'{dash}/>")
        if top:
            self.text(x + 10, y + 18, title, bold=True, anchor="start", size=size)
            for n, line in enumerate(lines):
                self.text(x + 10, y + 35 + 15 * n, line, anchor="start", size=11, color=FAINT)
            return
        first = y + h / 2 + 4.5 - 7.5 * len(lines)
        self.text(x + w / 2, first, title, bold=True, size=size)
        for n, line in enumerate(lines):
            self.text(x + w / 2, first + 15 * (n + 1), line, size=11, color=FAINT)

    def text(self, x, y, words, bold=False, anchor="middle", size=12, color=INK, mono=False):
        weight = " font-weight='600'" if bold else ""
        self.items.append(f"<text x='{x}' y='{y}' text-anchor='{anchor}' font-size='{size}' "
                          f"fill='{color}'{weight} {MONO if mono else FONT}>{escape(words)}</text>")

    def arrow(self, *points, label=None, at=None, dashed=False, both=False, anchor="start"):
        """A line through the points with a head at its end; the label stands at `at`."""
        path = " ".join(f"{'ML'[n > 0]}{x},{y}" for n, (x, y) in enumerate(points))
        dash = " stroke-dasharray='4 4'" if dashed else ""
        start = " marker-start='url(#tail)'" if both else ""
        self.items.append(f"<path d='{path}' fill='none' stroke='{INK}' stroke-width='1.3'{dash} "
                          f"marker-end='url(#head)'{start}/>")
        if label:
            self.text(at[0], at[1], label, size=11, anchor=anchor)

    def line(self, x1, y1, x2, y2):
        self.items.append(f"<path d='M{x1},{y1} L{x2},{y2}' stroke='{FAINT}' "
                          "stroke-dasharray='2 4'/>")

    def save(self, name):
        head = (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
                f"width='{self.width}' height='{self.height}'>\n"
                "<defs><marker id='head' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' "
                f"markerHeight='8' orient='auto'><path d='M0,0 L8,4 L0,8 z' fill='{INK}'/></marker>"
                "<marker id='tail' viewBox='0 0 8 8' refX='1' refY='4' markerWidth='8' "
                f"markerHeight='8' orient='auto'><path d='M8,0 L0,4 L8,8 z' fill='{INK}'/></marker>"
                "</defs>\n"
                f"<rect width='{self.width}' height='{self.height}' fill='{PAPER}'/>\n")
        directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
        path = directory / f"{name}.svg"
        path.write_text(head + "\n".join(self.items) + "\n</svg>\n", encoding="utf-8")


def layers():
    f = Figure(880, 590, "The layers of Weir")
    f.box(20, 16, 120, 44, "program.cu", fill=PAPER)
    f.arrow((140, 38), (178, 38))
    f.box(180, 16, 150, 44, "weircc", ["tools/weircc"], fill=TOOL)
    f.arrow((330, 38), (368, 38))
    f.box(370, 16, 230, 44, "program", ["host code + PTX in a fat binary"], fill=PAPER)
    f.box(640, 16, 220, 44, "libsyncedmem", ["src/syncedmem"], fill=HOST)
    f.arrow((485, 60), (485, 92), label="cuda*()", at=(494, 81))
    f.arrow((750, 60), (750, 92), label="cuda*()", at=(759, 81))
    f.box(20, 94, 840, 44, "libcudart", ["src/runtime: the runtime API over the driver API alone; src/gpu: its pools on a GPU"], fill=HOST)
    f.arrow((330, 138), (330, 170), label="cu*(): any libcuda.so.1 will do", at=(339, 159))

    f.box(20, 172, 600, 400, "libcuda.so.1", fill=PAPER, dashed=True, top=True)
    f.box(36, 202, 568, 64, "src/driver", [
        "handles, argument checks, modules, graphs, capture, faults:",
        "context  module  launch  stream  graph  memory  pool  texture  error  names"], fill=HOST)
    f.box(36, 282, 184, 64, "src/device", ["streams, events, commands,", "scheduler, workers"], fill=RUN)
    f.box(236, 282, 176, 64, "src/pool", ["stream-ordered", "allocator"], fill=MEM)
    f.box(428, 282, 176, 64, "src/loader", ["cache, ELF loader,", "tier-up, line tables"], fill=CORE)
    f.box(36, 362, 184, 64, "src/exec", ["runs the blocks of a grid,", "catches faults"], fill=RUN)
    f.box(236, 362, 176, 64, "src/memory", ["address space, files,", "protection"], fill=MEM)
    f.box(428, 362, 176, 64, "src/texture", ["fetches and stores", "elements of textures"], fill=RUN)
    f.box(36, 442, 376, 50, "src/abi", ["the contract between compiled kernels and src/exec"], fill=CORE)
    f.box(428, 442, 176, 50, "src/ptx", ["PTX to a typed module"], fill=CORE)
    f.box(36, 508, 568, 48, "src/base", ["diagnostics, arenas, settings (WEIR_*), slow-path flags"], fill=CORE)

    f.box(660, 172, 200, 400, "libweir-jit.so", ["opened when a kernel is", "in no cache"], fill=PAPER,
          dashed=True, top=True)
    f.arrow((604, 314), (674, 314), label="plugin", at=(618, 306))
    f.box(676, 232, 168, 262, "src/compiler", fill=CORE, top=True)
    for n, (name, what) in enumerate([("front", "flattening, inlining"), ("analysis", "what lanes share"),
                                      ("codegen", "LLVM IR"), ("arithmetic", "PTX arithmetic"),
                                      ("llvm", "passes over the IR")]):
        f.box(688, 260 + 46 * n, 144, 40, name, [what], fill=PAPER, size=12)
    f.box(676, 508, 168, 48, "LLVM 19", fill=TOOL)
    f.arrow((760, 494), (760, 506))
    f.save("layers")


def launch():
    f = Figure(880, 640, "One launch, from <<<>>> to its completion")
    for x, w, name in [(20, 330, "host thread"), (376, 214, "compiling (first launch)"),
                       (616, 244, "worker threads")]:
        f.text(x + w / 2, 26, name, bold=True, size=14)
        f.line(x, 36, x + w, 36)
    
    def step(x, y, w, title, lines, fill):
        f.box(x, y, w, 62, title, lines, fill=fill, size=12 if w < 300 else 13)

    step(20, 52, 330, "kernel<<<grid, block, shared, stream>>>", ["cudaLaunchKernel: runtime/launch.c"], HOST)
    f.arrow((185, 114), (185, 136))
    step(20, 138, 330, "first use of the kernel: load its module", ["fat binary → PTX → checked module; variables",
         "driver/module"], HOST)
    f.arrow((185, 200), (185, 222))
    step(20, 224, 330, "check arguments, find the variant", ["code for this block shape", "driver/launch, driver/module/variant.c"], HOST)
    f.arrow((350, 246), (374, 246), label="none", at=(349, 219))
    step(376, 138, 214, "baseline tier", ["large kernels: code at once,", "many times slower"], TOOL)
    step(376, 224, 214, "loader", ["this process → disk cache →", "compiler"], CORE)
    step(376, 310, 214, "optimizing tier", ["small kernels now, others", "in the background"], TOOL)
    f.arrow((483, 222), (483, 202))
    f.arrow((483, 286), (483, 308))
    f.arrow((376, 270), (352, 270))
    f.arrow((185, 286), (185, 308))
    step(20, 310, 330, "enqueue a command", ["copy parameters, record what must be over first", "device/commands.c"], RUN)
    f.arrow((185, 372), (185, 394))
    step(20, 396, 330, "the call returns", ["nothing pending before it: the stream is ready"], HOST)
    f.arrow((350, 427), (614, 427), label="ready queue", at=(440, 420))
    f.box(616, 52, 244, 574, "", fill=PAPER, dashed=True)
    step(632, 396, 212, "take the first command", ["device/execute.c"], RUN)
    f.arrow((738, 396), (738, 374))
    step(632, 310, 212, "share out blocks", ["atomic counter, runs of 20 µs", "exec/run.c"], RUN)
    f.arrow((738, 310), (738, 288))
    step(632, 224, 212, "compiled function", ["one call runs one block", "abi/kernel_abi.h"], RUN)
    f.arrow((590, 341), (602, 341), (602, 262), (630, 262), label="tier-up", at=(593, 300), dashed=True)
    f.arrow((700, 224), (700, 202), label="spins", at=(662, 217))
    f.arrow((780, 202), (780, 222), label="later", at=(788, 217))
    step(632, 138, 212, "parked blocks", ["with their memory; any worker", "resumes them: exec/park.c"], RUN)
    f.text(738, 80, "A worker takes blocks of any", size=11, color=FAINT)
    f.text(738, 96, "running grid; a waiting host", size=11, color=FAINT)
    f.text(738, 112, "thread does the same.", size=11, color=FAINT)
    f.arrow((844, 255), (852, 255), (852, 513), (846, 513))
    step(632, 482, 212, "last block: completed count + 1", ["device/stream.c"], RUN)
    f.arrow((738, 544), (738, 564))
    f.box(632, 566, 212, 46, "wake what waited for it", ["commands, events, hosts"], fill=RUN)
    step(20, 558, 330, "cudaStreamSynchronize", ["runs ready work, then looks, then sleeps", "device/wait.c"], HOST)
    f.arrow((185, 458), (185, 556), dashed=True)
    f.arrow((630, 589), (352, 589), label="completed count has reached it", at=(380, 582))
    f.save("launch")


def memory():
    f = Figure(880, 560, "Addresses, pages and pools")
    f.text(20, 28, "Addresses of the process", bold=True, anchor="start", size=14)
    f.box(20, 42, 130, 78, "pageable", ["malloc, stack,", "files"], fill=CORE)
    f.box(156, 42, 170, 78, "host range", ["cudaMallocHost,", "cudaMallocManaged"], fill=HOST)
    f.box(332, 42, 250, 78, "device 0", ["cudaMalloc, variables,", "arrays, heap, pools"], fill=MEM)
    f.box(588, 42, 90, 78, "device 1 …", ["WEIR_DEVICES"], fill=MEM)
    f.box(684, 42, 176, 78, "mappings", ["cuMemMap, imports,", "graph memory"], fill=TOOL)

    f.text(20, 172, "A range: chunks of 2 MiB", bold=True, anchor="start", size=14)
    f.arrow((440, 120), (330, 164), dashed=True)
    x = 20
    for w, title, lines, fill in [(96, "slab", ["one size class"], CORE), (200, "large allocation", ["whole chunks"], MEM),
                                  (50, "guard", [], PAPER), (250, "chunks of a pool", ["memory/suballocated.c"], RUN),
                                  (90, "free", [], PAPER), (118, "cached", ["freed, kept"], CORE)]:
        f.box(x, 186, w, 60, title, lines, fill=fill, dashed=fill == PAPER)
        x += w + 7
    f.text(345, 266, "no access: overruns fault", size=11, color=FAINT)

    f.text(20, 318, "A pool: one shard for each stream", bold=True, anchor="start", size=14)
    f.arrow((500, 246), (330, 304), dashed=True)
    f.box(20, 332, 400, 208, "src/pool", fill=PAPER, dashed=True, top=True)
    f.box(36, 362, 176, 62, "shard of stream 1", ["free blocks: slots, bins", "one lock"], fill=RUN)
    f.box(228, 362, 176, 62, "shard of stream 2", ["free blocks: slots, bins", "one lock"], fill=RUN)
    f.arrow((124, 424), (124, 446), label="nothing here", at=(132, 440))
    f.box(36, 448, 368, 76, "the whole pool", ["everyone's · other streams' by the three switches ·", "new chunks · wait for another stream",
          "pool/reuse.c, pool/reserve.c"], fill=MEM)
    f.arrow((316, 424), (316, 446))

    f.text(450, 318, "Pages of the addresses", bold=True, anchor="start", size=14)
    f.box(450, 332, 190, 62, "anonymous, private", ["the rule: huge pages"], fill=CORE)
    f.box(670, 332, 190, 62, "file without a name", ["memfd: shared, exported,", "cuMemCreate, shared pools"], fill=TOOL)
    f.arrow((640, 363), (668, 363))
    f.text(655, 412, "first export: copied, then mapped at the same addresses", size=11, color=FAINT)
    f.box(450, 432, 410, 48, "other processes", ["map the same file: /proc/PID/fd, or a descriptor"], fill=HOST)
    f.arrow((765, 418), (765, 430))
    f.box(450, 492, 410, 48, "protection keys or compiled checks", ["protect devices from each other, and from the host in checked mode"], fill=CORE)
    f.save("memory")


def lanes(f, x, y, name, values, fills, label):
    """A row of 32 lanes: what each holds, coloured by segment."""
    f.text(x - 10, y + 15, name, anchor="end", size=12, mono=True)
    for lane, (value, fill) in enumerate(zip(values, fills)):
        f.items.append(f"<rect x='{x + 17 * lane}' y='{y}' width='17' height='22' fill='{fill}' "
                       f"stroke='{FAINT}' stroke-width='0.6'/>")
        f.text(x + 17 * lane + 8.5, y + 15, str(value), size=9)
    f.text(x + 17 * 32 + 10, y + 15, label, anchor="start", size=11, color=FAINT)


def warps():
    f = Figure(900, 560, "Values of a warp, and regions of a block")
    f.text(20, 28, "What 32 lanes hold (block of 16 × 16 threads)", bold=True, anchor="start", size=14)
    one, two = [HOST] * 32, [HOST] * 16 + [MEM] * 16
    lanes(f, 110, 44, "n", ["n"] * 32, one, "uniform: 1 scalar")
    lanes(f, 110, 74, "tid.x", [i % 16 for i in range(32)], two, "affine, 2 segments: 2 scalars, stride 1")
    lanes(f, 110, 104, "tid.y", [i // 16 for i in range(32)], two, "affine, 2 segments, stride 0")
    lanes(f, 110, 134, "a[k]", [(i * 37 + 11) % 97 for i in range(32)], [TOOL] * 32, "divergent: a vector")
    f.text(20, 202, "A kernel with a barrier", bold=True, anchor="start", size=14)
    f.box(20, 216, 250, 320, "", fill=PAPER)
    code = ["s[t] = a[i];", "__syncthreads();", "for (k = 0; k < 16; k++)", "    sum += s[k];", "__syncthreads();",
            "c[i] = sum;"]
    for n, (line, y) in enumerate(zip(code, (262, 310, 362, 382, 430, 480))):
        f.text(66 if line[0] == " " else 36, y, line.strip(), anchor="start", size=12, mono=True, bold="sync" in line)
    f.text(320, 202, "One function runs the block", bold=True, anchor="start", size=14)
    for n, (y, h, name) in enumerate([(216, 86, "region 1"), (322, 100, "region 2"), (442, 94, "region 3")]):
        f.box(320, y, 540, h, name, fill=CORE, top=True)
        f.text(420, y + 18, "a loop over the block's warps, on one thread", anchor="start", size=11, color=FAINT)
        for w in range(4):
            f.box(336 + 130 * w, y + 30, 104, h - 42, f"warp {w}", ["32 lanes, in step"], fill=RUN, size=12)
            if w:
                f.arrow((336 + 130 * w - 26, y + 9 + h / 2), (336 + 130 * w - 2, y + 9 + h / 2))
    for y in (302, 422):
        f.arrow((590, y), (590, y + 18), label="live values wait in the warps' frames", at=(600, y + 14))
    f.arrow((270, 259), (318, 259))
    f.arrow((270, 372), (318, 372))
    f.arrow((270, 476), (318, 476))
    f.save("warps")


if __name__ == "__main__":
    warps()
    layers()
    launch()
    memory()
