"""Calls all routes of openapi.json and all pages of the console and the documentation with malformed and unusual values."""

import asyncio
import json
import os
import random
import re
import time

import nasty
from callers import sign_in
from client import APP, Connection, Gone, ask, made_up_key

DOES = "Grammar: all routes, with nasty times, durations, numbers, cursors, cookies and forms"
MUST = "no 5xx, no hang, no crash, no error in the log"
usual, long = 4000, 100_000

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Sources", "WebAssets", "openapi.json")
CONSOLE = "/console/{bundleId}/{environment}"
PAGES = [("GET", path, None) for path in (
    "/console", "/console/sign-in", CONSOLE, f"{CONSOLE}/search", f"{CONSOLE}/activities/{{activityId}}", f"{CONSOLE}/aliases/{{kind}}/{{value}}",
    f"{CONSOLE}/system", f"{CONSOLE}/stale", f"{CONSOLE}/stale/purge", f"{CONSOLE}/installations", f"{CONSOLE}/installations/{{hash}}",
    f"{CONSOLE}/channels", f"{CONSOLE}/keys", "/console/assets/{version}/{name}", "/docs", "/docs/{page}", "/docs/reference/{page}",
    "/docs/assets/{version}/{name}",
)] + [("POST", path, "form") for path in (
    "/console/sign-in", f"{CONSOLE}/stale/purge", f"{CONSOLE}/activities/{{activityId}}/release", f"{CONSOLE}/keys/{{keyId}}/revoke",
)]
QUERY = {"GET": ["limit", "cursor", "since", "until", "window", "unconfirmedFor", "kind", "value", "reason", "type", "alias", "q", "next",
                 "attributesType", "installationId", "activityId", "subject", "observedAt", "verbose", "page", "sort"],
         "POST": ["limit"], "DELETE": ["reason", "observedAt", "alias"], "PUT": ["observedAt"]}
FORM = ["form", "key", "next", "kind", "reason", "attributesType", "unconfirmedFor", "dryRun", "count", "confirm"]
KNOWN = {"bundleId": APP, "environment": "sandbox", "kind": "liveactivityId", "value": "order-1", "activityId": "a-1",
         "installationId": "i-1", "attributesType": "Delivery", "keyId": "prc_0aB1cD2eF3gH", "page": "api", "name": "x.css", "version": "0"}


class Document:
    """The routes of openapi.json, with a valid body for each."""

    def __init__(self):
        with open(DOCUMENT, encoding="utf-8") as file:
            self.document = json.load(file)
        self.routes = []
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                if method not in ("get", "put", "post", "delete"):
                    continue
                for kind, content in operation.get("requestBody", {}).get("content", {"": None}).items():
                    self.routes.append((method.upper(), path, (kind, self.example(content)) if content else None))

    def example(self, content):
        schema = self.resolved(content["schema"])
        examples = schema.get("examples") or [content.get("example")]
        return examples[0] if examples and examples[0] is not None else self.made(schema)

    def resolved(self, schema):
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def made(self, schema):
        """A value that matches a schema."""
        schema = self.resolved(schema)
        for choice in ("anyOf", "oneOf", "allOf"):
            if choice in schema:
                return self.made(schema[choice][0])
        if "examples" in schema:
            return schema["examples"][0]
        if "enum" in schema:
            return schema["enum"][0]
        kind = schema.get("type", "object")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "object":
            return {name: self.made(part) for name, part in schema.get("properties", {}).items()}
        return {"array": [self.made(schema["items"])] if "items" in schema else [], "string": "abcd", "integer": 1, "number": 1.5, "boolean": True}.get(kind)


