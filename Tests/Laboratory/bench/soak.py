"""A day in short: activities start, rotate, end or expire, and are deleted, at half of the service's highest rate."""

import os
import threading

import services
from cluster import children_of, cpu_of
from harness import note

DATABASE, COPY = "bench_soak", "bench_soak_copy"
PARTS = 6
# More activities than a part has.
PART = 1_000_000_000
SIZES = """
    SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind = 'r' AND c.relname <> 'bench_seeds' ORDER BY 2 DESC
"""
CLEANING = """
    SELECT relname, n_live_tup, n_dead_tup, n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del, autovacuum_count
    FROM pg_stat_user_tables WHERE n_tup_ins > 0 ORDER BY n_tup_upd + n_tup_del DESC
"""


# Postgres's default interval, so each sixth of an hour has two checkpoints. After a checkpoint, the first change of a
# page logs the whole page. With the bench's interval of half an hour, the first sixth would have none.
CHECKPOINTS = "5min"


class Lives:
    """Activities that start, rotate, and end or expire, at half of the service's highest rate."""

    def __init__(self, bench):
        bench.stop()
        bench.database.shut_down()
        bench.database.start(checkpoint_timeout=CHECKPOINTS)
        self.bench = bench
        self.seconds = bench.options.minutes * 60 / PARTS
        lifetime = max(2, self.seconds / 2)
        self.rate = peak(bench) / 2
        # From its start to its last rotation, an activity takes six turns of all open activities: six tenths of its
        # lifetime.
        self.open = max(64, round(self.rate * lifetime / 10))
        self.key = prepare(bench, lifetime)
        self.service = start(bench, lifetime)
        self.parts = 0
        note(f"   {self.rate:.0f}/s; activities live {lifetime:g} s, {self.open} are open")

    def run(self):
        """Runs one part, which starts new activities. Open activities of the part before expire meanwhile."""
        self.parts += 1
        return self.bench.load("soak", "life", seconds=self.seconds, key=self.key, rate=self.rate, open=self.open,
                               first=self.parts * PART, is_refusable=True)


def soak(bench):
    seconds = bench.options.minutes * 60
    lives = Lives(bench)
    counters = {"the service": lives.service.cpu, "Postgres": bench.database.cpu}
    before = {name: count() for name, count in counters.items()}
    with AutovacuumWatch(bench.database) as watch:
        results = [lives.run() for _ in range(PARTS)]
    note(f"   p99 of each sixth, µs: {' '.join(str(result['p99']) for result in results)}")
    note(f"   CPU seconds: {', '.join(f'{name} {count() - before[name]:.0f}' for name, count in counters.items())}")
    note("   resident memory, now and at its highest, MiB: {:.0f}, {:.0f}".format(*lives.service.memory()))
    bench.end("soak")
    note(f"   {CLEANING.split('SELECT ')[1].split(chr(10))[0]}")
    note(bench.database.psql("-Atc", CLEANING, database=DATABASE))
    report(bench, results, watch.seconds / seconds / os.cpu_count())


def report(bench, results, cleaning):
    first, last = results[0]["p99"], results[-1]["p99"]
    minutes = f"{bench.options.minutes:g} minutes"
    bench.table.add(f"p99 µs of the last sixth of {minutes} of lives: of the first", last, first, last / first, 1.3, 1.1,
                    lower_is_better=True, generator=[result["generator"] for result in (results[-1], results[0])])
    refused, good = (sum(result[what] for result in results) for what in ("refused", "requests"))
    bench.table.add("the same time: failed responses per million", 1e6 * refused / (refused + good))
    used, fresh = compared_sizes(bench.database)
    bench.table.add(f"MiB of tables and indexes after {minutes}, without events: freshly written", used, fresh, used / fresh,
                    2.0, 1.5, lower_is_better=True)
    bench.table.add("the same time: CPU of autovacuum's workers, % of the machine's", 100 * cleaning)


def peak(bench):
    """The highest rate of steps per second."""
    key = prepare(bench)
    start(bench)
    rate = bench.load("soak", "life", seconds=5 * bench.options.seconds, key=key)["rate"]
    bench.end("soak")
    return rate


def prepare(bench, lifetime=None):
    """An empty database. Its tombstones are deleted sooner than settings permit. They normally stay for at least an hour
    because requests can be late, but no request is late here."""
    bench.database.empty(DATABASE)
    if lifetime:
        bench.database.psql("-c", f"""
            ALTER TABLE apps DROP CONSTRAINT apps_tombstones_outlive_activities;
            UPDATE apps SET activity_lifetime = make_interval(secs => {lifetime}),
                tombstone_retention = make_interval(secs => {2 * lifetime}),
                event_retention = make_interval(secs => {2 * lifetime})
        """, database=DATABASE)
    return bench.database.key(DATABASE)


def start(bench, lifetime=600):
    url = bench.database.url_of(DATABASE)
    # The later option wins.
    sweep = f"PT{max(1, round(lifetime / 10))}S"
    return bench.start("soak", services.registry(bench.database, "soak", "--sweep-interval", sweep, url=url))


def compared_sizes(database):
    """MiB of the tables, and of a fresh copy of their rows. Without events: they are only added, and dropped by the day, so they
    cannot bloat and would hide the bloat of other tables."""
    database.psql("-c", f"DROP DATABASE IF EXISTS {COPY} WITH (FORCE)", database="postgres")
    database.psql("-c", f"CREATE DATABASE {COPY} TEMPLATE {DATABASE} STRATEGY file_copy", database="postgres")
    database.psql("-c", "SET statement_timeout = 0", "-c", "VACUUM FULL", database=COPY)
    used, fresh = ({name: int(size) for name, size in (
        row.split("|") for row in database.psql("-Atc", SIZES, database=of).splitlines())} for of in (DATABASE, COPY))
    database.psql("-c", f"DROP DATABASE {COPY} WITH (FORCE)", database="postgres")
    for name, size in used.items():
        if size > 2**20:
            note(f"   {name}: {size / 2**20:.1f} MiB, freshly written {fresh[name] / 2**20:.1f}")
    return [sum(size for name, size in sizes.items() if not name.startswith("events")) / 2**20 for sizes in (used, fresh)]


class AutovacuumWatch:
    """Adds up the CPU of autovacuum's workers, which start and end."""

    def __init__(self, database):
        self.database = database
        self.used = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def watch(self):
        while not self.ended.wait(0.5):
            for pid in children_of(self.database.pid()):
                try:
                    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                        if "autovacuum worker" in file.read():
                            self.used[pid] = cpu_of(pid)
                except OSError:
                    # The worker has ended meanwhile.
                    pass

    @property
    def seconds(self):
        return sum(self.used.values())
