"""Made-up keys and JWTs, and quotas that strangers use up."""

import base64
import collections
import itertools
import json
import secrets
import statistics
import time

from attack import Attack
from attacks.load import flood, repeat
from client import APP, SCOPE, Connection, ask, client, made_up_key, random_digits, request

class MadeUpKeys(Attack):
    """Well-formed keys that do not exist, each used once."""

    name = "made-up keys"
    must = "senders with keys that are new to this instance are accepted"
    offered = "at most 3,000/s, one address"
    needs_network = True

    async def load(self, signals):
        path = f"{SCOPE}/aliases/liveactivityId/x/activities"
        return await flood(self, signals, 8, self.rate(3000), lambda: request("GET", path, made_up_key()),
                           lambda _: self.target.address(900))


class Cookies(Attack):
    """Requests to the console with 250 cookies each, all for keys that do not exist."""

    name = "cookies"
    must = "senders with keys that are new to this instance are accepted"
    offered = "250 made-up sessions, 20/s, one address"
    needs_network = True

    async def load(self, signals):
        def make(_):
            now = int(time.time())
            cookies = [f"pushreg-console=1.pru_{random_digits(12)}.{now}.{now}.{secrets.token_hex(4)}.{secrets.token_hex(4)}"
                       for _ in range(250)]
            fields = [("Cookie", "; ".join(cookies[:120])), ("Cookie", "; ".join(cookies[120:]))]
            return "GET", "/console", None, None, fields

        return await repeat(self, signals, 4, self.rate(20), make, lambda _: self.target.address(910))


def part(value):
    return base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).rstrip(b"=").decode()


def forged_jwt():
    claims = {"iss": "https://login.example.com", "aud": "food", "sub": "u-1", "exp": int(time.time()) + 3600}
    head = {"alg": "RS256", "kid": "attack", "typ": "JWT"}
    return f"{part(head)}.{part(claims)}.{part(secrets.token_bytes(256))}"


def jwt_settings(bits=2048, kids=("attack",)):
    """Settings of an app that trusts keys without a known private half."""
    keys = [{"kty": "RSA", "kid": kid, "e": "AQAB", "n": part(((secrets.randbits(bits) | 1 << (bits - 1)) | 1).to_bytes(bits // 8))}
            for kid in kids]
    return {"jwt": {"issuer": "https://login.example.com", "audience": "food", "jwks": {"keys": keys}}}


class ForgedJWTs(Attack):
    """JWTs of an existing app and of made-up apps, with invalid signatures."""

    name = "forged JWTs"
    must = "callers are served; the JWTs cause no queries"
    offered = "at most 1,000/s, one address"
    needs_network = True

    async def load(self, signals):
        await ask(self.target, "PUT", f"/v1/apps/{APP}", self.target.keys["root"], jwt_settings())
        apps = itertools.cycle([APP, None])

        def make():
            app = next(apps) or f"com.example.a{secrets.token_hex(4)}"
            path = f"/v1/apps/{app}/sandbox/activities/x"
            return request("PUT", path, forged_jwt(), {"token": "ab"})

        return await flood(self, signals, 4, self.rate(1000), make, lambda _: self.target.address(920))


class Quota(Attack):
    """Ten addresses and ten networks use up the quota of a publishable key, which every copy of the app contains."""

    name = "quota"
    must = "phones with the same key are served"
    offered = "20 callers, 60/s each, refused (422); --key-rate 200"
    needs_network = True
    flags = ("--key-rate", "200")
    joins = False

    async def load(self, signals):
        def make(number):
            name = f"quota-{number}"
            return "PUT", f"{SCOPE}/activities/{name}", self.target.keys["client"], {"token": "xyz"}, client(name)

        def source(place):
            return self.target.address(930 + place) if place % 2 else self.target.network(930 + place)

        # More than the burst, so that only the rate per second remains.
        return await repeat(self, signals, 20, self.rate(1200), make, source, first=1000)


class Oracle(Attack):
    """A caller without credentials looks for existing apps by the bytes and the times of responses."""

    name = "which apps there are"
    must = ("same bytes for apps with JWTs, without, and unknown ones; medians within a quarter of a millisecond or 10 %, "
            "in one of three series")
    offered = "3 × 150 forged JWTs and keys, one after another"
    has_load = False

    async def check(self, seen, service):
        keys = self.target.keys
        await ask(self.target, "PUT", "/v1/apps/com.example.with", keys["root"], jwt_settings())
        await ask(self.target, "PUT", "/v1/apps/com.example.sans", keys["root"], {})
        faults = await self.words()
        # On a busy machine one series can differ by chance. A leak shows in each.
        for _ in range(3):
            differences = await self.times()
            if not differences:
                return faults
        return faults + differences

    async def words(self):
        faults = []
        for credentials in (forged_jwt(), made_up_key("c"), made_up_key("a"), "x.y.z", "nothing"):
            answers = {await self.text(app, credentials) for app in ("with", "sans", "none")}
            if len(answers) > 1:
                faults.append("answers differ: " + " / ".join(sorted(answers))[:300])
        return faults

    async def text(self, app, credentials):
        answer = await ask(self.target, "GET", f"/v1/apps/com.example.{app}/sandbox/stats", credentials,
                           fields=[("Request-Id", "same")], source=self.target.address(951))
        return f"{answer.status} {answer.body.decode().replace(app, 'APP')}"

    async def times(self):
        taken, connections = collections.defaultdict(list), {}
        for number in range(self.some(150, 60)):
            for app in ("sans", "none"):
                # A new address after a few requests, so that limits by address do not affect the times.
                source = self.target.address(960 + number // 10)
                if source not in connections:
                    connections[source] = await Connection.open(self.target, source)
                name = f"com.example.{app}" if app == "sans" else f"com.example.{app}{number}"
                begin = time.perf_counter()
                await connections[source].ask("GET", f"/v1/apps/{name}/sandbox/stats", forged_jwt())
                taken[app].append(time.perf_counter() - begin)
        for connection in connections.values():
            connection.close()
        known, unknown = (statistics.median(taken[app]) * 1000 for app in ("sans", "none"))
        if abs(known - unknown) > max(0.25, 0.1 * min(known, unknown)):
            return [f"medians of {known:.2f} ms for an app that exists and of {unknown:.2f} ms for one that does not exist"]
        return []


class LargeKeys(Attack):
    """An app's admin sets forty RSA keys of 8192 bits with one kid. A forged JWT costs time for each key."""

    name = "large keys"
    must = "they are refused (422)"
    has_load = False

    async def check(self, seen, service):
        answer = await ask(self.target, "PUT", "/v1/apps/com.example.large", self.target.keys["root"],
                           jwt_settings(8192, ["same"] * 40))
        return [] if answer.status in (413, 422) else [f"they get {answer.status}"]


ALL = [MadeUpKeys, Cookies, ForgedJWTs, Quota, Oracle, LargeKeys]
