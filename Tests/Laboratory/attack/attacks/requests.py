"""Unusual requests."""

import asyncio

from attack import Attack
from attacks.load import flood
from client import APP, SCOPE, Connection, Gone, ask, request


class Deafness(Attack):
    """Requests that stop a parser of HTTP/1.1: Upgrade and CONNECT."""

    name = "upgrades"
    must = "the next request gets a response, or the response announces the close of the connection, and it closes"
    has_load = False

    async def check(self, seen, service):
        upgrade = [("Connection", "Upgrade"), ("Upgrade", "h2c")]
        settings = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABkAAQAAP__")]
        websocket = [("Connection", "keep-alive, Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
        put = ("PUT", f"{SCOPE}/activities/deaf", self.target.keys["sender"], {"token": "ab"})
        calls = [(("GET", "/livez", None, None), fields) for fields in (upgrade, settings, websocket)]
        calls += [(put, fields) for fields in (upgrade, websocket, [*upgrade, ("Expect", "100-continue")])]
        calls.append((("CONNECT", "localhost:443", None, None), []))
        faults = [await self.fault(call, fields, pipelined) for call, fields in calls for pipelined in (False, True)]
        return [fault for fault in faults if fault]

    async def fault(self, call, fields, pipelined):
        connection = await Connection.open(self.target)
        what = f"{call[0]} {call[1]} with {dict(fields).get('Upgrade', 'no Upgrade')}{', pipelined' if pipelined else ''}"
        after = request("GET", "/livez")
        try:
            connection.writer.write(request(*call, fields) + (after if pipelined else b""))
            first = await connection.receive(call[0], 3)
            if not pipelined:
                connection.writer.write(after)
            second = await connection.receive("GET", 3)
            return None if second.status == 200 else f"{what}: the next request gets {second.status}"
        except (Gone, ConnectionError):
            return None if first.says_close() else f"{what}: it closes without an announcement"
        except TimeoutError:
            return f"{what}: the connection does not respond afterwards"
        finally:
            connection.close()


class Framing(Attack):
    """Requests that end the connection, requests that HTTP/1.1 forbids, and invalid installation ids."""

    name = "framing"
    must = "Connection: Close and HTTP/1.0 close; no Host, two Hosts are 400; bad or two installations 422"
    has_load = False

    async def check(self, seen, service):
        get = b"GET /livez HTTP/1.1\r\n"
        faults = [
            await self.ends(get + b"Host: a\r\nConnection: Close\r\n\r\n", 200, "Connection: Close"),
            await self.ends(get + b"Host: a\r\nConnection: foo, CLOSE\r\n\r\n", 200, "Connection: foo, CLOSE"),
            await self.ends(b"GET /livez HTTP/1.0\r\nHost: a\r\n\r\n", 200, "HTTP/1.0"),
            await self.ends(get + b"\r\n", 400, "no Host"),
            await self.ends(get + b"Host: a\r\nHost: b\r\n\r\n", 400, "two Hosts"),
            await self.named(b"X-Installation-Id: \xff\xfe\r\n", "an installation that is not UTF-8"),
            await self.named(b"X-Installation-Id: a\r\nX-Installation-Id: b\r\n", "two installations"),
        ]
        return [fault for fault in faults if fault]

    async def ends(self, text, status, what):
        connection = await Connection.open(self.target)
        try:
            connection.writer.write(text)
            answer = await connection.receive("GET", 3)
            if answer.status != status:
                return f"{what}: {answer.status} instead of {status}"
            return f"{what}: more bytes follow" if await asyncio.wait_for(connection.reader.read(1), 2) else None
        except TimeoutError:
            return f"{what}: the connection stays open"
        finally:
            connection.close()

    async def named(self, field, what):
        connection = await Connection.open(self.target)
        try:
            text = request("PUT", f"{SCOPE}/activities/framing", self.target.keys["client"], {"token": "abcd"})
            connection.writer.write(text.replace(b"Content-Type:", field + b"Content-Type:", 1))
            answer = await connection.receive("PUT", 5)
            return None if answer.status == 422 else f"{what}: {answer.status} instead of 422"
        finally:
            connection.close()


class LargeHeads(Attack):
    """Accept, Cookie and query of the maximum length, without credentials."""

    name = "large heads"
    must = "each costs the service at most sixteen times a plain request, plus 0.5 ms"
    has_load = False

    async def check(self, seen, service):
        path = f"{SCOPE}/aliases/liveactivityId/x/activities"
        media = ",".join(f"application/x-{number};q=0.{number % 10}" for number in range(600))[:16_000]
        cookie = "; ".join(f"c{number}=v" for number in range(3000))[:16_000]
        heads = {
            "plain": (path, []), "Accept": (path, [("Accept", media)]), "two of Accept": (path, [("Accept", media[:15_000])] * 2),
            "commas": (path, [("Accept", "," * 16_000)]), "Cookie": ("/console", [("Cookie", cookie)] * 2),
            "query": (f"{path}?{'a=&' * 2600}", []), "query of &": (f"{path}?{'&' * 7800}", []),
            "escapes": (f"{path}?{'%41=%42&' * 900}", []),
        }
        costs = {}
        for name, (where, fields) in heads.items():
            costs[name] = await self.cost(service, request("GET", where, None, None, fields))
        # A debug build checks each byte of a field slowly, and a plain request has few bytes.
        most = 16 * costs["plain"] + 0.5
        return [f"{name}: {cost:.2f} ms of processor time, plain {costs['plain']:.2f}"
                for name, cost in costs.items() if cost > most]

    async def cost(self, service, text):
        """Milliseconds of the service's processor time per request."""
        count = self.some(300, 100)
        connection = await Connection.open(self.target)
        try:
            begin = service.cpu()
            for _ in range(count):
                connection.writer.write(text)
                answer = await connection.receive()
                if answer.says_close():
                    connection.close()
                    connection = await Connection.open(self.target)
            return (service.cpu() - begin) / count * 1000
        finally:
            connection.close()


class Readiness(Attack):
    """Continuous requests for readiness."""

    name = "readyz"
    must = "callers are served; few requests reach Postgres"
    offered = "at most 3,000/s, one address"

    async def load(self, signals):
        return await flood(self, signals, 4, self.rate(3000), lambda: request("GET", "/readyz"), lambda _: self.target.address(970))

    async def check(self, seen, service):
        other = {status: count for status, count in seen.items() if status not in ("200", "429")}
        faults = [f"it got {other}"] if other else []
        begin = service.postgres_cpu()
        connection, count = await Connection.open(self.target), 1000
        connection.writer.write(request("GET", "/readyz") * count)
        for _ in range(count):
            await connection.receive()
        connection.close()
        spent = (service.postgres_cpu() - begin) / count * 1000
        return faults + ([f"each costs Postgres {spent:.3f} ms"] if spent > 0.04 else [])


class CrossSite(Attack):
    """A page of another site makes a browser send changes to a service without authentication."""

    name = "cross-site"
    must = "the change is refused"
    flags = ("--insecure-no-auth",)
    has_load = False

    async def check(self, seen, service):
        faults = []
        paths = [f"/v1/apps/{APP}/sandbox/release", f"/v1/apps/{APP}/sandbox/activities/x/release"]
        foreign = [[("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")],
                   [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")]]
        for path in paths:
            for fields in foreign:
                status = (await ask(self.target, "POST", path, None, None, [*fields, ("Content-Length", "0")])).status
                if status != 403:
                    faults.append(f"POST {path} with {dict(fields)}: {status}")
        return faults


ALL = [Deafness, Framing, LargeHeads, Readiness, CrossSite]
