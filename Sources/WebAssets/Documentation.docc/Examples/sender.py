"""Shows the latest content of each alias on every phone. The guide For senders says what it reads, needs and does."""
import asyncio, contextlib, datetime, json, random, sys, time, uuid
from os import environ as env
import httpx, jwt

registry = httpx.AsyncClient(base_url=env["REGISTRY"], headers={"Authorization": "Bearer " + env["SENDER_KEY"]}, timeout=60)
apns = httpx.AsyncClient(base_url=env["APNS"], http2=True, limits=httpx.Limits(max_connections=1), timeout=20)
# For tests alone, which play an hour in a minute. The registry's clock stays the real one.
SPEED, START = float(env.get("CLOCK_SPEED", 1)), float(env.get("CLOCK_START", 0))
works, token = {}, {"issued": float("-inf")}

def clock(moment=None):
    return START + ((datetime.datetime.fromisoformat(moment).timestamp() if moment else time.time()) - START) * SPEED

def authorization():
    """One JWT for all pushes, for 45 minutes: APNs refuses another one within 20, and one that is older than an hour."""
    if clock() - token["issued"] > 45 * 60:
        claims, key = {"iss": env["APNS_TEAM_ID"], "iat": int(clock())}, open(env["APNS_KEY"]).read()
        token.update(issued=clock(), text="bearer " + jwt.encode(claims, key, "ES256", {"kid": env["APNS_KEY_ID"]}))
    return {"authorization": token["text"]}

async def send(client, method, path, body=None, fields=dict, is_wanted=lambda: True, turn=0):
    """The answer. After none, 408, 429 and 5xx the same goes out again, later and later, while it is wanted."""
    while is_wanted():
        told, turn = 0, turn + 1
        with contextlib.suppress(httpx.TransportError):  # such as GOAWAY: the next request makes a new connection
            answer = await client.request(method, path, json=body, headers=fields())
            if answer.status_code < 500 and answer.status_code not in (408, 429):
                return answer
            told = float(answer.headers.get("Retry-After", 0))
        await asyncio.sleep(max(told, random.uniform(0.5, 1) * min(2**turn, 60)) / SPEED)

async def call(method, path, body=None):
    answer = await send(registry, method, path, body)
    return answer.json() if answer.status_code in (200, 410) else sys.exit(answer.json()["detail"])

async def push(entry, page, aps, is_latest):  # gives APNs's answer as a report; none when there is something newer to push
    is_start = "leaseId" in entry  # A phone that is offline gets it later: after the lease, it could be a second activity.
    until = clock(entry["leasedUntil"] if is_start else entry["expiresAt"])
    fields = {"apns-topic": page["topic"], "apns-push-type": page["pushType"], "apns-expiration": str(int(until)),
              "apns-id": str(uuid.uuid4()), "apns-priority": "5" if aps["event"] == "update" else "10",
              **({"apns-collapse-id": entry["collapseId"]} if is_start else {})}
    answer = await send(apns, "POST", "/3/device/" + entry["token"], {"aps": aps}, lambda: fields | authorization(),
                        lambda: clock() < until and (is_start or is_latest()))
    return answer and {"token": entry["token"], "status": answer.status_code, "leaseId": entry.get("leaseId"),
                       **json.loads(answer.content or "{}")}  # the reason, and the timestamp of a 410

async def keep(work):  # pushes what is wanted of an alias to the phones that have not got it, whenever something is new
    while True:
        work["due"].clear()
        wanted, shown, again, page, plan = work["wanted"], work["shown"], clock() + 3600, {"nextCursor": None}, str(uuid.uuid4())
        work["stamp"] = max(int(clock()), work["stamp"] + 1)  # whole seconds, each greater than the last
        update = {"timestamp": work["stamp"], "event": wanted["event"], "content-state": wanted["contentState"]}
        start = {**update, "event": "start", "attributes-type": wanted["attributesType"],
                 "attributes": wanted["attributes"], "alert": {"title": wanted["alias"]["value"]}}
        while "nextCursor" in page:
            page = await call("POST", "plan", {
                "planId": plan, "cursor": page["nextCursor"], "attributesType": wanted["attributesType"],
                "alias": wanted["alias"], "to": wanted["to"] if wanted["event"] == "update" else []})  # an end starts nothing
            due = [each for each in page["installations"] if each["action"] in ("update", "start") and each["token"] not in shown]
            pushes = [push(each, page, start if "leaseId" in each else update, lambda: work["wanted"] is wanted) for each in due]
            reports = [report for report in await asyncio.gather(*pushes) if report]
            await call("POST", "feedback", {"reports": reports})
            shown |= {report["token"] for report in reports if report["status"] == 200 and not report["leaseId"]}
            again = min([again] + [clock(entry["retryAt"]) for entry in page["installations"] if entry["action"] == "wait"])
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(work["due"].wait(), max(0, again - clock()) / SPEED)

async def follow(after):  # has those aliases looked at again that a change names: a token has come, or another one
    while True:
        page = await call("GET", f"changes?after={after}&wait=30")
        after = page.get("after") or (await call("GET", "changes"))["after"]  # after feed-expired, feed-reset: anew
        aliases = [item for change in page.get("changes", []) for item in change.get("aliases", {}).items()]
        names = {(kind, value) for kind, values in aliases for value in values}
        for work in [work for work in works.values() if names & work["names"] or "after" not in page]:
            work["due"].set()

async def main():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(follow((await call("GET", "changes"))["after"]))  # from a position before the first plan
        while line := await asyncio.to_thread(sys.stdin.readline):
            wanted = json.loads(line)
            names = [(alias["kind"], alias["value"]) for alias in [wanted["alias"], *wanted["to"]]]
            work = works.setdefault(names[0], {"stamp": 0, "due": asyncio.Event()})
            work.update(wanted=wanted, names=set(names), shown=set())
            work["due"].set()
            work["task"] = work.get("task") or tasks.create_task(keep(work))

asyncio.run(main())
