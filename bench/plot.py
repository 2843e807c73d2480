#!/usr/bin/env python3
"""Draws the tables of kernels as a figure: times of native code and PoCL relative to Weir's.

    plot.py TABLE FIGURE.svg

TABLE has what weir-bench prints between <!-- kernels --> and <!-- /kernels -->, or, for vectors of 256
bits, between <!-- kernels-256 --> and its end, or both, as docs/performance.md does. Each row becomes a
bar for each time that was measured, on a logarithmic axis: to the right of 1 Weir is faster. The figure
is written with the standard library alone.
"""
import math
import sys
from xml.sax.saxutils import escape

INK, FAINT, PAPER = "#1f2933", "#6b7785", "#ffffff"
# A bar's table, its column, its name and its colour.
SIDES = [("kernels", "native/weir", "native / Weir", "#3b6ea8"),
         ("kernels-256", "native/weir", "native / Weir, 256 bits", "#7fb2d9"),
         ("kernels", "PoCL/weir", "PoCL / Weir", "#c98a2b")]
LEFT, WIDTH, TOP, GAP, BAR = 360, 880, 64, 8, 10
LOW, HIGH = 0.125, 256.0


def ratios(text, section, column):
    """Of each row's title in the section's table: its number in that column, if there is one."""
    if f"<!-- {section} -->" not in text:
        return {}
    text = text.split(f"<!-- {section} -->")[1].split(f"<!-- /{section} -->")[0]
    found, at = {}, None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if column in cells:
            at = cells.index(column)
        elif at is not None and len(cells) > at and cells[at].replace(".", "", 1).isdigit():
            found[cells[0]] = float(cells[at])
    return {title: ratio for title, ratio in found.items() if ratio > 0}


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


def draw(bars, titles):
    """bars: name, colour and ratios by title of each bar; titles: the rows, in their order."""
    row = GAP + (BAR + 1) * len(bars)
    height = TOP + row * len(titles) + 30
    svg = Svg(WIDTH, height)
    for n, (name, color, _) in enumerate(bars):
        svg.rect(LEFT + 170 * n, 14, 12, 12, color)
        svg.text(LEFT + 170 * n + 18, 24, name)
    svg.text(position(1) + 6, TOP - 10, "Weir is faster →", color=FAINT, size=11)
    svg.text(position(1) - 6, TOP - 10, "← slower", "end", color=FAINT, size=11)
    bottom = TOP + row * len(titles)
    tick = LOW
    while tick <= HIGH:
        svg.line(position(tick), TOP, bottom, INK if tick == 1 else "#d9dee4", 1.2 if tick == 1 else 0.8)
        svg.text(position(tick), bottom + 18, f"{tick:g}×", "middle", 11, FAINT)
        tick *= 2
    for n, title in enumerate(titles):
        y = TOP + row * n
        bold = title == "geometric mean"
        svg.text(LEFT - 12, y + row / 2 + 4, title if len(title) < 54 else title[:52] + "…", "end", 12, bold=bold)
        for k, (_, color, ratio) in enumerate(bars):
            if title in ratio:
                bar(svg, y + GAP // 2 + k * (BAR + 1), ratio[title], color)
    svg.parts.append("</svg>\n")
    return "\n".join(svg.parts)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    bars = [(name, color, ratios(text, section, column)) for section, column, name, color in SIDES]
    bars = [b for b in bars if b[2]]
    titles = list(dict.fromkeys(title for _, _, ratio in bars for title in ratio))
    if not titles:
        sys.exit(f"{sys.argv[1]}: no table of kernels with times")
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(draw(bars, titles))


if __name__ == "__main__":
    main()
