"""Sends each request in the form that the connection's pipeline handles and in another form, and compares the responses.

The two environments of an app start empty. Both get the same requests in the same order, but in different forms: with a
Connection field, with Expect, or in chunks. The responses must be equal, except for times, generated ids and the name of the
environment.
"""

import asyncio
import itertools
import multiprocessing
import random
import re
import time

import nasty
from client import APP, Connection, Gone, ask, made_up_key

DOES = "Differential: hot and other calls, each in the fast form and in a slow form, to two environments in the same state"
MUST = "no difference, no 5xx, no hang; memory flat"
usual, long = 5000, 500_000

# Environments instead of apps, because the installation hash depends on the app and decides between equal times.
ENVIRONMENTS = ("sandbox", "production")
LEFT_OUT = {"date", "request-id", "connection", "keep-alive", "content-length", "transfer-encoding"}
NORMAL = [
    (re.compile(rb"sandbox|production"), b"ENVIRONMENT"),
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), b"TIME"),
    # A response mentions a record of the other environment, and the order of the requests decides which response.
    (re.compile(rb" It is known in ENVIRONMENT\."), b""),
    # Generated ids.
    (re.compile(rb"[0-9a-f]{12}-[0-9a-f]{16}"), b"ID"),
    (re.compile(rb'"(requestId|nextCursor)":"[^"]*"'), rb'"\1":"X"'),
]