class Grammar:
    def __init__(self, seed, keys, cookie):
        self.random = random.Random(f"{seed}-grammar")
        self.keys, self.cookie = keys, cookie
        routes = Document().routes
        self.routes = routes * 2 + PAGES

    def maybe(self, share):
        return self.random.random() < share

    def place(self, name, path):
        if name == "bundleId" and path == "/v1/apps/{bundleId}":
            # An app that may be deleted.
            return f"com.example.g{self.random.randrange(5)}" if self.maybe(0.8) else nasty.escaped(self.random, nasty.any_text(self.random)) or "-"
        odd = {"bundleId": 0.05, "environment": 0.05}.get(name, 0.5)
        known = KNOWN.get(name, "1")
        return nasty.escaped(self.random, nasty.any_text(self.random) if self.maybe(odd) else known) or "-"

    def query(self, method):
        if self.maybe(0.4):
            return ""
        names = self.random.sample(QUERY[method], min(len(QUERY[method]), self.random.choice([1, 1, 2, 3])))
        parts = [f"{name}={nasty.escaped(self.random, self.query_value(name))}" for name in names]
        if self.maybe(0.05):
            parts.append(self.random.choice(["", "=", "&&", "limit", "limit=1&limit=2", "a=b=c", "%=%", "=" * 50]))
        return "?" + "&".join(parts)

    def query_value(self, name):
        lists = {"limit": nasty.NUMBERS, "cursor": nasty.CURSORS, "since": nasty.TIMES, "until": nasty.TIMES, "observedAt": nasty.TIMES,
                 "window": nasty.DURATIONS, "unconfirmedFor": nasty.DURATIONS}
        return str(self.random.choice(lists[name])) if name in lists and self.maybe(0.7) else nasty.any_text(self.random)

    def next(self):
        method, path, body = self.random.choice(self.routes)
        target = re.sub(r"\{(\w+)\}", lambda found: self.place(found[1], path), path) + self.query(method)
        fields = [("Host", "push.example.com"), *self.credentials(path)]
        content = None
        if body == "form":
            content = "&".join(f"{name}={nasty.escaped(self.random, nasty.any_text(self.random))}" for name in self.random.sample(FORM, 4)).encode()
            fields.append(("Content-Type", "application/x-www-form-urlencoded"))
        elif body:
            content = nasty.written(self.random, self.bent(body[1]))
            fields.append(("Content-Type", body[0]))
        return method, target, fields, content

    def bent(self, body):
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            body = nasty.bent(self.random, body)
        return body

    def credentials(self, path):
        fields = []
        if path.startswith("/console") and self.maybe(0.9):
            cookie = self.cookie if self.maybe(0.8) else self.bent_cookie()
            fields.append(("Cookie", cookie))
            if self.maybe(0.3):
                fields.append(("Origin", self.random.choice(["null", "http://push.example.com", "https://evil.example", ""])))
        elif self.maybe(0.95):
            role = self.random.choice(["root", "admin", "admin", "sender", "auditor", "client"])
            fields.append(("Authorization", f"Bearer {self.keys[role]}" if self.maybe(0.97) else f"Bearer {made_up_key()}"))
            if role == "client" or self.maybe(0.05):
                fields.append(("X-Installation-Id", self.random.choice(["i-1", "i-2", "é", "a" * 129])))
        if self.maybe(0.1):
            fields.append(("Accept", self.random.choice(["application/x-ndjson", "text/html", "*/*;q=0", ",,,", "application/json;q=9"])))
        return fields

    def bent_cookie(self):
        parts = self.cookie.split(".")
        place = self.random.randrange(len(parts))
        parts[place] = self.random.choice(["", "9" * 30, "-1", "4294967295", "4294967296", "0", "é", parts[place][::-1], "a;b", "="])
        return ".".join(parts)


async def call(target, grammar, count, row):
    """Makes calls one after another. Returns the faults."""
    faults, connection, done = [], None, 0
    while done < count and len(faults) < 20:
        method, where, fields, body = grammar.next()
        lines = [f"{method} {where} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        text = "\r\n".join(lines).encode("utf-8", "surrogatepass") + b"\r\n\r\n" + (body or b"")
        what = f"{method} {where[:200]} {(body or b'')[:300]!r}"
        try:
            connection = connection or await Connection.open(target)
            connection.writer.write(text)
            answer = await connection.receive(method, 40, may_stream="/changes" in where)
            if answer.status >= 500:
                faults.append(f"{what}: {answer.status} {answer.body[:200]!r}")
            is_over = answer.says_close()
        except TimeoutError:
            faults.append(f"{what}: no response")
            is_over = True
        except (Gone, OSError) as error:
            # The service may close an idle connection, but must respond on a new one.
            faults.append(f"{what}: {error}")
            is_over = True
        done += 1
        if is_over and connection:
            connection.close()
            connection = None
        if done % 50 == 0:
            row.sample()
    return done, faults


async def prepare(target):
    for number in range(3):
        await ask(target, "PUT", f"/v1/apps/{APP}/sandbox/activities/a-{number}", target.keys["sender"],
                  {"token": f"ab{number:02x}", "installationId": "i-1", "aliases": {"liveactivityId": "order-1"}, "attributesType": "Delivery"})
    await ask(target, "PUT", f"/v1/apps/{APP}/sandbox/installations/i-1/device-token", target.keys["sender"], {"token": "dd01"})
    await ask(target, "PUT", f"/v1/apps/{APP}/sandbox/installations/i-1/start-tokens/Delivery", target.keys["sender"], {"token": "ee01"})
    return await sign_in(target, target.keys["admin"], None)


def run(service, seed, count, row):
    """Makes the calls and returns the faults. `row` samples the service meanwhile."""
    target = service.target._replace(has_network=False)
    cookie = asyncio.run(prepare(target))
    begin = time.monotonic()
    done, faults = asyncio.run(call(target, Grammar(seed, target.keys, cookie), count, row))
    row.values["requests"] = done
    print(f"figure: grammar, seed {seed}: {done} requests in {time.monotonic() - begin:.0f} s, {len(faults)} faults", flush=True)
    return faults
