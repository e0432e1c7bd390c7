"""The soak's lives while another session keeps an old snapshot, such as a dump or a report."""

import subprocess

import soak
from cluster import tool
from harness import note

OPEN = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(86400);\n"
OVERDUE = "SELECT count(*) FROM activities WHERE ended_at IS NULL AND expiry_recorded_at IS NULL AND expires_at <= now()"


def pinned(bench):
    """The snapshot is kept for six parts, which are compared with the part before. The first part of all fills the tables."""
    lives = soak.Lives(bench)

    def parts(count):
        results = [lives.run() for _ in range(count)]
        note(f"   expired without a record: {bench.database.psql('-Atc', OVERDUE, database=soak.DATABASE).strip()}")
        return [result["p99"] for result in results]

    calm = parts(2)[-1]
    with subprocess.Popen([tool("psql"), "-X", "-q", bench.database.url_of(soak.DATABASE)], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True) as session:
        session.stdin.write(OPEN)
        session.stdin.flush()
        during = [parts(1)[0] for _ in range(soak.PARTS)]
        note(f"   doctor: {doctor(bench)}")
        bench.database.psql("-c", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(86400)%' "
                            "AND pid <> pg_backend_pid()")
        session.kill()
    after = parts(2)
    bench.end("soak")
    note(f"   p99 of each part, µs: before {calm}; during {during}; after {after}")
    bench.table.add(f"lives, p99 µs: highest part of {bench.options.minutes:g} minutes with an old snapshot, and before",
                    max(during), calm, max(during) / calm, 1.5, lower_is_better=True)
    # The soak permits this growth within --minutes.
    bench.table.add("lives, p99 µs: second part after the snapshot, and before", after[-1], calm, after[-1] / calm, 1.3,
                    lower_is_better=True)


def doctor(bench):
    try:
        return bench.database.pushreg("doctor", database=soak.DATABASE)
    except subprocess.CalledProcessError as error:
        return error.stdout.strip()
