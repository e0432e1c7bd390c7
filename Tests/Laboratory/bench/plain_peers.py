"""The simplest peers: one table without rules, and Redis. They show the cost of the registry's rules."""

import services


def plain_peers(bench):
    count = bench.options.count
    bench.start("onetable", services.onetable(bench.database, count))
    server = bench.start("redis-server", services.redis_server())
    bench.start("redis", services.redis(bench.database, count, server))
    for name in ("pushreg", "onetable", "redis"):
        check(bench, name)
    compare(bench, "resolve", {"onetable": ("Go, one table", 1.8, 2.5), "redis": ("Go, Redis", 1.4, 2)})
    compare(bench, "register", {"onetable": ("Go, one upsert", 1.5, 2.5), "redis": ("Go, Redis", 0.6, 1)})
    figures = bench.figures("p50", **{
        name: lambda name=name: bench.load(name, "register", connections=1) for name in ("pushreg", "onetable")
    })
    bench.table.compare("register, 1 connection, p50 µs: Go, one upsert", figures["pushreg"], figures["onetable"], 1.9, 1.5,
                        lower_is_better=True)
    bench.end("redis", "redis-server", "onetable")


def check(bench, name):
    """Checks that a service finds the token, because an empty result is fast."""
    found = services.call(bench.service(name), "GET", "/sandbox/aliases/orderId/o-7/activities", bench.key)
    if [len(activity["token"]) for activity in found["activities"]] != [160]:
        raise SystemExit(f"{name} resolves o-7 to {found}")


def compare(bench, kind, peers):
    figures = bench.figures("rate", **{
        name: lambda name=name: bench.load(name, kind) for name in ("pushreg", *peers)
    })
    for name, (label, must, aim) in peers.items():
        bench.table.compare(f"{kind}, 64 connections, /s: {label}", figures["pushreg"], figures[name], must, aim)
