"""Connections: too many, idle, slow."""

import asyncio
import collections

from attack import Attack, gather
from client import ask, connect, request

# The limit of connections for an address and for a network of 64 bits, by Threats.md.
MOST_OF_ONE = 1000
ADMIN_PORT = 9464


async def is_closed(made, patience):
    """Whether the service closes a connection without a request."""
    try:
        return not await asyncio.wait_for(asyncio.get_running_loop().sock_recv(made, 64), patience)
    except TimeoutError:
        return False
    except OSError:
        return True


async def is_served(made, patience):
    """Whether the service responds on a connection."""
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_sendall(made, request("GET", "/livez"))
        return (await asyncio.wait_for(loop.sock_recv(made, 64), patience)).startswith(b"HTTP/1.1 200")
    except (OSError, TimeoutError):
        return False


class Hold:
    """Connections without requests, held as long as the service permits."""

    def __init__(self, target):
        self.target, self.sockets, self.counts = target, [], collections.Counter()

    async def open(self, source, count=1):
        for _ in range(count):
            try:
                self.sockets.append(await connect(self.target, source, timeout=3))
                self.counts["opened"] += 1
            except (OSError, TimeoutError):
                self.counts["not opened"] += 1

    def living(self):
        """The number of open connections, checked without waiting."""
        self.sockets = [made for made in self.sockets if not self._has_ended(made)]
        return len(self.sockets)

    @staticmethod
    def _has_ended(made):
        try:
            ended = not made.recv(64, 0x40)  # MSG_DONTWAIT
        except BlockingIOError:
            return False
        except OSError:
            ended = True
        if ended:
            made.close()
        return ended

    def close(self):
        for made in self.sockets:
            made.close()
        self.sockets = []


