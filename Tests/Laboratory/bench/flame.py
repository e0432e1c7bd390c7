"""A flame graph of the service under load: samples of `perf` as an SVG with boxes in proportion to their share."""

import collections
import html
import os
import re
import shutil
import subprocess
import threading

from cluster import DIRECTORY

WIDTH, ROW, NARROWEST = 1200, 17, 0.004
FRAME = re.compile(r"\s+[0-9a-f]+ (.*?)(\+0x[0-9a-f]+)? \(")


def record(bench, kind, path):
    """Samples the service under a kind of load, and draws the samples."""
    if shutil.which("perf") is None:
        raise SystemExit("perf is not installed: apt-get install linux-perf")
    service = bench.service("pushreg")
    samples = os.path.join(DIRECTORY, f"{kind}.perf")
    load = threading.Thread(target=lambda: bench.load("pushreg", kind))
    load.start()
    subprocess.run(
        ["perf", "record", "-q", "-F", "1999", "-g", "-p", str(service.process.pid), "-o", samples, "--", "sleep", "2"],
        check=True, stderr=subprocess.DEVNULL,
    )
    load.join()
    script = subprocess.run(["perf", "script", "-i", samples], check=True, capture_output=True, text=True, errors="replace")
    stacks = collapse(script.stdout)
    names = demangled({frame for stack in stacks for frame in stack})
    draw(kind, collections.Counter({tuple(map(names.get, stack)): count for stack, count in stacks.items()}), path)
    os.remove(samples)


def collapse(text):
    stacks = collections.Counter()
    stack = []
    for line in text.splitlines():
        if not line.strip():
            if stack:
                stacks[tuple(reversed(stack))] += 1
        elif not line[0].isspace():
            stack = []
        elif match := FRAME.match(line):
            stack.append(match[1])
    return stacks


def demangled(frames):
    frames = sorted(frames)
    swift = shutil.which("swift")
    if swift is None:
        return {frame: frame for frame in frames}
    result = subprocess.run(
        [swift, "demangle", "--simplified", "--compact"], input="\n".join(frames), capture_output=True, text=True, check=True
    )
    return dict(zip(frames, result.stdout.splitlines()))


def draw(title, stacks, path):
    total = sum(stacks.values())
    tree = {}
    for stack, count in stacks.items():
        level = tree
        for frame in stack:
            node = level.setdefault(frame, [0, {}])
            node[0] += count
            level = node[1]
    boxes = []

    def place(level, left, depth):
        for frame, (count, below) in sorted(level.items(), key=lambda item: -item[1][0]):
            if count / total >= NARROWEST:
                boxes.append((frame, left / total * WIDTH, count / total * WIDTH, depth, count / total))
                place(below, left, depth + 1)
            left += count

    place(tree, 0, 0)
    height = (max(box[3] for box in boxes) + 2) * ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="11">',
        f'<title>{html.escape(title)}</title><rect width="100%" height="100%" fill="#fff"/>',
    ]
    for frame, left, width, depth, share in boxes:
        top = height - (depth + 2) * ROW
        hue = 20 + sum(frame.encode()) % 40
        label = html.escape(frame[: int(width / 6.7)]) if width > 20 else ""
        lines.append(
            f'<g><title>{html.escape(frame)} ({share:.1%})</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}" '
            f'height="{ROW - 1}" fill="hsl({hue},80%,65%)"/><text x="{left + 2:.1f}" y="{top + 12}">{label}</text></g>'
        )
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, "</svg>\n"]))
