"""Normal callers, each from its own address, in a process that attackers do not delay."""

import asyncio
import collections
import itertools
import multiprocessing
import os
import secrets
import time
import traceback

from client import APP, SCOPE, Connection, Gone, client, token

# Addresses without attackers.
FIRST = 50_000
GIVEN_UP = 10
# New keys per second, which the instance has not seen before.
NEW_KEYS = 2
# The most frequent kinds of requests.
HOT = {"register", "rotate", "end", "resolve"}
# The statuses that ask the caller to repeat the request.
REFUSALS = {408, 429, 503}


class Call:
    """A call that a caller makes at a rate per second."""

    def __init__(self, kind, rate, caller, make, expected=(200,), is_fresh=False):
        self.kind, self.rate, self.caller, self.make = kind, rate, caller, make
        self.expected, self.is_fresh = expected, is_fresh


def phone(number, keys):
    name = f"phone-{number}-{secrets.token_hex(4)}"
    count = itertools.count()
    fields, caller, rate = client(name), number, 3
    written = (200, 201, 204, 409, 410)

    def register():
        body = {"token": token(), "installationId": name, "aliases": {"liveactivityId": f"order-{number}"}}
        return "PUT", f"{SCOPE}/activities/{name}-{next(count)}", keys["client"], body, fields

    def rotate():
        return "PUT", f"{SCOPE}/activities/{name}-{number % 7}", keys["client"], {"token": token()}, fields

    def end():
        return "DELETE", f"{SCOPE}/activities/{name}-x{next(count)}", keys["client"], None, fields

    def full_state():
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        body = {"observedAt": at, "activities": [{"activityId": f"{name}-f{item}"} for item in range(3)]}
        return "PUT", f"{SCOPE}/installations/{name}-full/activities", keys["client"], body, client(f"{name}-full")

    return [
        Call("register", rate, caller, register, written), Call("rotate", rate, caller, rotate, written),
        Call("end", rate / 2, caller, end, written), Call("full state", 0.5, caller, full_state),
    ]


def sender(caller, keys):
    aliases = [{"kind": "liveactivityId", "value": f"order-{number}"} for number in range(3)]

    def resolve():
        return "GET", f"{SCOPE}/aliases/liveactivityId/order-{secrets.randbelow(3)}/activities?limit=10", keys["sender"], None, ()

    def resolve_many():
        return "POST", f"{SCOPE}/resolve", keys["sender"], {"aliases": aliases, "limitPerAlias": 10}, ()

    def feedback():
        reports = [{"token": token(), "status": 410, "reason": "Unregistered"}, {"token": token(), "status": 200}]
        return "POST", f"{SCOPE}/feedback", keys["sender"], {"reports": reports}, ()

    return [Call("resolve", 6, caller, resolve), Call("resolve many", 1, caller, resolve_many), Call("feedback", 1, caller, feedback)]


def auditor(caller, keys, cookie):
    pages = itertools.cycle(["", "/installations", "/stale", "/stale/purge"])

    def stale():
        return "GET", f"{SCOPE}/audit/stale?limit=20", keys["auditor"], None, ()

    def console():
        return "GET", f"/console/{APP}/sandbox{next(pages)}", None, None, [("Cookie", cookie), ("Accept", "text/html")]

    return [Call("audit", 0.5, caller, stale), Call("console", 0.5, caller, console)]


def probe(caller):
    return [Call("probe", 1, caller, lambda: ("GET", "/readyz", None, None, ()), is_fresh=True)]


def newcomer(caller, fresh_keys):
    left = iter(fresh_keys)

    def resolve():
        return "GET", f"{SCOPE}/aliases/liveactivityId/order-0/activities?limit=10", next(left), None, ()

    return [Call("new key", NEW_KEYS, caller, resolve, is_fresh=True)]


async def sign_in(target, key, source):
    """The cookie of a console session."""
    connection = await Connection.open(target, source)
    try:
        page = await connection.ask("GET", "/console/sign-in")
        cookie = page.fields["set-cookie"].split(";")[0]
        form = page.body.split(b'name="form" value="')[1].split(b'"')[0].decode()
        body = f"form={form}&key={key}".encode()
        answer = await connection.ask("POST", "/console/sign-in", body=body, fields=[
            ("Cookie", cookie), ("Content-Type", "application/x-www-form-urlencoded")])
        cookies = [part.split(";")[0].strip() for part in answer.fields["set-cookie"].split("pushreg-")]
        return "pushreg-" + next(part for part in cookies if part.startswith("console="))
    finally:
        connection.close()


