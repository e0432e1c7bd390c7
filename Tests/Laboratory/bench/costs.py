"""The cost of a request: processor time, write-ahead log, and index scans."""

import os
import statistics
import subprocess
import time

import generators
import services
from cluster import DIRECTORY
from flame import record
from harness import note


def flame(bench):
    """Draws a flame graph of the service."""
    for kind in ("resolve", "register"):
        path = os.path.join(DIRECTORY, f"{kind}.svg")
        record(bench, kind, path)
        note(f"   {path}")
    costs(bench)


def costs(bench):
    bench.start("nginx", services.nginx())
    # nginx with a fixed response is the floor of any service with this load generator.
    for name, kind in (("pushreg", "resolve"), ("pushreg", "register"), ("nginx", "resolve")):
        bench.load(name, kind)
        rounds = [cost(bench, name, kind) for _ in range(bench.options.rounds)]
        for part, values in zip((name, "Postgres", "the machine"), zip(*rounds)):
            if name == "pushreg" or part != "Postgres":
                label = f"{kind}, 64 connections, CPU µs: {part}" + (" with nginx" if part == "the machine" and name == "nginx" else "")
                bench.table.add(label, statistics.median(values))
    bench.end("nginx")


def cost(bench, name, kind):
    """Microseconds of CPU per request, of the service, of Postgres, and of the machine with the load generator."""
    counters = [bench.service(name).cpu, bench.database.cpu, machine_cpu]
    before = [count() for count in counters]
    requests = bench.load(name, kind)["requests"]
    return [(count() - first) / requests * 1e6 for count, first in zip(counters, before)]


def machine_cpu():
    """CPU seconds of all processes."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, interrupt, soft = map(int, file.readline().split()[1:8])
    return (user + nice + system + interrupt + soft) / os.sysconf("SC_CLK_TCK")


# Rotations to measure per service; fewer in a small bench.
ROTATIONS = 20_000
INDEXES = """
    SELECT x.indexrelname, x.idx_scan, io.idx_blks_hit + io.idx_blks_read
    FROM pg_stat_user_indexes x JOIN pg_statio_user_indexes io USING (indexrelid)
"""


def wal(bench):
    """Bytes of write-ahead log per rotation after a checkpoint. The first change of a page then logs the whole page."""
    count = min(ROTATIONS, bench.options.count)
    # Other connections could report counts later.
    bench.stop()
    # Autovacuum would write, and read indexes, at any time.
    set_autovacuum(bench.database, "off")
    try:
        rounds = bench.rounds(ours=lambda: rotate(bench, services.registry, count))["ours"]
    finally:
        set_autovacuum(bench.database, None)
    whats = ("WAL bytes a rotation, from a checkpoint on", "of them full page images", "full page images a rotation")
    for what, values in zip(whats, zip(*(one["log"] for one in rounds))):
        value = statistics.median(values)
        bench.table.add(what, value, None, value)
    walks = rounds[-1]["indexes"]
    note(f"   {'a rotation':60} {'walks':>10} {'pages':>10}")
    for index in sorted(walks, key=walks.get, reverse=True):
        if any(walks[index]):
            note(f"   {index[:60]:60} {' '.join(f'{number:10.3f}' for number in walks[index])}")


def set_autovacuum(database, value):
    database.psql("-c", f"ALTER SYSTEM SET autovacuum = {value}" if value else "ALTER SYSTEM RESET autovacuum")
    database.psql("-c", "SELECT pg_reload_conf()")


def rotate(bench, start, count):
    database = bench.database
    service = bench.start("wal", start(database, "wal"))
    database.psql("-c", "CHECKPOINT")
    before, indexes = position(database), index_counts(database)
    # Approximately the requested number.
    count = generators.load(service, "register", bench.key, 0, requests=count, count=bench.options.count)["requests"]
    bench.end("wal")
    wait_for_backends(database)
    after, walked = position(database), index_counts(database)
    written = [(int(last) - int(first)) / count for first, last in zip(before[1:], after[1:])]
    images = image_bytes(database, before[0], after[0])
    return {
        "log": (written[0], images / count, written[1]),
        "indexes": {name: [(last - first) / count for first, last in zip(indexes[name], walked[name])] for name in walked},
    }


def position(database):
    """The position of the log as text and in bytes, and the number of full-page images."""
    query = "SELECT lsn, lsn - '0/0', wal_fpi FROM pg_current_wal_insert_lsn() AS lsn CROSS JOIN pg_stat_wal"
    return database.psql("-Atc", query).split("|")


def image_bytes(database, first, last):
    """Bytes of full-page images between two positions. Needs the extension of Postgres 15."""
    try:
        database.psql("-c", "CREATE EXTENSION IF NOT EXISTS pg_walinspect")
        return int(database.psql("-Atc", f"SELECT sum(fpi_size) FROM pg_get_wal_stats('{first}', '{last}')"))
    except subprocess.CalledProcessError as error:
        note(f"   full-page images are not measured: {error.stderr.strip()}")
        return 0


def index_counts(database):
    rows = (row.split("|") for row in database.psql("-Atc", INDEXES).splitlines())
    return {name: (int(walks), int(pages or 0)) for name, walks, pages in rows}


def wait_for_backends(database):
    """Waits until all connections have ended, because they then have reported their counts."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'bench' AND pid <> pg_backend_pid()"
    for _ in range(100):
        if database.psql("-Atc", query) == "0":
            return
        time.sleep(0.1)
    raise SystemExit("another client is connected to the database")
