#!/usr/bin/env python3
"""That a trace is one: JSON once a bracket is added, whole lines, slices of a track that nest and do
not overlap, arrows that begin before they end and at slices.

    trace_check.py FILE [CATEGORY:NAME:COUNT ...]

Each further argument demands at least that many events of a category whose names contain NAME."""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    events = json.loads(text + "]")
    tracks, flows, wrong = {}, {}, []
    for e in events:
        if e["ph"] == "X":
            tracks.setdefault((e["pid"], e["tid"]), []).append(
                (round(e["ts"] * 1000), -round(e["dur"] * 1000), e["name"]))
        elif e["ph"] in "sf":
            flows.setdefault(e["id"], {})[e["ph"]] = e
    for track, slices in tracks.items():
        open_until = []
        for begin, negative, name in sorted(slices):
            end = begin - negative
            while open_until and open_until[-1][0] <= begin:
                open_until.pop()
            if open_until and end > open_until[-1][0]:
                wrong.append(f"track {track}: {name} at {begin} ends {end - open_until[-1][0]} ns "
                             f"after {open_until[-1][1]}, in which it begins")
            open_until.append((end, name))
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    for track in tracks:
        if track not in named:
            wrong.append(f"track {track} has no name")
    for number, ends in flows.items():
        if set(ends) != {"s", "f"}:
            wrong.append(f"arrow {number} has only {set(ends)}")
            continue
        if ends["s"]["ts"] > ends["f"]["ts"]:
            wrong.append(f"arrow {number} goes back in time")
        for e in ends.values():
            at = round(e["ts"] * 1000)
            if not any(b <= at <= b - n for b, n, _ in tracks.get((e["pid"], e["tid"]), [])):
                wrong.append(f"arrow {number}: {e['ph']} is at no slice")
    for demand in sys.argv[2:]:
        category, name, count = demand.split(":")
        found = len(flows) if category == "arrows" else sum(
            1 for e in events if e.get("cat") == category and name in e["name"])
        if category == "ph":
            found = sum(1 for e in events if e["ph"] == name)
        if found < int(count):
            wrong.append(f"{found} events of {category}:{name}, not {count}")
    for line in wrong[:20]:
        print(f"{sys.argv[1]}: {line}")
    print(f"{len(events)} events, {len(tracks)} tracks, {len(flows)} arrows, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
