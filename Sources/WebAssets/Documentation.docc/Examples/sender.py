"""Shows the latest content of each alias on every phone. See the guide For senders for its input, requirements and behavior."""
import asyncio, contextlib, datetime, json, jwt, random, sys, time, uuid
from httpx import AsyncClient, Limits, Timeout, TransportError
from os import environ as env
from urllib.parse import quote

registry = AsyncClient(base_url=env["REGISTRY"], headers={"Authorization": "Bearer " + env["SENDER_KEY"]}, timeout=60)
apns = AsyncClient(base_url=env["APNS"], http2=True, limits=Limits(max_connections=1), timeout=Timeout(20, pool=None))
SPEED, START = float(env.get("CLOCK_SPEED", 1)), float(env.get("CLOCK_START", 0))  # tests play an hour in a minute
works, answers, token = {}, asyncio.Queue(), {"issued": float("-inf")}
free = {client: asyncio.Semaphore(100) for client in (registry, apns)}  # httpx is slow with more waiting requests
free["plan"] = asyncio.Semaphore(3)  # The registry permits a network four heavy calls at once. The fourth is a report.

def clock(moment=None):
    return START + ((datetime.datetime.fromisoformat(moment).timestamp() if moment else time.time()) - START) * SPEED

def authorization():  # one JWT for 45 minutes: APNs refuses a new one within 20 minutes, and one older than an hour
    if clock() - token["issued"] > 45 * 60:
        claims, key = {"iss": env["APNS_TEAM_ID"], "iat": int(clock())}, open(env["APNS_KEY"]).read()
        token.update(issued=clock(), text="bearer " + jwt.encode(claims, key, "ES256", {"kid": env["APNS_KEY_ID"]}))
    return {"authorization": token["text"]}

async def send(client, method, path, body=None, fields=dict, is_wanted=lambda: True, turn=0):
    """Returns the response. Repeats the request with growing pauses after no response, 408, 429 and 5xx, while it is wanted."""
    while is_wanted():
        told, turn = 0, turn + 1
        async with free.get(path, free[client]):
            with contextlib.suppress(TransportError):  # such as GOAWAY: the next request opens a new connection
                answer = await client.request(method, path, json=body, headers=fields()) if is_wanted() else None
                if not answer or answer.status_code < 500 and answer.status_code not in (408, 429):
                    return answer
                told = int(said) if (said := answer.headers.get("Retry-After", "")).isdigit() else 0
        await asyncio.sleep(max(told, random.uniform(0.5, 1) * min(2**turn, 60)) / SPEED)

async def call(method, path, body=None):
    answer = await send(registry, method, path, body)
    if answer.status_code in (200, 204, 410): return answer.json() if answer.content else None
    sys.exit(answer.json()["detail"])

async def push(entry, page, aps, work, wanted):  # to one phone, until APNs responds or newer content exists
    is_start = "leaseId" in entry  # An offline phone gets it later. After the lease, it could be a second activity.
    until = clock(entry["leasedUntil"] if is_start else entry["expiresAt"])
    fields = {"apns-topic": page["topic"], "apns-push-type": page["pushType"], "apns-expiration": str(int(until)),
              "apns-id": str(uuid.uuid4()), "apns-priority": "5" if aps["event"] == "update" else "10",
              **({"apns-collapse-id": entry["collapseId"]} if is_start else {})}
    is_wanted = lambda: clock() < until and (work["wanted"] is wanted or is_start and work["wanted"]["event"] != "end")
    if answer := await send(apns, "POST", "/3/device/" + entry["token"], {"aps": aps}, lambda: fields | authorization(), is_wanted):
        answers.put_nowait({"token": entry["token"], "status": answer.status_code, "leaseId": entry.get("leaseId"),
                            **json.loads(answer.content or "{}")})  # the reason, and the timestamp of a 410
        if entry.get("action") == "end": await call("DELETE", "activities/" + quote(entry["activityId"], ""))

async def report():  # reports responses to the registry; those that arrive during a report are in the next one
    while first := await answers.get():
        await call("POST", "feedback", {"reports": [first] + [answers.get_nowait() for _ in range(min(answers.qsize(), 999))]})

async def keep(work, tasks):  # pushes the latest content of an alias to the phones without it, after each change
    while True:
        await asyncio.sleep((work["stamp"] + 1 - clock()) / SPEED)  # so that a timestamp is never ahead of the clock
        work["due"].clear()
        wanted, given, again, page, plan = work["wanted"], work["given"], float("inf"), {"nextCursor": None}, str(uuid.uuid4())
        work["stamp"] = max(int(clock()), work["stamp"] + 1)  # whole seconds, each greater than the last
        update = {"timestamp": work["stamp"], "event": wanted["event"], "content-state": wanted["contentState"]}
        start = {**update, "event": "start", "attributes-type": wanted["attributesType"],
                 "attributes": wanted["attributes"], "alert": {"title": wanted["alias"]["value"]}}
        end = {**update, "event": "end", "dismissal-date": work["stamp"]}  # of an activity that another one has replaced
        more = {"to": wanted["to"], "renewBefore": env.get("RENEW_BEFORE")} if wanted["event"] == "update" else {}
        while "nextCursor" in page:
            page = await call("POST", "plan", {
                "planId": plan, "cursor": page["nextCursor"], "attributesType": wanted["attributesType"],
                "alias": wanted["alias"], **more})
            again = min([again] + [clock(entry["retryAt"]) for entry in page["installations"] if "retryAt" in entry])
            replaced = [entry["replaces"] for entry in page["installations"] if "replaces" in entry]
            for entry in page["installations"] + replaced:  # `none` with `channel`: a push to the plan's channels reaches it
                action = entry.get("action", "update")
                if "leaseId" in entry and wanted["event"] == "end":  # it starts nothing
                    await call("DELETE", "plan/leases/" + entry["leaseId"])
                elif "leaseId" in entry or action in ("update", "end") and (entry["token"], action) not in given:
                    given |= {(entry["token"], action)}  # A start comes again when its lease is over, whatever was given.
                    aps = start if "leaseId" in entry else end if action == "end" else update
                    tasks.create_task(push(entry, page, aps, work, wanted))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(work["due"].wait(), min(3600, max(1, again - clock())) / SPEED)
        if wanted["event"] == "end" and again == float("inf") and not work["due"].is_set():  # an hour without a change
            return works.pop((wanted["alias"]["kind"], wanted["alias"]["value"]))

async def follow(after):  # plans again for the aliases in a change, because a token is new
    while True:
        page = await call("GET", f"changes?after={after}&wait=30")
        after = page.get("after") or (await call("GET", "changes"))["after"]  # new after feed-expired and feed-reset
        names = {(kind, name) for each in page.get("changes", []) for kind, all in each.get("aliases", {}).items() for name in all}
        for work in [work for work in works.values() if names & work["names"] or "after" not in page]: work["due"].set()

async def main():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(report())
        tasks.create_task(follow((await call("GET", "changes"))["after"]))  # from a position before the first plan
        while line := await asyncio.to_thread(sys.stdin.readline):
            wanted = json.loads(line)
            names = [(alias["kind"], alias["value"]) for alias in [wanted["alias"], *wanted["to"]]]
            work = works.setdefault(names[0], {"stamp": 0, "due": asyncio.Event()})
            work.update(wanted=wanted, names=set(names), given=set())
            work["due"].set()
            work["task"] = work.get("task") or tasks.create_task(keep(work, tasks))

asyncio.run(main())