class Form:
    """The form of a request. The service handles each form in a different way."""

    FAST = "fast"
    SLOW = ["odd expect", "expect", "chunks", "chunks of one"]

    @staticmethod
    def bytes(form, method, target, fields, body):
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)]
        if form == "odd expect":
            lines.append("Expect: nothing")
        elif form == "expect":
            lines.append("Expect: 100-continue")
        content = body or b""
        if form.startswith("chunks"):
            lines.append("Transfer-Encoding: chunked")
            size = 1 if form == "chunks of one" and len(content) < 300 else max(1, len(content) // 3)
            parts = [content[place:place + size] for place in range(0, len(content), size)]
            content = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
        elif body is not None:
            lines.append(f"Content-Length: {len(content)}")
        return "\r\n".join(lines).encode("utf-8", "surrogatepass") + b"\r\n\r\n" + content


class Grammar:
    """Requests. The same seed gives the same requests."""

    def __init__(self, seed, worker, keys):
        self.random, self.worker, self.keys = random.Random(f"{seed}-{worker}"), worker, keys
        self.base, self.count = time.time(), itertools.count()
        self.unknown = [made_up_key("s"), made_up_key("c"), "prs_nothing", "a.b.c"]
        # Ids and tokens of only this worker, so that workers do not change each other's responses.
        self.ids = [f"{worker}-{name}" for name in ("a", "b", "c", "d/e", "é", "e\u0301", "\u212a", "K", "x" * 100)]
        self.installations = [f"{worker}-i{number}" for number in range(4)]
        self.aliases = [f"{worker}-{name}" for name in ("order", "match", "é", "\u212b")]
        self.tokens = [f"{worker:02x}{number:04x}{'ab' * (number % 40)}" for number in range(16)]
        self.calls = itertools.chain.from_iterable([call] * weight for call, weight in [
            (self.register, 12), (self.resolve, 8), (self.resolve_many, 5), (self.end, 3), (self.read, 2), (self.full_state, 2),
            (self.profile, 1), (self.device_token, 1), (self.feedback, 2), (self.by_alias, 2), (self.end_by_alias, 1), (self.nowhere, 1),
        ])
        self.calls = list(self.calls)

    def pick(self, values, odd=0.06):
        if self.random.random() >= odd:
            return self.random.choice(values)
        text = nasty.text(self.random)
        # These values are always refused. Other values also belong to only this worker.
        return text if text in ("", ".", "..") else f"{text}{self.worker}"

    def maybe(self, share):
        return self.random.random() < share

    def part(self, values):
        return nasty.escaped(self.random, self.pick(values))

    def at(self, offset=None):
        """A time in the distant past, or an invalid time. Its validity does not change during the run."""
        if self.maybe(0.04):
            return self.random.choice(nasty.TIMES)
        at = self.base - (offset if offset is not None else self.random.choice([60, 61, 62, 600, 3600, 7200, 10 * 3600]))
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + self.random.choice(["Z", ".5Z", ".123Z", "+00:00"])

    def registration(self):
        body = {"token": self.pick(self.tokens), "observedAt": self.at()}
        if self.maybe(0.4):
            body["aliases"] = {"liveactivityId": self.pick(self.aliases)}
        if self.maybe(0.4):
            body["installationId"] = self.pick(self.installations)
        if self.maybe(0.15):
            body["metadata"] = {self.pick(["a", "b"]): nasty.value(self.random)}
        if self.maybe(0.1):
            body["startedAt"] = self.at()
        if self.maybe(0.05):
            body["attributesType"] = self.pick(["Delivery", "Match"])
        return nasty.bent(self.random, body) if self.maybe(0.12) else body

    def register(self):
        return "PUT", f"/activities/{self.part(self.ids)}", self.registration(), "client"

    def resolve(self):
        query = self.random.choice(["", "?limit=1", "?limit=10", "?limit=0", "?limit=1001", "?cursor=x", "?limit=é", "?&&=", "?limit=1&limit=2", "?a=%"])
        kind = self.pick(["liveactivityId"], 0.03)
        return "GET", f"/aliases/{nasty.escaped(self.random, kind)}/{self.part(self.aliases)}/activities{query}", None, "sender"

    def resolve_many(self):
        aliases = [{"kind": "liveactivityId", "value": self.pick(self.aliases)} for _ in range(self.random.randrange(5))]
        body = {"aliases": aliases}
        if self.maybe(0.3):
            body["limitPerAlias"] = self.random.choice([1, 10, 0, 1001, None])
        return "POST", "/resolve", nasty.bent(self.random, body) if self.maybe(0.15) else body, "sender"

    def end(self):
        query = self.random.choice(["", "?reason=dismissed", "?reason=x", f"?observedAt={self.at()}".replace("+", "%2B")])
        return "DELETE", f"/activities/{self.part(self.ids)}{query}", None, "client"

    def read(self):
        return "GET", f"/activities/{self.part(self.ids)}", None, "sender"

    def full_state(self):
        items = [{"activityId": self.pick(self.ids), "token": self.pick(self.tokens)} for _ in range(self.random.randrange(4))]
        body = {"observedAt": self.at(), "activities": items}
        return "PUT", f"/installations/{self.part(self.installations)}/activities", body, "client"

    def profile(self):
        body = {"aliases": {"liveactivityId": self.pick(self.aliases)}, "observedAt": self.at()}
        return "PUT", f"/installations/{self.part(self.installations)}", body, "client"

    def device_token(self):
        return "PUT", f"/installations/{self.part(self.installations)}/device-token", {
            "token": f"dd{self.worker:02x}{self.random.randrange(8):02x}", "observedAt": self.at()}, "client"

    def feedback(self):
        # Quarantines count for a whole app and environment, so they would depend on other workers.
        reports = [{"token": self.pick(self.tokens), "status": self.random.choice([200, 410, 429, 500]), "reason": "Unregistered",
                    "timestamp": int((self.base - self.random.choice([61, 600, 7200])) * 1000)} for _ in range(self.random.randrange(4))]
        return "POST", "/feedback", {"reports": reports}, "sender"

    def by_alias(self):
        # A unique time: for equal times the greater id wins, and here the service generates the ids.
        at = self.base - 5000 + next(self.count) / 1000
        observed = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03d}Z"
        body = {"token": self.pick(self.tokens), "alias": self.pick(self.aliases), "observedAt": observed}
        return "POST", "/activities", body, "client"

    def end_by_alias(self):
        return "DELETE", f"/activities?alias={self.part(self.aliases)}", None, "client"

    def nowhere(self):
        return self.random.choice(["GET", "PUT", "PATCH", "POST", "OPTIONS"]), self.random.choice(
            ["/activities", "/resolve", "/", "", "//", "/aliases/a/b", "/activities/%", "/activities/a/b/c", "/resolve/"]), None, "sender"

    def next(self):
        """A method, a target, fields and a body, with ENVIRONMENT as a placeholder."""
        method, path, body, role = self.random.choice(self.calls)()
        if self.maybe(0.03):
            method = self.random.choice(["GET", "PUT", "POST", "DELETE", "PATCH", "put", "HEAD"])
        environment = "ENVIRONMENT" if self.maybe(0.97) else nasty.escaped(self.random, nasty.text(self.random)) or "-"
        app = APP if self.maybe(0.98) else "com.example.none"
        target = f"/v1/apps/{app}/{environment}{path}"
        fields = self.fields(role, body is not None)
        return method, target, fields, None if body is None else nasty.written(self.random, body)

    def fields(self, role, has_body):
        fields = [("Host", "push.example.com")]
        for _ in range(self.random.choices([0, 1, 2], [2, 96, 2])[0]):
            fields.append((self.random.choice(["Authorization"] * 9 + ["authorization"]), self.credentials(role)))
        if role == "client" and self.maybe(0.9):
            fields.append(("X-Installation-Id", self.pick(self.installations, 0.02).replace("\r", "").replace("\n", "").replace("\0", "")))
        if has_body:
            fields.append(("Content-Type", self.random.choice(
                ["application/json"] * 20 + ["application/json; charset=utf-8", "text/plain", "", "application/JSON", "application/x-ndjson"])))
        if self.maybe(0.1):
            fields.append(("Accept", self.random.choice(["*/*", "application/json", "text/html", "application/json;q=0.5", "", "application/x-ndjson"])))
        if self.maybe(0.05):
            fields.append(self.random.choice([
                ("Request-Id", "abc"), ("Request-Id", "é"), ("Content-Encoding", "gzip"), ("X-Forwarded-For", "1.2.3.4"), ("traceparent", "00-0-0-0"),
                ("Cookie", "pushreg-console=1"), ("X-Empty", ""), ("If-None-Match", "*"), ("X-Long", "l" * 3000)]))
        return fields

    def credentials(self, role):
        kind = self.random.random()
        if kind < 0.9:
            return f"Bearer KEY-{role if self.maybe(0.9) else self.random.choice(['client', 'sender', 'auditor', 'admin'])}."
        return self.random.choice([f"Bearer {self.random.choice(self.unknown)}", "bearer KEY-sender.", "Basic KEY-sender.", "KEY-sender.", "Bearer  KEY-client.",
                                   "Bearer KEY-root.", "Bearer OTHER-sender.", ""])


