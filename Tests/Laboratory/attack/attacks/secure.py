"""TLS and HTTP/2."""

import asyncio
import os
import socket
import ssl
import struct
import subprocess

from attack import Attack
from client import Connection


def certificate(directory):
    """A temporary certificate and its key, or None without openssl."""
    place = [os.path.join(directory, name) for name in ("certificate.pem", "key.pem")]
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=push.example.com",
                        "-keyout", place[1], "-out", place[0]], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    os.chmod(place[1], 0o600)
    return place


def trusting(ciphers=None, version=None, protocols=None):
    """A TLS context that does not verify the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if version:
        # Python warns of versions before 1.2, but this attack tries them.
        context.minimum_version = context.maximum_version = version
    if ciphers:
        context.set_ciphers(ciphers)
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


class Suites(Attack):
    """TLS with old versions, and with suites without forward secrecy."""

    name = "TLS"
    must = "only TLS 1.2 with ECDHE and AEAD, and TLS 1.3"
    has_load = False
    flags = ("--tls",)
    REFUSED = ["AES128-SHA", "AES256-SHA", "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "ECDHE-RSA-AES128-SHA",
               "ECDHE-RSA-AES256-SHA384"]
    TAKEN = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"]

    async def check(self, seen, service):
        faults = []
        for suite in self.REFUSED:
            if await self.speaks(trusting(f"{suite}:@SECLEVEL=0", ssl.TLSVersion.TLSv1_2)):
                faults.append(f"{suite} is accepted")
        for suite in self.TAKEN:
            if not await self.speaks(trusting(suite, ssl.TLSVersion.TLSv1_2)):
                faults.append(f"{suite} is refused")
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            if await self.speaks(trusting("DEFAULT:@SECLEVEL=0", version)):
                faults.append(f"{version.name} is accepted")
        if not await self.speaks(trusting(version=ssl.TLSVersion.TLSv1_3)):
            faults.append("TLS 1.3 is refused")
        return faults

    async def speaks(self, context):
        try:
            connection = await Connection.open(self.target, tls=context)
        except (OSError, TimeoutError):
            return False
        try:
            return (await connection.ask("GET", "/livez")).status == 200
        except OSError:
            return False
        finally:
            connection.close()


class ManyFields(Attack):
    """An HTTP/2 request with too many header fields."""

    name = "HTTP/2 fields"
    must = "more than 100 fields are refused, as in HTTP/1.1"
    has_load = False
    flags = ("--tls",)

    async def check(self, seen, service):
        few, many = [await asyncio.to_thread(self.answer, count) for count in (10, 150)]
        faults = [] if few == 0x88 else [f"a request with 10 fields does not get 200 ({few})"]
        return faults + (["150 fields get 200"] if many == 0x88 else [])

    def answer(self, count):
        """The first byte of the response header (0x88 means :status 200), or None after the end of the stream or connection."""
        plain = socket.create_connection((self.target.server(), self.target.port), 5)
        with trusting(protocols=["h2"]).wrap_socket(plain, server_hostname="push.example.com") as made:
            if made.selected_alpn_protocol() != "h2":
                return None
            fields = {":method": "GET", ":path": "/livez", ":scheme": "https", ":authority": "push.example.com"}
            fields |= {f"x-field-{number}": "v" for number in range(count)}
            # HPACK (RFC 7541, 6.2.2): literal fields without indexing.
            block = b"".join(bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
                             for name, value in fields.items())
            made.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(4, 0, 0, b"") + self.frame(1, 5, 1, block))
            stream = made.makefile("rb")
            try:
                while head := stream.read(9):
                    size, kind = struct.unpack(">I", b"\0" + head[:3])[0], head[3]
                    content = stream.read(size)
                    if kind == 1:
                        # A table size update may come first (RFC 7541, 6.3).
                        return next(byte for byte in content if byte & 0xE0 != 0x20)
                    if kind in (3, 7):
                        return None
            except OSError:
                return None

    @staticmethod
    def frame(kind, flags, stream, content):
        return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content


ALL = [Suites, ManyFields]
