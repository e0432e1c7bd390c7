"""The programs that put load on a service: the bench's own, and wrk."""

import json
import os
import resource
import shutil
import subprocess
import sys

from cluster import DIRECTORY, HERE

LOAD = os.path.join(DIRECTORY, "bin", "load")


def load(service, kind, key, seconds, connections=64, rate=0, count=1_000_000, batch=100, warm=0.5,
         requests=0, accepted=(), arguments=()):
    """Runs the load generator, for some seconds or for a number of requests; gives what it printed. All answers must be
    good, or of an accepted status."""
    command = [
        LOAD, "-address", service.address, "-kind", kind, "-connections", str(connections),
        "-seconds", str(seconds), "-warm", str(warm), "-rate", str(rate), "-count", str(count), "-batch", str(batch),
        "-requests", str(requests), *arguments,
    ]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "BENCH_KEY": key})
    result = json.loads(output.stdout)
    others = {status: count for status, count in (result.get("others") or {}).items() if status not in accepted}
    # Two rotations of one activity in the same millisecond: the greater token wins, and the other one is told so.
    if others.get("409", 0) < result["requests"] / 1000:
        others.pop("409", None)
    if others or not result["requests"]:
        raise SystemExit(f"{service.name} answered {kind} with {others}; see {service.log.name}")
    if late := result.get("signedLate"):
        print(f"   {late} JWTs were signed while {service.name} was measured", file=sys.stderr, flush=True)
    result["generator"] = result["cpuSeconds"] / (result["requests"] / result["rate"]) / os.cpu_count()
    return result


def has_wrk():
    return shutil.which("wrk") is not None


def wrk(service, key, seconds, count=1_000_000, connections=64):
    """Resolves by wrk, which others know and trust; gives the rate and wrk's share of the CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(
        ["wrk", "-t", "2", "-c", str(connections), "-d", str(max(1, round(seconds))), "-s", os.path.join(HERE, "resolve.lua"),
         f"http://{service.address}", "--", str(count)],
        check=True, capture_output=True, text=True, env={**os.environ, "BENCH_KEY": key},
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(output.splitlines()[-1])
    if result["failed"]:
        raise SystemExit(f"{service.name}: {result['failed']} requests of wrk failed; see {service.log.name}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"rate": result["requests"] / result["seconds"], "generator": used / result["seconds"] / os.cpu_count()}
