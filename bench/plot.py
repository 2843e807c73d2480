#!/usr/bin/env python3
"""Draws the table of kernels as a figure: times of native code and PoCL relative to Weir's.

    plot.py TABLE FIGURE.svg

TABLE is what weir-bench prints, alone or inside docs/performance.md (between <!-- kernels -->).
Each row becomes two bars on a logarithmic axis: to the right of 1 Weir is faster. The figure is
written with the standard library alone.
"""
import math
import sys
from xml.sax.saxutils import escape

INK, FAINT, PAPER = "#1f2933", "#6b7785", "#ffffff"
SIDES = [("native / Weir", "#3b6ea8"), ("PoCL / Weir", "#c98a2b")]
LEFT, WIDTH, TOP, ROW, BAR = 360, 880, 64, 30, 10
LOW, HIGH = 0.125, 256.0


def rows(text):
    """(title, native/weir, PoCL/weir) of each row of the table; None where there is no number."""
    if "<!-- kernels -->" in text:
        text = text.split("<!-- kernels -->")[1].split("<!-- /kernels -->")[0]
    columns = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "native/weir" in cells:
            columns = cells.index("native/weir"), cells.index("PoCL/weir")
        if columns is None or len(cells) <= max(columns) or cells[0].startswith(("best of", "---")):
            continue
        ratios = [float(c) if c.replace(".", "", 1).isdigit() else None for c in (cells[k] for k in columns)]
        if any(ratios):
            yield (cells[0], *ratios)


def position(ratio):
    share = math.log(ratio / LOW) / math.log(HIGH / LOW)
    return LEFT + (WIDTH - LEFT - 60) * min(max(share, 0), 1)


class Svg:
    def __init__(self, width, height):
        self.parts = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
                      f"width='{width}' height='{height}' font-family='Helvetica, Arial, sans-serif'>",
                      "<title>Times of native code and PoCL relative to Weir's</title>",
                      f"<rect width='{width}' height='{height}' fill='{PAPER}'/>"]

    def text(self, x, y, words, anchor="start", size=12, color=INK, bold=False):
        weight = " font-weight='600'" if bold else ""
        self.parts.append(f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' fill='{color}' "
                          f"text-anchor='{anchor}'{weight}>{escape(words)}</text>")

    def rect(self, x, y, w, h, fill):
        self.parts.append(f"<rect x='{x:.1f}' y='{y:.1f}' width='{w:.1f}' height='{h}' fill='{fill}'/>")

    def line(self, x, y1, y2, color, width):
        self.parts.append(f"<path d='M{x:.1f},{y1} V{y2}' stroke='{color}' stroke-width='{width}'/>")


def bar(svg, y, ratio, color):
    one, end = position(1), position(ratio)
    svg.rect(min(one, end), y, max(abs(end - one), 1), BAR, color)
    if end >= one:
        svg.text(end + 4, y + BAR - 1, f"{ratio:.2f}", size=10, color=FAINT)
    else:
        svg.text(end - 4, y + BAR - 1, f"{ratio:.2f}", "end", 10, FAINT)


def draw(table):
    height = TOP + ROW * len(table) + 30
    svg = Svg(WIDTH, height)
    for n, (name, color) in enumerate(SIDES):
        svg.rect(LEFT + 130 * n, 14, 12, 12, color)
        svg.text(LEFT + 130 * n + 18, 24, name)
    svg.text(position(1) + 6, TOP - 10, "Weir is faster →", color=FAINT, size=11)
    svg.text(position(1) - 6, TOP - 10, "← slower", "end", color=FAINT, size=11)
    bottom = TOP + ROW * len(table)
    tick = LOW
    while tick <= HIGH:
        svg.line(position(tick), TOP, bottom, INK if tick == 1 else "#d9dee4", 1.2 if tick == 1 else 0.8)
        svg.text(position(tick), bottom + 18, f"{tick:g}×", "middle", 11, FAINT)
        tick *= 2
    for n, (title, *ratios) in enumerate(table):
        y = TOP + ROW * n
        bold = title == "geometric mean"
        svg.text(LEFT - 12, y + 18, title if len(title) < 54 else title[:52] + "…", "end", 12, bold=bold)
        for k, (ratio, (_, color)) in enumerate(zip(ratios, SIDES)):
            if ratio:
                bar(svg, y + 4 + k * (BAR + 1), ratio, color)
    svg.parts.append("</svg>\n")
    return "\n".join(svg.parts)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as f:
        table = list(rows(f.read()))
    if not table:
        sys.exit(f"{sys.argv[1]}: no table of kernels with times")
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(draw(table))


if __name__ == "__main__":
    main()
