"""Expensive requests: repeated ids and tokens, and values and rows that a stranger created before."""

import asyncio
import collections
import itertools
import time

from attack import Attack, gather
from attacks.load import repeat
from callers import sign_in
from client import APP, SCOPE, Connection, ask, client, timestamp, token


class Repetitions(Attack):
    """Full states with one id or one token a thousand times."""

    name = "repetitions"
    must = "other callers do not wait"
    offered = "1000 × one id or token, 20 connections, at most 8/s"

    async def load(self, signals):
        count = self.some(1000, 300)

        def make(number):
            name = f"repeat-{number % 20}"
            one = f"{name}-{number}"
            items = [{"activityId": one if number % 2 else f"{one}-{item}", "token": token() if number % 2 else "ab" * 32}
                     for item in range(count)]
            body = {"observedAt": timestamp(), "activities": items}
            return "PUT", f"{SCOPE}/installations/{name}/activities", self.target.keys["client"], body, client(name)

        return await repeat(self, signals, 20, self.rate(8), make, lambda place: self.target.address(500 + place % 5))


async def fill(attack, signals, first, send):
    """Sends 3,000 requests on ten connections with different addresses. Counts the statuses."""
    count, numbers, counts = attack.some(3000, 1000), itertools.count(), collections.Counter()

    async def call(place):
        connection = await Connection.open(attack.target, attack.target.address(first + place))
        while next(numbers) < count:
            counts[str((await send(connection)).status)] += 1
            if attack.share < 1:
                await asyncio.sleep(0.05)
        connection.close()

    counts.update(await gather(signals, 10, call))
    return counts


class Values(Attack):
    """One installation registers new device tokens continuously."""

    name = "values"
    must = "the audit, the installation and the console's pages respond within 2 s"
    offered = "3,000 values of one installation, 10 addresses"

    async def load(self, signals):
        async def put(connection):
            body = {"token": token(), "observedAt": timestamp()}
            return await connection.ask("PUT", f"{SCOPE}/installations/many-values/device-token",
                                        self.target.keys["client"], body, client("many-values"))

        counts = await fill(self, signals, 600, put)
        signals.ready()
        source = self.target.address(620)
        async for _ in signals.turns(self.rate(2)):
            try:
                await ask(self.target, "GET", f"{SCOPE}/audit/stale", self.target.keys["auditor"], source=source)
            except (OSError, TimeoutError):
                pass
        return counts

    async def check(self, seen, service):
        keys, source, faults = self.target.keys, self.target.address(621), []
        if not any(seen.get(status, 0) for status in ("200", "201")):
            return [f"no value was accepted: {seen}"]
        cookie = await sign_in(self.target, keys["auditor"], source)
        pages = [(f"/console/{APP}/sandbox{page}", None, [("Cookie", cookie)])
                 for page in ("", "/installations", "/stale", "/stale/purge")]
        calls = [(f"{SCOPE}/audit/stale", keys["auditor"], ()), (f"{SCOPE}/installations/many-values", keys["auditor"], ())]
        for path, key, fields in calls + pages:
            begin = time.monotonic()
            answer = await ask(self.target, "GET", path, key, None, fields, source)
            took = time.monotonic() - begin
            if answer.status != 200 or took > 2:
                faults.append(f"GET {path}: {answer.status} after {took:.1f} s")
        return faults


class AliasIdentity(Attack):
    """One owner registers many tokens under one alias."""

    name = "alias identity"
    must = "the next registration costs at most four times a first one (and 2 ms)"
    offered = "3,000 registrations under one alias, 10 addresses"

    async def load(self, signals):
        counts = await fill(self, signals, 700, lambda connection: self.register(connection, "crowded"))
        signals.ready()
        async for _ in signals.turns(self.rate(20)):
            try:
                await ask(self.target, "POST", f"{SCOPE}/activities", self.target.keys["client"],
                          {"token": token(), "alias": "crowded"}, client("crowd"), self.target.address(700))
            except (OSError, TimeoutError):
                pass
        return counts

    async def register(self, connection, alias):
        return await connection.ask("POST", f"{SCOPE}/activities", self.target.keys["client"],
                                    {"token": token(), "alias": alias}, client("crowd"))

    async def check(self, seen, service):
        connection = await Connection.open(self.target, self.target.address(711))
        costs, count = {}, 20
        for alias in ("fresh-alias", "crowded"):
            begin = service.cpu() + service.postgres_cpu()
            for _ in range(count):
                answer = await self.register(connection, alias)
                if answer.status not in (200, 201):
                    return [f"a registration after {seen} gets {answer.status}"]
            costs[alias] = (service.cpu() + service.postgres_cpu() - begin) / count
        connection.close()
        few, many = (costs[alias] * 1000 for alias in ("fresh-alias", "crowded"))
        return [f"a registration costs {many:.0f} ms of processor time instead of {few:.0f}"] if many > 4 * few + 2 else []


class ManyAliases(Attack):
    """One resolve repeats an alias with a thousand activities."""

    name = "equal aliases"
    must = "the response is 200 and at most 16 MiB; memory stays under the limit"
    offered = "300 and 1000 equal aliases with 1000 activities"

    async def load(self, signals):
        count, numbers = self.some(1000, 300), itertools.count()

        async def call(place):
            connection = await Connection.open(self.target, self.target.address(800 + place))
            while (number := next(numbers)) < count:
                await connection.ask("PUT", f"{SCOPE}/activities/crowd-{number}", self.target.keys["sender"],
                                     {"token": token(), "aliases": {"liveactivityId": "crowd"}})
            connection.close()

        await gather(signals, 5, call)
        alias, sizes = {"kind": "liveactivityId", "value": "crowd"}, itertools.cycle([300, 1000])
        signals.ready()
        counts = collections.Counter()
        async for _ in signals.turns(self.rate(1)):
            size = next(sizes)
            try:
                body = {"aliases": [alias] * size, "limitPerAlias": 1000}
                answer = await ask(self.target, "POST", f"{SCOPE}/resolve", self.target.keys["sender"], body,
                                   source=self.target.address(810), timeout=20)
                counts[str(answer.status)] += 1
                counts["largest"] = max(counts["largest"], len(answer.body))
            except (OSError, TimeoutError) as error:
                counts[type(error).__name__] += 1
        return counts

    async def check(self, seen, service):
        wrong = {status: count for status, count in seen.items() if status not in ("200", "429", "largest")}
        faults = [f"resolves got {wrong}"] if wrong else []
        if seen.get("largest", 0) > 16 * 2**20:
            faults.append(f"a response had {seen['largest'] / 2**20:.0f} MiB")
        return faults


ALL = [Repetitions, Values, AliasIdentity, ManyAliases]