def filled(number, keys, request):
    """A request to one of the environments, with its keys filled in."""
    method, target, fields, body = request

    def key(found):
        return keys[found[1]][found[2]]

    fields = [(name, re.sub(r"(KEY|OTHER)-(\w+)\.", key, value)) for name, value in fields]
    return method, target.replace("ENVIRONMENT", ENVIRONMENTS[number]), fields, body


class Way:
    """The connection to one environment."""

    def __init__(self, target):
        self.target, self.connection = target, None

    async def ask(self, methods, texts):
        """The responses to requests in one write. Requests without a response before the connection ends are sent again."""
        answers = []
        while len(answers) < len(texts):
            if self.connection is None:
                self.connection = await Connection.open(self.target)
            begin, went_on = len(answers), True
            self.connection.writer.write(b"".join(texts[begin:]))
            while went_on and len(answers) < len(texts):
                went_on = await self.take(methods[len(answers)], answers, len(answers) == begin)
            if not went_on:
                self.connection.close()
                self.connection = None
        return answers

    async def take(self, method, answers, is_first):
        """Whether the connection stays open."""
        try:
            answer = await self.connection.receive(method, 40)
        except (Gone, ConnectionError):
            # A first request without a response will not get one on another connection.
            if is_first:
                answers.append(("closed", {}, b""))
            return False
        except TimeoutError:
            answers.append(("hang", {}, b""))
            return False
        answers.append(answer)
        return not answer.says_close()


