"""The other ways to register: by a name alone, by an installation's full state, and start tokens."""

from harness import Figure

# Names, activities or installations of each kind, all known before it is measured: then each request rotates.
THINGS = 20_000
# A full state is a heavy call, of which one key may make 32 at once.
HEAVY = 16
# By kind of load: things a request, connections.
KINDS = {
    "short": ("by a name alone", 1, 64),
    "full-1": ("in full states of 1 activity", 1, HEAVY),
    "full-5": ("in full states of 5 activities", 5, HEAVY),
    "full-100": ("in full states of 100 activities", 100, HEAVY),
    "start": ("start tokens", 1, 64),
}


def forms(bench):
    runs = {"register": lambda: bench.load("pushreg", "register")}
    things = min(THINGS, bench.options.count)
    for kind, (_, size, connections) in KINDS.items():
        count = things // size
        bench.load("pushreg", kind, count=count, connections=connections, requests=count)
        runs[kind] = lambda kind=kind, count=count, connections=connections: bench.load(
            "pushreg", kind, count=count, connections=connections)
    figures = bench.figures("rate", **runs)
    for kind, (what, size, connections) in KINDS.items():
        things = Figure(figures[kind].value * size, figures[kind].generator)
        bench.table.compare(f"registered {what}, {connections} connections, /s: register, 64 connections", things,
                            figures["register"])
