"""Registrations of signed-in users, who call by JWTs, where the other measurements have an API key."""

import json
import os
import subprocess

import services
from cluster import DIRECTORY
from generators import LOAD

# As in load/callers.go.
ISSUER, AUDIENCE, USERS = "https://login.example.com", "food", 64
DATABASE = "bench_users"
# JWTs that are signed before a run of new ones, for each of its seconds: more than any service takes.
AHEAD = {"es256": 16_000, "rs256": 10_000}


def jwt(bench):
    """In a database whose activities are the users': nobody may register another's by a JWT."""
    bench.database.prepare(bench.options.count, DATABASE, fan_out=False, users=USERS)
    url, key = bench.database.url_of(DATABASE), bench.database.key(DATABASE)
    ours = bench.start("pushreg-jwt", services.registry(bench.database, "pushreg-jwt", url=url))
    keys = issue(ours, key)
    # It reads the app's settings once.
    bench.start("pgx-jwt", services.pgx(bench.database, "pgx-jwt", url=url))

    def register(name, *flags):
        return lambda: bench.load(name, "register", key=key, arguments=flags)

    runs = {"by key": register("pushreg-jwt")}
    for algorithm in ("es256", "rs256"):
        flags = ("-jwt", algorithm, "-jwt-keys", keys, "-users", str(USERS))
        new = (*flags, "-jwt-new", "-jwt-ahead", str(round(AHEAD[algorithm] * (bench.options.seconds + 0.5))))
        runs[f"{algorithm} seen"] = register("pushreg-jwt", *flags)
        runs[f"{algorithm} new"] = register("pushreg-jwt", *new)
        runs[f"{algorithm} new, pgx"] = register("pgx-jwt", *new)
    figures = bench.figures("rate", **runs)
    bench.end("pushreg-jwt", "pgx-jwt")
    for algorithm, goal in (("es256", (1.3, 2)), ("rs256", (None, None))):
        name = algorithm.upper()
        bench.table.compare(f"register by JWT seen before, {name}, /s: ours, by key", figures[f"{algorithm} seen"],
                            figures["by key"], 0.9, 0.97)
        bench.table.compare(f"register by new JWT, {name}, /s: Go, pgx", figures[f"{algorithm} new"],
                            figures[f"{algorithm} new, pgx"], *goal)


def issue(service, key):
    """Makes an issuer's keys, and tells the service how to check what they sign; gives the path of the private ones."""
    path = os.path.join(DIRECTORY, "issuer.pem")
    output = subprocess.run([LOAD, "-kind", "keys", "-jwt-keys", path], check=True, capture_output=True, text=True).stdout
    services.call(service, "PUT", "", key, {"jwt": {"issuer": ISSUER, "audience": AUDIENCE, "jwks": json.loads(output)}})
    return path