def normal(answer):
    status, fields, body = answer
    for pattern, replacement in NORMAL:
        body = pattern.sub(replacement, body)
    return status, {name: value for name, value in fields.items() if name not in LEFT_OUT}, body


async def work(target, seed, worker, count, keys, report):
    grammar, ways = Grammar(seed, worker, keys), [Way(target), Way(target)]
    done, faults = 0, []
    while done < count and len(faults) < 10:
        requests = [grammar.next() for _ in range(min(grammar.random.choice([1, 1, 2, 4, 8, 16]), count - done))]
        forms = [grammar.random.choice(Form.SLOW) for _ in requests]
        both = []
        for number, way in enumerate(ways):
            texts = [Form.bytes(form if number else Form.FAST, *filled(number, keys, request)) for form, request in zip(forms, requests)]
            both.append(await way.ask([request[0] for request in requests], texts))
        for request, form, fast, slow in zip(requests, forms, *both):
            faults += compare(request, form, fast, slow)
        done += len(requests)
        report.value = done
    return done, faults


def compare(request, form, fast, slow):
    what = f"{request[0]} {request[1]} {request[2]!r} {(request[3] or b'')[:300]!r} ({form})"
    faults = []
    for answer in (fast, slow):
        if answer[0] == "hang" or (isinstance(answer[0], int) and answer[0] >= 500):
            faults.append(f"{what}: {answer[0]} {answer[2][:200]!r}")
    one, other = repr(normal(fast)), repr(normal(slow))
    if one != other:
        place = max(0, next((place for place, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other))) - 60)
        faults.append(f"{what}: fast {fast[0]} …{one[place:place + 200]}, slow {slow[0]} …{other[place:place + 200]}")
    return faults


async def prepare(target):
    """The keys of the app, and of another app."""
    await ask(target, "PUT", "/v1/apps/com.example.other", target.keys["root"], {})
    other = await ask(target, "POST", "/v1/apps/com.example.other/keys", target.keys["root"], {"role": "sender"})
    return {"KEY": target.keys, "OTHER": {"sender": other.json()["key"]}}


def run(service, seed, count, row):
    """Makes the calls and returns the faults. `row` samples the service meanwhile."""
    # From loopback, which has no limit by address, because refusals by rate depend on the time.
    target = service.target._replace(has_network=False)
    keys = asyncio.run(prepare(target))
    workers = 2 if count <= 50_000 else 4
    pipes, progress = [], [multiprocessing.Value("q", 0) for _ in range(workers)]
    for worker in range(workers):
        ours, theirs = multiprocessing.Pipe(False)
        arguments = (theirs, target, seed, worker, count // workers, keys, progress[worker])
        multiprocessing.Process(target=_work, args=arguments, daemon=True).start()
        theirs.close()
        pipes.append(ours)
    return collect(service, pipes, progress, seed, count, row)


def _work(pipe, target, seed, worker, count, keys, report):
    try:
        pipe.send(asyncio.run(work(target, seed, worker, count, keys, report)))
    except BaseException as error:
        pipe.send((0, [f"worker {worker}: {type(error).__name__} {error}"]))


def collect(service, pipes, progress, seed, count, row):
    faults, done, early = [], 0, None
    for pipe in pipes:
        while not pipe.poll(0.5):
            row.sample()
            if early is None and sum(value.value for value in progress) > count / 4 and service.is_alive():
                early = service.memory()[0]
        worker_done, worker_faults = pipe.recv()
        done, faults = done + worker_done, faults + worker_faults
    row.values["requests"] = 2 * done
    if early is not None and service.is_alive() and service.memory()[0] > early + 64:
        faults.append(f"memory grew from {early:.0f} MiB to {service.memory()[0]:.0f} MiB")
    print(f"figure: both ways, seed {seed}: {done} requests in both forms, {len(faults)} faults", flush=True)
    return faults
