"""Databases of several sizes: empty, large, and large right after a start."""

import statistics

import generators
import services
from cluster import forget_files, read_files


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
    """Resolve right after a restart of Postgres, with its files in the kernel's cache, and after a restart of the machine."""
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
            return generators.load(service, "resolve", keys[name], bench.options.seconds, count=count)
        finally:
            bench.end("cold")

    for begun, prepare_files in RESTARTS.items():
        figures = bench.figures("rate", **{name: (lambda name=name: run(name, prepare_files)) for name in COLD})
        bench.table.compare(f"resolve with {COLD['large']:,} activities, right after a start {begun}, /s: with {COLD['small']:,}",
                            figures["large"], figures["small"], 0.75, 0.9)


FIRST, LATER = 200_000, 60_000


def first(bench):
    """New activities in empty databases without statistics, and more in ours after ANALYZE."""
    # Fewer in a small bench.
    number = min(FIRST, bench.options.count)

    def run(service, key, already=0, requests=number):
        bench.start(service.name, service)
        try:
            return generators.load(service, "new", key, 0, count=already, requests=requests)
        finally:
            bench.end(service.name)

    def ours():
        database = "bench_first_pushreg"
        bench.database.empty(database)
        url, key = bench.database.url_of(database), bench.database.key(database)
        early = run(services.registry(bench.database, "pushreg-first", url=url), key)
        bench.database.psql("-c", "ANALYZE", database=database)
        # A few more than requested were made.
        later.append(run(services.registry(bench.database, "pushreg-later", url=url), key, 2 * number, LATER)["rate"])
        return early

    later = []
    figures = bench.figures("rate", ours=ours, onetable=lambda: run(
        services.onetable(bench.database, 0, "onetable_first"), bench.key))
    early, later = figures["ours"], statistics.median(later)
    what = f"the first {number:,} registrations of an empty database, /s"
    bench.table.add(f"{what}: {LATER:,} more", early.value, later, early.value / later, 0.9, 1.0)
    bench.table.compare(f"{what}: Go, one upsert", early, figures["onetable"], 1.2, 2)
