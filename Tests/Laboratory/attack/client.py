"""An HTTP/1.1 client for callers and attackers: one connection and one source address, without hidden steps."""

import asyncio
import json
import random
import secrets
import socket
import time
import zlib
from typing import NamedTuple

APP = "com.example.food"
SCOPE = f"/v1/apps/{APP}/sandbox"
# Linux's constant, which Python does not define: permits binding every address of a network that the interface has.
IPV6_FREEBIND = 78
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Target(NamedTuple):
    """The addresses of a service, and the keys of its callers."""

    port: int
    has_network: bool
    keys: dict

    def server(self, source=None):
        """The service's address for callers from `source`."""
        if not self.has_network:
            return "127.0.0.1"
        return "fd00:9::1" if source and ":" in source else "10.9.0.1"

    def address(self, number):
        """One of up to 60,000 IPv4 addresses."""
        net = "10.9" if self.has_network else "127.1"
        return f"{net}.{1 + number // 250}.{1 + number % 250}"

    def network(self, number, host=1):
        """An address in one of many IPv6 networks of 64 bits, or an IPv4 address if this network has no IPv6."""
        return f"fd00:9:0:{number:x}::{host:x}" if self.has_network else self.address(number)


class Answer(NamedTuple):
    status: int
    fields: dict
    body: bytes

    def json(self):
        return json.loads(self.body)

    def says_close(self):
        return "close" in self.fields.get("connection", "").lower()


class Gone(ConnectionError):
    """The connection ended before a response."""


def request(method, path, key=None, body=None, fields=()):
    """The bytes of a request. `fields` are pairs, and may repeat."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    if body is not None:
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if not any(name.lower() == "content-type" for name, _ in fields):
            lines.append("Content-Type: application/json")
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


def client(installation):
    """The field that a publishable key requires."""
    return [("X-Installation-Id", installation)]


def checksum(body):
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = DIGITS[digit] + digits
    return digits


def made_up_key(role="s"):
    """A well-formed key that does not exist."""
    body = f"pr{role}_{random_digits(12)}_{random_digits(24)}"
    return body + checksum(body)


def random_digits(count):
    return "".join(random.choices(DIGITS, k=count))


def token():
    return secrets.token_hex(80)


def timestamp(offset=0.0):
    """RFC 3339 in milliseconds, `offset` seconds from now."""
    at = time.time() + offset
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03d}Z"


async def connect(target, source=None, port=None, timeout=5):
    """A connected, non-blocking socket."""
    server = target.server(source)
    made = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET)
    try:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if source:
            if ":" in source:
                made.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
            made.bind((source, 0))
        loop = asyncio.get_running_loop()
        await asyncio.wait_for(loop.sock_connect(made, (server, port or target.port)), timeout)
        return made
    except BaseException:
        made.close()
        raise


class Connection:
    """A connection that waits for responses."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, target, source=None, port=None, tls=None, timeout=5):
        made = await connect(target, source, port, timeout)
        more = {"ssl": tls, "server_hostname": "push.example.com"} if tls else {}
        return cls(*await asyncio.wait_for(asyncio.open_connection(sock=made, limit=2**22, **more), timeout))

    async def ask(self, method, path, key=None, body=None, fields=(), timeout=10):
        self.writer.write(request(method, path, key, body, fields))
        return await self.receive(method, timeout)

    async def receive(self, method="GET", timeout=10, may_stream=False):
        """The next response, or only its head if the response can be an endless stream.

        Raises Gone at the end of the connection, or TimeoutError."""
        return await asyncio.wait_for(self._receive(method, may_stream), timeout)

    async def _receive(self, method, may_stream):
        status = 100
        while 100 <= status < 200 and status != 101:
            head = await self._until(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            status = int(lines[0].split()[1])
        fields = {}
        for line in lines[1:]:
            if ":" in line:
                name, value = line.split(":", 1)
                name = name.lower()
                fields[name] = f"{fields[name]}, {value.strip()}" if name in fields else value.strip()
        if may_stream and fields.get("content-type", "").startswith("application/x-ndjson"):
            return Answer(status, fields | {"connection": "close"}, b"")
        return Answer(status, fields, await self._body(method, status, fields))

    async def _body(self, method, status, fields):
        if method == "HEAD" or status in (204, 304):
            return b""
        try:
            if "chunked" in fields.get("transfer-encoding", ""):
                body = b""
                while size := int(await self._until(b"\r\n"), 16):
                    body += await self.reader.readexactly(size)
                    await self._until(b"\r\n")
                await self._until(b"\r\n")
                return body
            if "content-length" in fields:
                return await self.reader.readexactly(int(fields["content-length"]))
            return await self.reader.read()
        except asyncio.IncompleteReadError as error:
            raise Gone("during a response") from error

    async def _until(self, mark):
        try:
            return await self.reader.readuntil(mark)
        except asyncio.IncompleteReadError as error:
            raise Gone("without a response") from error

    def close(self):
        self.writer.transport.abort()


async def ask(target, method, path, key=None, body=None, fields=(), source=None, port=None, timeout=10, tls=None):
    """One request on a separate connection."""
    connection = await Connection.open(target, source, port, tls)
    try:
        return await connection.ask(method, path, key, body, fields, timeout)
    finally:
        connection.close()