class Crowd:
    """All callers, for some time."""

    def __init__(self, target, cookie, fresh_keys):
        self.target = target
        addresses = iter(range(FIRST, FIRST + 100))
        keys = target.keys
        self.calls = [call for _ in range(3) for call in phone(next(addresses), keys)]
        self.calls += sender(next(addresses), keys) + auditor(next(addresses), keys, cookie)
        self.calls += probe(next(addresses)) + newcomer(next(addresses), fresh_keys)
        self.idle = collections.defaultdict(list)
        self.outcomes = []

    async def run(self, seconds):
        begin = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number, call in enumerate(self.calls):
                group.create_task(self._repeat(group, call, begin + number / len(self.calls) / call.rate, begin + seconds))
        for connections in self.idle.values():
            for connection in connections:
                connection.close()
        return self.outcomes

    async def _repeat(self, group, call, due, end):
        while due < end:
            await asyncio.sleep(max(0, due - time.monotonic()))
            group.create_task(self._make(call, due))
            due += 1 / call.rate

    async def _make(self, call, due):
        """One call. Its time counts from when it was due, and includes the connection setup."""
        try:
            answer = await asyncio.wait_for(self._ask(call), GIVEN_UP)
            status = answer.status
            outcome = "ok" if status in call.expected else "refused" if status in REFUSALS else "wrong"
        except TimeoutError:
            status, outcome = "no answer", "refused"
        except OSError as error:
            status, outcome = type(error).__name__, "refused"
        self.outcomes.append((call.kind, time.monotonic() - due, outcome, status))

    async def _ask(self, call):
        source = self.target.address(call.caller)
        method, path, key, body, fields = call.make()
        idle = self.idle[source]
        while idle and not call.is_fresh:
            connection = idle.pop()
            try:
                return await self._ask_on(connection, idle, method, path, key, body, fields)
            except (Gone, ConnectionError):
                # The service may close an idle connection. HTTP clients then open a new one.
                continue
        connection = await Connection.open(self.target, source)
        return await self._ask_on(connection, [] if call.is_fresh else idle, method, path, key, body, fields)

    async def _ask_on(self, connection, idle, method, path, key, body, fields):
        try:
            answer = await connection.ask(method, path, key, body, fields, GIVEN_UP)
        except BaseException:
            connection.close()
            raise
        if answer.says_close() or len(idle) >= 2:
            connection.close()
        else:
            idle.append(connection)
        return answer


class CrowdReport:
    """The outcomes of the callers."""

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def percentile(self, share, kinds=None):
        """Times in seconds, of some kinds of calls or of all."""
        taken = sorted(latency for kind, latency, _, _ in self.outcomes if kinds is None or kind in kinds)
        return taken[min(len(taken) - 1, int(len(taken) * share))] if taken else 0.0

    def success(self):
        """The share of calls with an expected response."""
        return sum(outcome == "ok" for _, _, outcome, _ in self.outcomes) / max(1, len(self.outcomes))

    def faults(self):
        """The calls with an unexpected response, by kind and status."""
        counts = collections.Counter((kind, status) for kind, _, outcome, status in self.outcomes if outcome != "ok")
        return [f"{kind}: {status} ×{count}" for (kind, status), count in counts.most_common()]

    def figures(self):
        kinds = sorted({kind for kind, _, _, _ in self.outcomes})
        return {
            "calls": len(self.outcomes), "success": round(self.success(), 5), "faults": self.faults(),
            "p50": round(self.percentile(0.5), 5), "p99": round(self.percentile(0.99), 5),
            "kinds": {kind: {"p50": round(self.percentile(0.5, {kind}), 5), "p99": round(self.percentile(0.99, {kind}), 5)}
                      for kind in kinds},
        }


class CallersRun:
    """The process of the callers."""

    def __init__(self, target, cookie, fresh_keys, seconds):
        self.pipe, theirs = multiprocessing.Pipe(False)
        self.process = multiprocessing.Process(target=self._run, args=(theirs, target, cookie, fresh_keys, seconds))
        self.process.start()
        theirs.close()

    @staticmethod
    def _run(pipe, target, cookie, fresh_keys, seconds):
        try:
            os.nice(-5)
        except OSError:
            pass
        try:
            pipe.send(asyncio.run(Crowd(target, cookie, fresh_keys).run(seconds)))
        except BaseException:
            traceback.print_exc()
            pipe.send([])

    def report(self):
        """The outcomes, after the callers are done."""
        outcomes = self.pipe.recv()
        self.process.join()
        return CrowdReport(outcomes)
