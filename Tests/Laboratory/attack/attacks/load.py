"""Load at a rate: one request or many requests per write."""

import asyncio
import collections
import itertools

from attack import gather
from client import Connection

AT_ONCE = 20


async def paced(attack, signals, connections, rate, turn, source, first=0):
    """Turns at a rate per second on some connections. `turn(connection, counts)` sends requests and counts the responses.

    Failed connections are opened again. The load is running after `first` responses."""
    counts, turns = collections.Counter(), asyncio.Semaphore(0)

    async def call(place):
        connection = None
        while True:
            await turns.acquire()
            if signals.is_stopped:
                break
            try:
                connection = connection or await Connection.open(attack.target, source(place))
                if not await turn(connection, counts):
                    connection.close()
                    connection = None
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                counts[type(error).__name__] += 1
                if connection:
                    connection.close()
                connection = None
        if connection:
            connection.close()

    running = asyncio.create_task(gather(signals, connections, call))
    if first == 0:
        signals.ready()
    async for _ in signals.turns(rate):
        if counts.total() >= first:
            signals.ready()
        if turns._value < connections:
            turns.release()
    for _ in range(connections):
        turns.release()
    await running
    return counts


async def repeat(attack, signals, connections, rate, make, source, timeout=15, first=0):
    """Requests at a rate per second. `make(number)` returns method, path, key, body and fields."""
    numbers = itertools.count()

    async def turn(connection, counts):
        answer = await connection.ask(*make(next(numbers)), timeout)
        counts[str(answer.status)] += 1
        return not answer.says_close()

    return await paced(attack, signals, connections, rate, turn, source, first)


async def flood(attack, signals, connections, rate, make, source):
    """Pipelined requests, `AT_ONCE` per write. `make()` returns the bytes of one request."""

    async def turn(connection, counts):
        connection.writer.write(b"".join(make() for _ in range(AT_ONCE)))
        for _ in range(AT_ONCE):
            answer = await connection.receive()
            counts[str(answer.status)] += 1
            if answer.says_close():
                return False
        return True

    return await paced(attack, signals, connections, rate / AT_ONCE, turn, source)
