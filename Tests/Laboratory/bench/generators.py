"""The load generators: wrk with calls.lua, and h2load for HTTP/2, which wrk does not support."""

import json
import os
import random
import re
import subprocess

from cluster import DIRECTORY, HERE


def load(service, kind, key, seconds, connections=64, is_refusable=False, **options):
    """Makes calls of a kind for some seconds, or a number of `requests`, with options of calls.lua. All responses must be
    good, unless refusals are permitted."""
    threads = min(2, connections)
    if "requests" in options:
        seconds = 3600
    command = [
        "wrk", "-t", str(threads), "-c", str(connections), "-d", str(max(1, round(seconds))), "--timeout", "10",
        "-s", os.path.join(HERE, "calls.lua"), f"http://{service.address}", "--", kind, f"threads={threads}",
        *(f"{name}={value}" for name, value in options.items()),
    ]
    output, used = run(command, key)
    result = json.loads(output.splitlines()[-1])
    good = result["answers"] - result["refused"]
    # With two rotations of an activity in the same millisecond, the greater token wins and the other is refused.
    tolerated = good // 1000 if kind in ("register", "jwt") else 0
    if not good or not is_refusable and (result["broken"] or result["refused"] > tolerated):
        raise SystemExit(f"{service.name}: {result} of calls of the kind {kind}; see {service.log.name}")
    return {
        "rate": good / result["seconds"], "requests": good, "refused": result["refused"] + result["broken"],
        "p50": result["p50"], "p99": result["p99"], "generator": used / result["seconds"] / os.cpu_count(),
    }


def h2load(service, key, seconds, arguments, scheme, count):
    """Resolves with h2load. All its connections use one list of aliases, so compare its figures only with each other."""
    paths = os.path.join(DIRECTORY, "paths.txt")
    with open(paths, "w", encoding="utf-8") as file:
        for _ in range(100_000):
            file.write(f"/v1/apps/com.example.food/sandbox/aliases/orderId/o-{random.randint(1, count)}/activities\n")
    seconds = max(1, round(seconds))
    output, used = run([
        "h2load", "-t", "2", "-D", str(seconds), "--warm-up-time", "1", "-B", f"{scheme}://{service.address}", "-i", paths,
        "-H", f"Authorization: Bearer {key}", *arguments,
    ], key)
    rate = float(re.search(r"([\d.]+) req/s", output)[1])
    good, bad = map(int, re.search(r"(\d+) succeeded, (\d+) failed", output).groups())
    if not good or bad:
        raise SystemExit(f"{service.name}: {output}; see {service.log.name}")
    return {"rate": rate, "generator": used / (seconds + 1) / os.cpu_count()}


def run(command, key):
    """The output of a program, and its CPU seconds."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "BENCH_KEY": key}) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}: {output}")
    return output, usage.ru_utime + usage.ru_stime
