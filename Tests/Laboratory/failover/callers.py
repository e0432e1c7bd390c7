"""Callers that register, rotate and end activities one after the other, and check that other instances see it."""

import asyncio
import json
import random
import secrets
import threading
import time

from client import APP, Connection, Gone, Target, timestamp
from client import client as installation_field
from ledger import Answer, Stale

CALLERS, PAUSE, AGAIN = 16, 0.03, 0.05
ROTATIONS, ENDED_EVERY, READ_SHARE = 40, 5, 0.15
PATIENCE = 30
# The service closes after 30 s.
IDLE = 15
SCOPE = f"/v1/apps/{APP}/sandbox"


class Caller:
    """One installation that calls one instance, and also reads acknowledged writes through the other instance."""

    def __init__(self, number, instances, keys, ledger, crowd, seed):
        names = list(instances)
        self.number, self.own, self.other = number, names[number % 2], names[1 - number % 2]
        self.targets = {name: Target(port, False, keys) for name, port in instances.items()}
        self.keys, self.ledger, self.crowd = keys, ledger, crowd
        self.random = random.Random(f"{seed}-{number}")
        self.fields = installation_field(f"installation-{number}-{secrets.token_hex(4)}")
        self.connections, self.used = {}, {}

    async def live(self):
        life = 0
        while not self.crowd.is_over:
            life += 1
            await self._life(f"c{self.number}-{life}", life % ENDED_EVERY == 0)

    async def _life(self, activity, has_end):
        for _ in range(ROTATIONS):
            token = secrets.token_hex(32)
            if not await self._write("PUT", activity, self._body(token), {200, 201}):
                return
            self.ledger.acknowledge(activity, token)
            await self._look(activity, token)
            await asyncio.sleep(PAUSE)
            if self.crowd.is_over:
                return
        if has_end and await self._write("DELETE", activity, None, {204}):
            self.ledger.acknowledge_end(activity)
            await self._look(activity, None)
            # A call that comes after an end is refused.
            if not await self._write("PUT", activity, self._body(secrets.token_hex(32)), {410}):
                self.ledger.revived.append(f"{activity}: a registration after its end did not get a 410")

    def _body(self, token):
        """Half of the callers use the service's clock, the others their own clock."""
        times = {"observedAt": timestamp()} if self.number // 2 % 2 else {}
        return json.dumps({"token": token, **times}).encode()

    async def _write(self, method, activity, body, expected):
        """Sends the same bytes until a response arrives. Returns whether it was an expected response."""
        while True:
            status, _ = await self._ask(self.own, method, activity, self.keys["client"], body, expected | {503}, self.fields)
            if status in expected:
                return True
            if status not in (0, 503) or self.crowd.is_late():
                self.ledger.forget(activity)
                return False
            await asyncio.sleep(AGAIN)

    async def _look(self, activity, token):
        if self.random.random() >= READ_SHARE:
            return
        for instance in (self.other, self.own):
            begin = time.monotonic()
            status, text = await self._ask(instance, "GET", activity, self.keys["sender"], None, {200, 404, 503})
            if status not in (200, 404):
                continue
            self.ledger.reads += 1
            shown = json.loads(text).get("token") if status == 200 else None
            if shown != token:
                words = "a token after its end" if token is None else "another token" if shown else "no token"
                self.ledger.stale.append(Stale(begin, time.monotonic(), f"{activity} by {instance}: {status}, {words}"))
                if token is None:
                    self.ledger.revived.append(f"{activity}: read with a token after its end")

    async def _ask(self, instance, method, activity, key, body, expected, fields=()):
        """The status, or 0 without a response, and the text."""
        begin = time.monotonic()
        try:
            connection = await self._connection(instance, begin)
            answer = await connection.ask(method, f"{SCOPE}/activities/{activity}", key, body, fields, PATIENCE)
        except (OSError, Gone, TimeoutError, asyncio.TimeoutError, ValueError) as error:
            self._close(instance)
            words = f"{type(error).__name__} {error}"
            self.ledger.answers.append(Answer(begin, time.monotonic(), instance, method, 0, False, words))
            return 0, b""
        self.used[instance] = time.monotonic()
        if answer.says_close():
            self._close(instance)
        is_expected = answer.status in expected and (answer.status != 503 or "retry-after" in answer.fields)
        words = "" if is_expected else answer.body.decode(errors="replace")[:200]
        self.ledger.answers.append(Answer(begin, time.monotonic(), instance, method, answer.status, is_expected, words))
        return answer.status, answer.body

    async def _connection(self, instance, now):
        """A kept connection, unless it was idle for so long that the service may close it, which HTTP permits."""
        if now - self.used.get(instance, now) > IDLE:
            self._close(instance)
        self.used[instance] = now
        if instance not in self.connections:
            self.connections[instance] = await Connection.open(self.targets[instance])
        return self.connections[instance]

    def _close(self, instance):
        if (connection := self.connections.pop(instance, None)) is not None:
            connection.close()


class Crowd(threading.Thread):
    """All callers, until they are stopped."""

    def __init__(self, instances, keys, ledger, seed):
        super().__init__(daemon=True)
        self.is_over, self.stopped_at, self.ledger, self.error = False, None, ledger, None
        self.callers = [Caller(number, instances, keys, ledger, self, seed) for number in range(CALLERS)]

    def run(self):
        try:
            asyncio.run(self._all())
        except Exception as error:
            self.error = error

    async def _all(self):
        watch = asyncio.create_task(self._watch())
        await asyncio.gather(*(caller.live() for caller in self.callers))
        watch.cancel()

    async def _watch(self):
        while True:
            begin = time.monotonic()
            await asyncio.sleep(0.1)
            self.ledger.lag.append((begin, time.monotonic() - begin - 0.1))

    def is_late(self):
        """Stopped callers repeat for a while, so that every call gets a response if it can."""
        return self.is_over and time.monotonic() > self.stopped_at + 60

    def stop(self):
        self.stopped_at, self.is_over = time.monotonic(), True
        self.join(120)
        if self.error is not None:
            raise SystemExit(f"the callers failed: {type(self.error).__name__} {self.error}")
