"""Databases of several sizes: empty ones, large ones, and large ones right after a start."""

import statistics

import generators
import services
from cluster import forget_files, read_files
from harness import note


def sizes(bench):
    """Resolve in databases of several sizes."""
    counts = {"s": 10_000, "m": bench.options.count}
    if bench.options.sizes:
        counts["l"] = 10_000_000
    running = {}
    for name, count in counts.items():
        database = "bench" if name == "m" else f"bench_{count}"
        if name != "m":
            bench.database.seeded(count, database)
            bench.database.warm(database)
        key = bench.database.key(database)
        running[name] = (services.registry(bench.database, f"pushreg-{count}", url=bench.database.url_of(database)), key, count)
    rates = bench.turns(**{
        name: (lambda s=s, k=k, c=c: generators.load(s, "resolve", k, bench.options.seconds, count=c)["rate"])
        for name, (s, k, c) in running.items()
    })
    for service, _, _ in running.values():
        service.stop()
    for name in list(counts)[1:]:
        bench.table.add(f"resolve with {counts[name]:,} activities, /s: with 10,000", rates[name], rates["s"],
                        rates[name] / rates["s"], 0.75, 0.9)


COLD = {"large": 10_000_000, "small": 10_000}
RESTARTS = {"of Postgres": read_files, "of the machine": forget_files}


def cold(bench):
    """Resolve right after Postgres has begun again, with its files in the kernel's memory, and after the machine has."""
    if not bench.options.sizes:
        raise SystemExit("cold needs --sizes: 10,000,000 activities take long to fill")
    bench.stop()
    keys = {}
    for name, count in COLD.items():
        bench.database.seeded(count, f"bench_{count}")
        keys[name] = bench.database.key(f"bench_{count}")

    def run(name, prepare_files):
        count = COLD[name]
        bench.database.restart(prepare_files)
        service = bench.start("cold", services.registry(
            bench.database, f"pushreg-cold-{count}", url=bench.database.url_of(f"bench_{count}")))
        try:
            return generators.load(service, "resolve", keys[name], bench.options.seconds, warm=0, count=count)
        finally:
            bench.end("cold")

    for begun, prepare_files in RESTARTS.items():
        figures = bench.figures("rate", **{name: (lambda name=name: run(name, prepare_files)) for name in COLD})
        bench.table.compare(f"resolve with {COLD['large']:,} activities, right after a start {begun}, /s: with {COLD['small']:,}",
                            figures["large"], figures["small"], 0.75, 0.9)


FIRST, LATER = 200_000, 60_000


def first_registrations(bench):
    """Fewer where the whole bench is a small one."""
    return min(FIRST, bench.options.count)


def first(bench):
    """New activities into an empty database whose tables were never analyzed, and more of them once they are."""
    def run(name):
        database = f"bench_first_{name}"
        bench.database.empty(database)
        url, key = bench.database.url_of(database), bench.database.key(database)
        service = (services.registry if name == "pushreg" else services.pgx)(bench.database, f"{name}-first", url=url)
        try:
            early = generators.load(service, "new", key, 0, count=0, requests=FIRST)["rate"]
            bench.database.psql("-c", "ANALYZE", database=database)
            return early, generators.load(service, "new", key, 0, count=FIRST, requests=LATER)["rate"]
        finally:
            service.stop()

    rounds = [(run("pushreg"), run("pgx")) for _ in range(bench.options.rounds)]
    for index, (ours, theirs) in enumerate(rounds):
        note(f"   round {index + 1}: pushreg {ours[0]:.0f}, later {ours[1]:.0f}; pgx {theirs[0]:.0f}, later {theirs[1]:.0f}")
    early, later = (statistics.median(ours[index] for ours, _ in rounds) for index in (0, 1))
    bench.table.add(f"the first {FIRST:,} registrations of an empty database, /s: {LATER:,} more", early, later, early / later, 0.9, 1.0)
    theirs = statistics.median(theirs[0] for _, theirs in rounds)
    bench.table.add("the same: Go, pgx", early, theirs, early / theirs)
