"""The cost of followers of the change feed for registrations, and the delay of changes."""

import json
import subprocess
import threading
import time
import urllib.error
import urllib.request

import services

PATH = "/v1/apps/com.example.food/production/changes"
# Sequential registrations for the measurement of delays.
SAMPLES = 200


class Followers:
    """Streams of changes that curl reads and discards, because a reader in Python would cost more than the service."""

    def __init__(self, bench, count, query):
        address = bench.service("pushreg").address
        self.running = [
            subprocess.Popen(
                ["curl", "-sSN", "-H", "Accept: application/x-ndjson", "-H", "@-", f"http://{address}{PATH}{query(number)}"],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
            )
            for number in range(count)
        ]
        for process in self.running:
            process.stdin.write(f"Authorization: Bearer {bench.key}\n")
            process.stdin.close()

    def __enter__(self):
        time.sleep(0.5)
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.kill()
            process.wait()


def everything(_):
    return ""


def own_name(number):
    return f"?alias=liveactivityId:order-{number}"


def changes(bench):
    followers = {"none": (0, everything), "1": (1, everything), "32, each of one name": (32, own_name), "32": (32, everything)}

    def register(count, query):
        with Followers(bench, count, query):
            return bench.load("pushreg", "register")["rate"]

    rates = bench.turns(**{name: lambda chosen=chosen: register(*chosen) for name, chosen in followers.items()})
    for name in list(followers)[1:]:
        bench.table.add(f"register, 64 connections, with followers ({name}), /s: without", rates[name], rates["none"],
                        rates[name] / rates["none"], 0.97 if name != "32" else None)
    rest = delays(bench)
    bench.table.add("delay of a change after the response, p50 ms", rest[len(rest) // 2])
    bench.table.add("delay of a change after the response, p99 ms", quantile(rest), None, quantile(rest), 300, None, True)
    load = threading.Thread(target=lambda: bench.load("pushreg", "register", seconds=30))
    load.start()
    busy = delays(bench, 100)
    load.join()
    bench.table.add("the same under full write load, p99 ms", quantile(busy))


def when_there_is_room(request):
    """The service notices a closed stream at its next write, within ten seconds."""
    for _ in range(30):
        try:
            return urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(0.5)
    raise SystemExit("the service accepts no more followers")


def quantile(times):
    return times[int(len(times) * 0.99)]


def delays(bench, samples=SAMPLES):
    """Sorted milliseconds from the response to a registration until a follower of its name receives the change."""
    service = bench.service("pushreg")
    query = "?alias=" + urllib.request.quote("liveactivityId:followed")
    request = urllib.request.Request(
        f"http://{service.address}{PATH}{query}",
        headers={"Authorization": f"Bearer {bench.key}", "Accept": "application/x-ndjson"},
    )
    told = {}
    begun = threading.Event()

    def follow(stream):
        for line in stream:
            begun.set()
            change = json.loads(line)
            if change.get("type") == "available":
                told.setdefault(change["activityId"], time.monotonic())

    stream = when_there_is_room(request)
    reader = threading.Thread(target=follow, args=(stream,), daemon=True)
    reader.start()
    begun.wait()
    answered = {}
    for number in range(samples):
        name = f"followed-{time.monotonic_ns()}-{number}"
        body = {"token": f"{time.monotonic_ns():016x}" + "ab" * 36, "aliases": {"liveactivityId": "followed"}}
        services.call(service, "PUT", f"/production/activities/{name}", bench.key, body)
        answered[name] = time.monotonic()
        # Waits, so that the samples cover every phase of the poller's interval.
        time.sleep(0.037)
    deadline = time.monotonic() + 60
    while len(told) < samples and time.monotonic() < deadline:
        time.sleep(0.05)
    missing = samples - len(told)
    if missing:
        raise SystemExit(f"{missing} of {samples} changes were not received")
    return sorted((told[name] - answered[name]) * 1000 for name in answered)