class TooMany(Attack):
    """One address holds its maximum of connections, and continuously opens and closes others."""

    name = "connections"
    must = "an excess connection is closed immediately, and its slot becomes free"
    offered = "1000 held, 100/s more, one address"
    needs_network = True

    async def load(self, signals):
        hold, source, counts = Hold(self.target), self.target.address(1), collections.Counter()
        await gather(signals, 20, lambda _: hold.open(source, MOST_OF_ONE // 20))
        signals.ready()
        tasks = set()

        async def one_more():
            made = await connect(self.target, source)
            # The slot of a held connection is free after the idle timeout.
            if await is_closed(made, 3):
                counts["closed"] += 1
            else:
                counts["served" if await is_served(made, 3) else "neither served nor closed"] += 1
            made.close()

        async for _ in signals.turns(self.rate(100)):
            tasks.add(asyncio.create_task(one_more()))
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, BaseException):
                counts["closed"] += 1
        counts["opened"] = hold.counts["opened"]
        hold.close()
        return counts

    async def check(self, seen, service):
        if count := seen.get("neither served nor closed"):
            return [f"{count} connections beyond the limit of their address were neither served nor closed"]
        return [] if seen.get("closed") else ["no connection exceeded the limit"]


class OneNetwork(Attack):
    """One IPv6 network of 64 bits opens connections from many of its addresses."""

    name = "one network"
    must = f"a /64 has as many connections as an IPv4 address: {MOST_OF_ONE}"
    offered = "1,500 from 50 addresses of a /64"
    needs_network = True
    joins = False

    async def load(self, signals):
        hold = Hold(self.target)
        await gather(signals, 50, lambda number: hold.open(self.target.network(7, number + 1), 30))
        await asyncio.sleep(0.5)
        living = hold.living()
        signals.ready()
        await signals.until_stopped()
        hold.close()
        return {"living": living, "opened": hold.counts["opened"]}

    async def check(self, seen, service):
        living = seen.get("living", 0)
        return [f"{living} connections of one /64 were accepted"] if living > MOST_OF_ONE else []


class Hoard(Attack):
    """Twenty addresses hold all connections of the service idle, and reopen lost ones."""

    name = "hoard"
    must = "new callers are accepted while all connections are held"
    offered = "all connections, 20 addresses"
    needs_network = True
    joins = False
    # 10,000 connections in a full run; the service of a short run permits fewer.
    flags = ()
    networks = 20

    @property
    def most(self):
        return 10_000 if self.scale >= 1 else 1500

    @property
    def files(self):
        return self.most + 500

    def source(self, number):
        return self.target.address(100 + number % self.networks)

    async def load(self, signals):
        hold, wanted = Hold(self.target), self.most + 300
        each = -(-wanted // self.networks)
        await gather(signals, self.networks, lambda number: hold.open(self.source(number), each))
        signals.ready()
        number = 0
        async for _ in signals.turns(10):
            lost = min(wanted - hold.living(), 50)
            for _ in range(lost):
                number += 1
                await hold.open(self.source(number))
        counts = hold.counts
        hold.close()
        return counts

    def came_about(self, seen):
        return seen.get("opened", 0) >= self.most


class HoardOfNetworks(Hoard):
    """Two hundred IPv6 networks hold all connections of the service idle."""

    name = "hoard of networks"
    offered = "all connections, 200 /64s"
    networks = 200

    def source(self, number):
        return self.target.network(100 + number % self.networks)


class Slow(Attack):
    """Heads and bodies at a byte per second, and readers that do not read."""

    name = "slow"
    opened = 0
    must = "other callers are not affected"
    offered = "600 connections of 10 addresses, a byte per second each"

    async def load(self, signals):
        count = self.some(600, 60)
        work, spread = [self.slow_head, self.slow_body, self.slow_reader], 3

        async def call(number):
            # One after another, because simultaneous connections are another attack.
            await asyncio.sleep(spread * number / count)
            await work[number % 3](signals, self.target.address(200 + number % 10))

        running = asyncio.create_task(gather(signals, count, call))
        await asyncio.sleep(spread)
        signals.ready()
        return await running + collections.Counter(opened=self.opened)

    async def trickle(self, signals, source, first, then):
        made, loop = await connect(self.target, source), asyncio.get_running_loop()
        self.opened += 1
        try:
            await loop.sock_sendall(made, first)
            while not signals.is_stopped:
                await asyncio.sleep(1)
                await loop.sock_sendall(made, then)
        finally:
            made.close()

    async def slow_head(self, signals, source):
        await self.trickle(signals, source, b"GET /livez HTTP/1.1\r\nHost: push.example.com\r\nX-Slow: ", b"a")

    async def slow_body(self, signals, source):
        head = request("POST", "/v1/apps/com.example.food/sandbox/resolve", self.target.keys["sender"], b"",
                       [("Content-Type", "application/json")]).replace(b"Content-Length: 0", b"Content-Length: 60000")
        await self.trickle(signals, source, head, b" ")

    async def slow_reader(self, signals, source):
        made, loop = await connect(self.target, source), asyncio.get_running_loop()
        try:
            await asyncio.wait_for(loop.sock_sendall(made, request("GET", "/openapi.json") * 40), 2)
        except TimeoutError:
            pass
        await signals.until_stopped()
        made.close()


class AdminPort(Attack):
    """One address holds the few connections of the admin port."""

    name = "admin port"
    must = "another address gets the metrics"
    offered = "100 idle connections to the admin port"
    needs_network = True
    joins = False
    flags = ("--admin-port", str(ADMIN_PORT))

    async def load(self, signals):
        held = []
        for _ in range(100):
            try:
                held.append(await connect(self.target, self.target.address(30), ADMIN_PORT, 0.5))
            except (OSError, TimeoutError):
                break
        await asyncio.sleep(0.2)
        faults = 0
        for _ in range(5):
            try:
                answer = await ask(self.target, "GET", "/metrics", source=self.target.address(31),
                                   port=ADMIN_PORT, timeout=2)
                faults += answer.status != 200
            except (OSError, TimeoutError):
                faults += 1
        signals.ready()
        await signals.until_stopped()
        for made in held:
            made.close()
        return {"not answered": faults, "opened": len(held)}

    async def check(self, seen, service):
        count = seen.get("not answered", 0)
        return [f"{count} of 5 scrapes from another address got no response"] if count else []


ALL = [TooMany, OneNetwork, Hoard, HoardOfNetworks, Slow, AdminPort]
