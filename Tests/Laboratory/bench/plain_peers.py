"""The least that would do: one table without rules, and Redis. What the registry's rules cost beside them."""

import services
from generators import has_wrk, load, wrk
from sizes import first_registrations


def plain_peers(bench):
    count = bench.options.count
    bench.start("onetable", services.onetable(bench.database, count))
    server = bench.start("redis-server", services.redis_server())
    bench.start("redis", services.redis(bench.database, count, server))
    for name in ("pushreg", "onetable", "redis"):
        check(bench, name)
    resolve(bench)
    register(bench)
    single(bench)
    bench.end("redis", "redis-server", "onetable")
    first(bench)


def check(bench, name):
    """Whoever finds nothing is fast."""
    found = services.call(bench.service(name), "GET", "/sandbox/aliases/orderId/o-7/activities", bench.key)
    if [len(activity["token"]) for activity in found["activities"]] != [160]:
        raise SystemExit(f"{name} resolves o-7 to {found}")


def resolve(bench):
    runs = {name: lambda name=name: bench.load(name, "resolve")
            for name in ("pushreg", "onetable", "redis")}
    if has_wrk():
        for name in ("pushreg", "onetable"):
            runs[f"wrk {name}"] = lambda name=name: wrk(
                bench.service(name), bench.key, bench.options.seconds, count=bench.options.count)
    figures = bench.figures("rate", **runs)
    ours = figures["pushreg"]
    bench.table.compare("resolve, 64 connections, /s: Go, one table", ours, figures["onetable"], 1.8, 2.5)
    if has_wrk():
        bench.table.compare("the same by wrk: Go, one table", figures["wrk pushreg"], figures["wrk onetable"], 1.8, 2.5)
    bench.table.compare("resolve, 64 connections, /s: Go, Redis", ours, figures["redis"], 1.4, 2)


def register(bench):
    figures = bench.figures("rate", **{
        name: lambda name=name: bench.load(name, "register")
        for name in ("pushreg", "onetable", "redis")
    })
    ours = figures["pushreg"]
    bench.table.compare("register, 64 connections, /s: Go, one upsert", ours, figures["onetable"], 1.5, 2.5)
    bench.table.compare("register, 64 connections, /s: Go, Redis", ours, figures["redis"], 0.6, 1)


def single(bench):
    figures = bench.figures("p50Microseconds", **{
        name: lambda name=name: bench.load(name, "register", connections=1)
        for name in ("pushreg", "onetable")
    })
    bench.table.compare("register, 1 connection, p50 µs: Go, one upsert", figures["pushreg"], figures["onetable"], 2.0, 1.5,
                        lower_is_better=True)


def first(bench):
    """New activities into empty databases whose tables were never analyzed."""
    number = first_registrations(bench)

    def ours():
        database = "bench_first_pushreg"
        bench.database.empty(database)
        url, key = bench.database.url_of(database), bench.database.key(database)
        return run(services.registry(bench.database, "pushreg-first", url=url), key)

    def run(service, key):
        name = bench.start(service.name, service).name
        try:
            return load(service, "new", key, 0, count=0, requests=number)
        finally:
            bench.end(name)

    figures = bench.figures("rate", pushreg_first=ours, onetable_first=lambda: run(
        services.onetable(bench.database, 0, "onetable_first"), bench.key))
    bench.table.compare(f"the first {number:,} registrations of an empty database, /s: Go, one upsert",
                        figures["pushreg_first"], figures["onetable_first"], 1.2, 2)
