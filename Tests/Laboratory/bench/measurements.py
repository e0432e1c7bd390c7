"""The measurements of plain HTTP/1.1 by key: each runs the service and its peers in turns, and adds rows to the table."""

import os
import statistics
import subprocess
import time

import services
import statements
from callers import jwt
from changes import changes
from cluster import tool
from costs import costs, flame, wal
from forms import forms
from pinned import pinned
from plain_peers import plain_peers
from protocols import protocols
from sizes import cold, first, sizes
from soak import soak


def hello(bench):
    rates = bench.turns(
        pushreg=lambda: bench.load("pushreg", "hello")["rate"], pgx=lambda: bench.load("pgx", "hello")["rate"]
    )
    bench.table.add("/livez, 64 connections, /s: Go", rates["pushreg"], rates["pgx"], rates["pushreg"] / rates["pgx"])


def compare(bench, kind, pgx, pgbench):
    rates = bench.turns(
        pushreg=lambda: bench.load("pushreg", kind)["rate"],
        pgx=lambda: bench.load("pgx", kind)["rate"],
        pgbench=lambda: bench.pgbench(kind),
    )
    bench.rates[kind] = rates["pushreg"]
    clients = bench.best_clients[kind]
    for name, label, (must, aim) in (("pgx", "Go, pgx", pgx), ("pgbench", f"pgbench, {clients} clients", pgbench)):
        bench.table.add(f"{kind}, 64 connections, /s: {label}", rates["pushreg"], rates[name],
                        rates["pushreg"] / rates[name], must, aim)


def resolve(bench):
    compare(bench, "resolve", (1.5, 2.5), (0.65, 1.0))


def flush(bench):
    """A commit takes 2 ms: the server sleeps before each flush, and other commits can share the flush."""
    bench.start("onetable", services.onetable(bench.database, bench.options.count))
    bench.database.psql("-c", "ALTER SYSTEM SET commit_delay = 2000")
    bench.database.psql("-c", "ALTER SYSTEM SET commit_siblings = 0")
    bench.database.psql("-c", "SELECT pg_reload_conf()")
    try:
        rates = bench.turns(**{name: lambda name=name: bench.load(name, "register")["rate"] for name in ("pushreg", "onetable")})
    finally:
        bench.database.psql("-c", "ALTER SYSTEM RESET ALL")
        bench.database.psql("-c", "SELECT pg_reload_conf()")
    bench.end("onetable")
    bench.table.add("register, 2 ms flush, /s: Go, one upsert", rates["pushreg"], rates["onetable"],
                    rates["pushreg"] / rates["onetable"])


def single(bench):
    times = bench.turns(
        pushreg=lambda: bench.load("pushreg", "resolve", connections=1)["p50"],
        pgx=lambda: bench.load("pgx", "resolve", connections=1)["p50"],
    )
    bench.table.add("resolve, 1 connection, p50 µs: Go", times["pushreg"], times["pgx"],
                    times["pushreg"] / times["pgx"], 1.3, 1.0, lower_is_better=True)


def latency(bench):
    """At 70 % of Go's highest rate, so that both keep up. wrk measures latency from the moment of sending."""
    rate = 0.7 * statistics.median(bench.load("pgx", "resolve")["rate"] for _ in range(3))
    times = bench.turns(
        pushreg=lambda: bench.load("pushreg", "resolve", rate=rate)["p99"],
        pgx=lambda: bench.load("pgx", "resolve", rate=rate)["p99"],
    )
    bench.table.add(f"resolve at {rate:.0f}/s, p99 µs: Go", times["pushreg"], times["pgx"],
                    times["pushreg"] / times["pgx"], 1.0, 0.5, lower_is_better=True)


def many(bench, what, kind, single, size, must, aim, **options):
    """Items per second in batches, compared with single calls per second."""
    rates = bench.turns(
        batches=lambda: bench.load("pushreg", kind, size=size, **options)["rate"] * size,
        single=lambda: bench.load("pushreg", single)["rate"],
    )
    bench.table.add(what, rates["batches"], rates["single"], rates["batches"] / rates["single"], must, aim)


def batch(bench):
    many(bench, "resolve of 100 aliases, keys/s: one by one", "batch", "resolve", 100, 4, 8, connections=8)


