"""Registrations for --minutes while another session keeps an old snapshot, such as a dump or a report."""

import subprocess

from cluster import tool
from harness import note

# Half of the highest rate, so that slower statements show as latency and not as fewer calls.
SHARE = 0.5
OPEN = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(86400);\n"
RECOVERY = 10


def pinned(bench):
    rate = SHARE * bench.load("pushreg", "register", seconds=5 * bench.options.seconds)["rate"]

    def minutes(count):
        return [bench.load("pushreg", "register", seconds=60, rate=rate)["p99"] for _ in range(max(1, round(count)))]

    calm = minutes(2)[-1]
    with subprocess.Popen([tool("psql"), "-X", "-q", bench.database.url_of("bench")], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True) as session:
        session.stdin.write(OPEN)
        session.stdin.flush()
        during = minutes(bench.options.minutes)
        note(f"   doctor: {doctor(bench)}")
        bench.database.psql("-c", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(86400)%' "
                            "AND pid <> pg_backend_pid()")
        session.kill()
    after = minutes(RECOVERY)
    note(f"   p99 of each minute, µs: before {calm}; during {during}; after {after}")
    what = f"register at {rate:.0f}/s, p99 µs"
    bench.table.add(f"{what}: highest of {bench.options.minutes:g} minutes with an old snapshot, and before",
                    max(during), calm, max(during) / calm, 1.5, lower_is_better=True)
    bench.table.add(f"{what}: {RECOVERY} minutes after the snapshot, and before", after[-1], calm, after[-1] / calm, 1.1,
                    lower_is_better=True)


def doctor(bench):
    try:
        return bench.database.pushreg("doctor")
    except subprocess.CalledProcessError as error:
        return error.stdout.strip()
