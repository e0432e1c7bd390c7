"""Stored data: names that look alike, and numbers that Postgres writes in another form."""

from urllib.parse import quote

from attack import Attack
from client import APP, SCOPE, ask, client


class LookAlikes(Attack):
    """Reports two activities with equal-looking names, which are equivalent in Unicode, as dead in one batch."""

    name = "look-alikes"
    must = "senders get neither dead token again"
    has_load = False
    PAIRS = [("\u212a-1", "K-1"), ("caf\u00e9", "cafe\u0301"), ("\u212b", "\u00c5"), ("\u1e9b\u0323", "\u017f\u0323\u0307")]

    async def check(self, seen, service):
        faults = []
        for number, pair in enumerate(self.PAIRS):
            for reason, status in (("Unregistered", 410), ("BadDeviceToken", 400)):
                # Uses one pair of quarantines, because a few more trip the burst guard.
                if status == 400 and number:
                    continue
                faults += await self.pair(f"{number}{status}", pair, reason, status)
        return faults

    async def pair(self, run, pair, reason, status):
        key, tokens = self.target.keys["sender"], []
        for number, name in enumerate(pair):
            tokens.append(f"cafe{int(run):08x}{number:02x}")
            body = {"token": tokens[-1], "aliases": {"liveactivityId": f"alike-{run}"}}
            await ask(self.target, "PUT", f"{SCOPE}/activities/{quote(name + run)}", key, body)
        reports = [{"token": token, "status": status, "reason": reason} for token in tokens]
        answer = await ask(self.target, "POST", f"{SCOPE}/feedback", key, {"reports": reports})
        page = await ask(self.target, "GET", f"{SCOPE}/aliases/liveactivityId/alike-{run}/activities", key)
        left = [one["token"] for one in page.json()["activities"]]
        return [f"{reason} for {pair!a}: {answer.json()['results']}, and senders still get {left}"] if left else []


class Numbers(Attack):
    """Metadata that is short in the request and long in Postgres's form."""

    name = "numbers"
    must = "export succeeds; the activities can be rotated and ended; never a 500"
    has_load = False

    async def check(self, seen, service):
        key, field = self.target.keys["client"], client("numbers")
        faults = []
        for number, value in enumerate(["1e18", "1e17", "9.007199254740993e15", "1e308", "5e-324", "-0.0", "1E5", "0.1"]):
            # As many as fit in 2 KiB in the shortest form.
            metadata = '{"a":[' + ",".join([value] * 280) + "]}"
            body = f'{{"token":"{number:02x}ab","metadata":{metadata},"installationId":"numbers"}}'.encode()
            faults += await self.live(f"numbers-{number}", value, key, field, body)
        return faults + self.export(service)

    async def live(self, name, value, key, field, body):
        faults = []
        calls = [("PUT", f"{SCOPE}/activities/{name}", body)]
        calls += [("POST", f"{SCOPE}/activities", body.replace(b'"token":"', b'"alias":"' + name.encode() + b'","token":"' + end))
                  for end in (b"cd", b"ce")]
        calls += [("DELETE", f"{SCOPE}/activities?alias={name}", None), ("GET", f"{SCOPE}/activities/{name}", None)]
        for method, path, content in calls:
            bearer = self.target.keys["sender"] if method == "GET" else key
            answer = await ask(self.target, method, path, bearer, content, field if method != "GET" else ())
            if answer.status >= 500:
                faults.append(f"{method} {path} with {value}: {answer.status}")
        return faults

    @staticmethod
    def export(service):
        done = service.command("export", APP, "sandbox")
        if done.returncode == 0 and '"end":true' in done.stdout:
            return []
        return [f"export exits with {done.returncode}: {' '.join(done.stderr.strip().splitlines()[-1:])}"]


ALL = [LookAlikes, Numbers]