def feedback(bench):
    """Reports of 410s, and most of them drop a token. Other reports cost less."""
    # About ten requests per second, and only complete ones count, so a short run would lose much of the last ones.
    seconds = 4 * bench.options.seconds
    many(bench, "feedback of 1,000, tokens/s: registers/s", "feedback", "register", 1000, 3, 6, connections=8, seconds=seconds)


def time_of(command, **options):
    begin = time.monotonic()
    output = subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout
    return (time.monotonic() - begin) * 1000, output


def stream(bench, name):
    """Milliseconds until all activities of one alias have arrived. The last line has their number."""
    path = "/v1/apps/com.example.food/production/aliases/matchId/m-1/activities"
    address = bench.service(name).address
    script = f"curl -sS -N -H 'Accept: application/x-ndjson' -H @- http://{address}{path} | tail -n 1"
    milliseconds, last = time_of(["bash", "-c", script], input=f"Authorization: Bearer {bench.key}")
    if f'"count":{bench.options.count}' not in last.replace(" ", ""):
        raise SystemExit(f"{name}: the stream ended with {last[:200]}")
    return milliseconds


def copy(bench):
    """psql's COPY of the query of a page, without its limit."""
    query = statements.texts("resolve", {
        # The first app's scope in production.
        "scope": "2::bigint", "kind": "'matchId'::text", "value": "'m-1'::text", "after": "0::bigint",
        "limit": "NULL::bigint", "kinds": "NULL::text[]", "values": "NULL::text[]",
    })[0]
    command = f"COPY ({query}) TO STDOUT (FORMAT binary)"
    script = '"$0" -X -q "$1" -c "$2" | cat >/dev/null'
    environment = {**os.environ, "PGOPTIONS": "-c jit=off"}
    return time_of(["bash", "-c", script, tool("psql"), bench.database.url_of("bench"), command], env=environment)[0]


def fan_out(bench):
    times = bench.turns(pushreg=lambda: stream(bench, "pushreg"), copy=lambda: copy(bench))
    bench.table.add(f"fan-out of {bench.options.count:,}, ms: psql COPY binary", times["pushreg"], times["copy"],
                    times["copy"] / times["pushreg"], 0.9, 1.0)


def memory(bench):
    """The peak memory of separate services, after the hot paths and after a fan-out."""
    def hot_paths():
        for kind in ("resolve", "register"):
            bench.load("memory", kind)

    for what, run in (("hot paths", hot_paths), ("a fan-out", lambda: stream(bench, "memory"))):
        service = bench.running["memory"] = services.registry(bench.database, "pushreg-memory")
        run()
        highest = service.memory()[1]
        bench.table.add(f"resident memory, {what}, MiB", highest, None, highest, 60, 40, lower_is_better=True)
        service.stop()
    del bench.running["memory"]


def overload(bench):
    """The highest rate with 2,000 connections, and the latency half a second later."""
    single = bench.rates.get("resolve") or statistics.median(bench.load("pushreg", "resolve")["rate"] for _ in range(3))
    calm, good, after = [], [], []
    for _ in range(bench.options.rounds):
        calm.append(bench.load("pushreg", "resolve", seconds=1, rate=single / 2)["p99"])
        good.append(bench.load(
            "pushreg", "resolve", seconds=2 + bench.options.seconds, connections=2000, is_refusable=True)["rate"])
        time.sleep(0.5)
        after.append(bench.load("pushreg", "resolve", seconds=1, rate=single / 2)["p99"])
    good, calm, after = map(statistics.median, (good, calm, after))
    bench.table.add("resolve, 2,000 connections, /s: 64 connections", good, single, good / single, 0.8, 0.95)
    bench.table.add("half a second later at half of its most, p99 µs: before", after, calm, after / calm, 2.0, 1.2,
                    lower_is_better=True)


# Measurements that run only with --only, because they are long or need more packages.
EXTRA = {"sizes": sizes, "flame": flame, "first": first, "cold": cold, "soak": soak, "pinned": pinned}

# In the order in which they run. Feedback is last, because the peers do not support dropped tokens.
MEASUREMENTS = {
    "hello": hello, "resolve": resolve, "single": single, "latency": latency, "batch": batch,
    "flush": flush, "fan-out": fan_out, "memory": memory, "overload": overload, "costs": costs, "protocols": protocols,
    "jwt": jwt, "forms": forms, "plain-peers": plain_peers, "wal": wal, "changes": changes, "feedback": feedback,
}
