"""The registry's hottest calls as a team would write them by hand in Python: FastAPI, uvloop, asyncpg and a pool, one
transaction a request, the statements of the registry itself.

    DATABASE=URL STATEMENTS=FILE uvicorn --workers 2 --loop uvloop --http httptools --no-access-log service:app
"""

import hashlib
import hmac
import json
import os
import random
import re
from contextlib import asynccontextmanager
from datetime import datetime, timezone

import asyncpg
import orjson
from fastapi import FastAPI, Request
from fastapi.responses import ORJSONResponse, StreamingResponse
from pydantic import BaseModel

TYPES = {
    17: "bytea", 20: "bigint", 25: "text", 1186: "interval",
    1000: "boolean[]", 1001: "bytea[]", 1009: "text[]", 1185: "timestamptz[]", 3807: "jsonb[]",
}
PAGE = 100
state = {}


class Statement:
    """A statement of the registry; the types of its parameters are written into its text."""

    def __init__(self, outline):
        self.names = [parameter["name"] for parameter in outline["parameters"]]
        types = [TYPES[parameter["type"]] for parameter in outline["parameters"]]
        self.sql = re.sub(r"\$(\d+)", lambda match: f"{match[0]}::{types[int(match[1]) - 1]}", outline["sql"])

    def arguments(self, values):
        return [values.get(name, [None]) for name in self.names]


def read_statements(path):
    statements = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            outline = json.loads(line)
            statements.setdefault(outline["path"], []).append(Statement(outline))
    return statements


@asynccontextmanager
async def lifespan(_):
    state["statements"] = read_statements(os.environ["STATEMENTS"])
    settings = {"plan_cache_mode": "force_generic_plan", "jit": "off"}
    state["pool"] = await asyncpg.create_pool(os.environ["DATABASE"], min_size=8, max_size=8, server_settings=settings)
    async with state["pool"].acquire() as connection:
        row = await connection.fetchrow(
            "SELECT app_number, tombstone_retention, event_retention FROM apps WHERE bundle_id = 'com.example.food'"
        )
        state["fixed"] = {"app": row[0], "tombstoneRetention": row[1], "eventRetention": row[2]}
        keys = await connection.fetch("SELECT key_id, secret_digest FROM api_keys WHERE revoked_at IS NULL")
        state["keys"] = dict(map(tuple, keys))
    yield
    await state["pool"].close()


app = FastAPI(lifespan=lifespan, default_response_class=ORJSONResponse)
ROOT = "/v1/apps/com.example.food/{environment}"


class Registration(BaseModel):
    token: str
    observedAt: datetime
    aliases: dict[str, str | list[str]] | None = None


def problem(status, code):
    return ORJSONResponse({"status": status, "code": code}, status, media_type="application/problem+json")


def key_of(request):
    text = request.headers.get("authorization", "").removeprefix("Bearer ")
    known = state["keys"].get(text[:16])
    digest = hashlib.sha256(text[17:41].encode()).digest()
    return text[:16] if len(text) == 47 and known and hmac.compare_digest(known, digest) else None


def time(value):
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@app.get("/livez")
async def livez():
    return {"status": "ok"}


@app.put(ROOT + "/activities/{activity_id}")
async def register(environment: str, activity_id: str, body: Registration, request: Request):
    who = key_of(request)
    if who is None:
        return problem(401, "unauthenticated")
    try:
        token = bytes.fromhex(body.token)
    except ValueError:
        return problem(422, "invalid-request")
    if not 0 < len(token) <= 512 or len(activity_id.encode()) > 128:
        return problem(422, "invalid-request")
    aliases = {kind: [value] if isinstance(value, str) else sorted(value) for kind, value in (body.aliases or {}).items()}
    values = state["fixed"] | {
        "environment": environment, "activity_id": [activity_id], "token": [token],
        "token_digest": [hashlib.sha256(token).digest()], "observed_at": [body.observedAt],
        "aliases": [json.dumps(aliases)], "who": [who], "batch_number": random.getrandbits(63),
    }
    results = []
    async with state["pool"].acquire() as connection, connection.transaction():
        for statement in state["statements"]["register"]:
            results.append(await connection.fetch(statement.sql, *statement.arguments(values)))
    # The first one locks, the second merges, the third claims the token.
    return answer(activity_id, tuple(results[1][0]), tuple(results[2][0]))


def answer(activity_id, merged, value):
    outcome, activity_state = merged[0], merged[9]
    _, owner, dead_at, _, of_installation, _ = value
    if outcome == "refused" or activity_state == "ended":
        return problem(410, "activity-ended")
    if outcome == "expired":
        return problem(410, "activity-expired")
    if outcome == "superseded" or owner != activity_id:
        return problem(409, "superseded")
    if of_installation:
        return problem(409, "token-kind-conflict")
    if dead_at is not None and merged[12] <= dead_at:
        return problem(409, "token-unregistered")
    return ORJSONResponse(
        {
            "activityId": activity_id, "outcome": outcome, "state": activity_state, "observedAt": time(merged[5]),
            "confirmedAt": time(merged[6]), "expiresAt": time(merged[7]), "revision": merged[8],
        },
        201 if outcome == "registered" else 200,
    )


def activity(row):
    result = {"activityId": row[1], "token": row[2].hex()}
    if row[3] is not None:
        result["installation"] = row[3].hex()
    if row[4] is not None:
        result["attributesType"] = row[4]
    if row[5] is not None:
        result["frequentPushesEnabled"] = row[5]
    if row[7] is not None:
        result["startsAt"] = time(row[7])
    return result | {
        "startedAt": time(row[6]), "observedAt": time(row[8]), "confirmedAt": time(row[9]),
        "expiresAt": time(row[10]), "revision": row[11],
    }


@app.get(ROOT + "/aliases/{kind}/{value}/activities")
async def resolve(environment: str, kind: str, value: str, request: Request):
    if key_of(request) is None:
        return problem(401, "unauthenticated")
    values = state["fixed"] | {
        "environment": environment, "kind": kind, "value": value, "kinds": [kind], "values": [value], "after": 0, "limit": PAGE + 1,
    }
    if request.headers.get("accept") == "application/x-ndjson":
        return StreamingResponse(stream(values), media_type="application/x-ndjson")
    page, channels = state["statements"]["resolve"]
    async with state["pool"].acquire() as connection:
        activities = await connection.fetch(page.sql, *page.arguments(values))
        found = await connection.fetch(channels.sql, *channels.arguments(values))
    return {
        "alias": {"kind": kind, "value": value}, "topic": "com.example.food.push-type.liveactivity",
        "pushType": "liveactivity", "activities": [activity(row) for row in activities],
        "channels": [{"channelId": row[1], "messageStoragePolicy": row[2]} for row in found],
    }


async def stream(values):
    """All activities of an alias, through a cursor, a line each."""
    page = state["statements"]["resolve"][0]
    values["limit"] = 2**62
    lines, count = [], 0
    async with state["pool"].acquire() as connection, connection.transaction(readonly=True):
        async for row in connection.cursor(page.sql, *page.arguments(values), prefetch=1000):
            lines.append(orjson.dumps(activity(row)))
            count += 1
            if len(lines) == 1000:
                yield b"\n".join(lines) + b"\n"
                lines.clear()
    lines.append(orjson.dumps({"end": True, "count": count}))
    yield b"\n".join(lines) + b"\n"
