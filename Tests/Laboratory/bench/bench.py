"""Runs the measurements of Tests/Laboratory/bench/run and prints one table; see its --help."""

import argparse
import json
import os
import signal
import sys
import time

import cluster
from harness import Bench, note
from measurements import EXTRA, MEASUREMENTS
from versions import versions


def main():
    parser = argparse.ArgumentParser(prog="Tests/Laboratory/bench/run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--json", default=os.path.join(cluster.DIRECTORY, "figures.json"))
    options = parser.parse_args()
    known = MEASUREMENTS | EXTRA
    chosen = options.only.split(",") if options.only else list(MEASUREMENTS)
    if unknown := set(chosen) - set(known):
        parser.error(f"unknown measurements: {', '.join(sorted(unknown))}; known measurements: {', '.join(known)}")
    if options.sizes and not {"sizes", "cold"} & set(chosen):
        chosen.append("sizes")
    # On SIGTERM, the program first ends its child processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begin = time.monotonic()
    with cluster.Cluster() as database:
        where = machine()
        database.prepare(options.count)
        bench = Bench(database, options)
        try:
            for name in filter(set(chosen).__contains__, known):
                note(f"== {name}")
                known[name](bench)
        finally:
            bench.stop()
    figures = bench.table.rows
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump({"machine": where, "versions": versions(), "rounds": options.rounds, "seconds": options.seconds,
                   "rows": figures}, file, indent=1)
    print(f"\n{where}; medians of {options.rounds} runs of {options.seconds:g} s; {time.monotonic() - begin:.0f} s in total")
    bench.table.print()
    print("generator: the load generator's share of the machine's CPU during the first and the second measurement")
    print("; ".join(f"{name} {version}" for name, version in versions().items()))


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    pages = "huge pages" if cluster.huge_pages() >= cluster.HUGE_PAGES else "no huge pages"
    return f"{os.cpu_count()} cores of {model}, load generator and Postgres included, {pages}"


if __name__ == "__main__":
    main()
