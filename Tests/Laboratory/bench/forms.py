"""Other registrations: by a name alone, by an installation's full state, and of start tokens."""

from harness import Figure

# The number of names, activities or installations of each kind. All exist before the measurement, so each request
# rotates.
THINGS = 20_000
# A full state is a heavy call, and a key may make 32 at once.
HEAVY = 16
# By name: the kind of call, items per request, connections.
FORMS = {
    "by a name alone": ("short", 1, 64),
    "in full states of 1 activity": ("full", 1, HEAVY),
    "in full states of 5 activities": ("full", 5, HEAVY),
    "in full states of 100 activities": ("full", 100, HEAVY),
    "start tokens": ("start", 1, 64),
}


def forms(bench):
    runs = {"register": lambda: bench.load("pushreg", "register")}
    things = min(THINGS, bench.options.count)
    for what, (kind, size, connections) in FORMS.items():
        options = {"count": things // size, "size": size, "connections": connections}
        bench.load("pushreg", kind, requests=things // size, **options)
        runs[what] = lambda kind=kind, options=options: bench.load("pushreg", kind, **options)
    figures = bench.figures("rate", **runs)
    for what, (_, size, connections) in FORMS.items():
        things = Figure(figures[what].value * size, figures[what].generator)
        bench.table.compare(f"registered {what}, {connections} connections, /s: register, 64 connections", things,
                            figures["register"])
