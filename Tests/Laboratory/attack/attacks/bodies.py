"""Bodies that fill memory."""

import asyncio
import collections

from attack import Attack, gather
from client import SCOPE, Connection, Gone, client, connect, request

BATCH = 2 * 2**20


def full_state(target, number, body):
    name = f"body-{number}"
    return request("PUT", f"{SCOPE}/installations/{name}/activities", target.keys["client"], body, client(name))


class HalfBodies(Attack):
    """One address sends bodies of 2 MiB except the last byte, and then waits."""

    name = "half bodies"
    must = "at most a budget of bytes is kept (64 MiB plus overhead); bodies of other callers are accepted"
    offered = "400 × 2 MiB, one address"
    addresses = 1
    needs_network = True
    most_memory = 160

    def source(self, number):
        return self.target.address(300 + number % self.addresses)

    async def load(self, signals):
        body, counts = b"[" + b" " * (BATCH - 1), collections.Counter()
        count = self.some(400 * self.share, 40)
        gate = asyncio.Semaphore(20)

        async def hold(number):
            while not signals.is_stopped:
                made, loop = await connect(self.target, self.source(number)), asyncio.get_running_loop()
                try:
                    async with gate:
                        sending = loop.sock_sendall(made, full_state(self.target, number, body)[:-1])
                        await asyncio.wait_for(sending, 5)
                    counts["sent"] += 1
                    answer = await self.answer(signals, made)
                    counts[answer] += 1
                except (OSError, TimeoutError):
                    counts["cut off"] += 1
                finally:
                    made.close()
                await asyncio.sleep(1)

        running = asyncio.create_task(gather(signals, count, hold))
        await asyncio.sleep(min(3, 0.5 + count / 100))
        signals.ready()
        await running
        return counts

    @staticmethod
    async def answer(signals, made):
        while not signals.is_stopped:
            try:
                text = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(made, 4096), 0.5)
                return text[9:12].decode() or "closed"
            except TimeoutError:
                continue
        return "held"


class HalfBodiesOfMany(HalfBodies):
    """Fifty addresses send bodies of 2 MiB except the last byte, and then wait."""

    name = "half bodies of many"
    offered = "400 × 2 MiB, 50 addresses"
    addresses = 50


class Objects(Attack):
    """Complete bodies of 2 MiB that consist of small objects."""

    name = "objects"
    must = "memory stays under the limit"
    offered = "2 MiB of {\"\":0}, from 64 connections, at most 20/s"

    async def load(self, signals):
        filler = b'{"":0},' * ((BATCH - 100) // 7)
        body = b'{"observedAt":"2026-01-01T00:00:00Z","activities":[],"x":[' + filler + b"0]}"
        turns, counts = asyncio.Semaphore(0), collections.Counter()

        async def call(number):
            while True:
                await turns.acquire()
                if signals.is_stopped:
                    return
                try:
                    connection = await Connection.open(self.target, self.target.address(400 + number % 16))
                    try:
                        connection.writer.write(full_state(self.target, number, body))
                        counts[str((await connection.receive("PUT", 20)).status)] += 1
                    finally:
                        connection.close()
                except (OSError, TimeoutError, Gone) as error:
                    counts[type(error).__name__] += 1

        count = self.some(64, 16)
        running = asyncio.create_task(gather(signals, count, call))
        # All together at first, and then at the maximum rate.
        for _ in range(count):
            turns.release()
        await asyncio.sleep(0.5)
        signals.ready()
        async for _ in signals.turns(self.rate(20)):
            turns.release()
        for _ in range(count):
            turns.release()
        await running
        return counts


ALL = [HalfBodies, HalfBodiesOfMany, Objects]
