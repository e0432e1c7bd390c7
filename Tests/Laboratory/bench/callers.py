"""Registrations of signed-in users with JWTs. The other measurements use an API key."""

import json
import os
import time

import jwt as signer
from cryptography.hazmat.primitives.asymmetric import ec

import services
from cluster import DIRECTORY

ISSUER, AUDIENCE, USERS = "https://login.example.com", "food", 64
DATABASE = "bench_users"
# New JWTs per second of a run: more than any service can use.
AHEAD = 16_000


def jwt(bench):
    """Uses a database in which users own the activities, because a JWT permits only the user's own. ES256 is the more
    expensive signature to check."""
    bench.database.prepare(bench.options.count, DATABASE, fan_out=False, users=USERS)
    url, key = bench.database.url_of(DATABASE), bench.database.key(DATABASE)
    ours = bench.start("pushreg-jwt", services.registry(bench.database, "pushreg-jwt", url=url))
    private = ec.generate_private_key(ec.SECP256R1())
    trust(ours, key, private)
    seen, new = (os.path.join(DIRECTORY, name) for name in ("jwts-seen.txt", "jwts-new.txt"))
    sign(private, USERS, seen)

    def register_new(name):
        sign(private, round(AHEAD * bench.options.seconds), new)
        return bench.load(name, "jwt", jwts=new, users=USERS)

    figures = bench.figures(
        "rate", by_key=lambda: bench.load("pushreg-jwt", "register", key=key),
        seen=lambda: bench.load("pushreg-jwt", "jwt", jwts=seen, users=USERS),
        new=lambda: register_new("pushreg-jwt"))
    bench.end("pushreg-jwt")
    bench.table.compare("register by JWT seen before, ES256, /s: ours, by key", figures["seen"], figures["by_key"], 0.9, 0.97)
    bench.table.compare("register by new JWT, ES256, /s: ours, by key", figures["new"], figures["by_key"], 0.5, 0.7)


def trust(service, key, private):
    """Configures the service to check the JWTs."""
    public = signer.algorithms.ECAlgorithm.to_jwk(private.public_key())
    keys = [{**json.loads(public), "kid": "es256", "alg": "ES256", "use": "sig"}]
    settings = {"issuer": ISSUER, "audience": AUDIENCE, "jwks": {"keys": keys}}
    services.call(service, "PUT", "", key, {"jwt": settings})


def sign(private, count, path):
    """Writes new JWTs, each after the number of its user."""
    now = int(time.time())
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            claims = {
                "iss": ISSUER, "aud": AUDIENCE, "sub": f"u-{number % USERS}", "iat": now, "nbf": now, "exp": now + 3600,
                "jti": f"{time.monotonic_ns()}-{number}",
            }
            file.write(f"{number % USERS} {signer.encode(claims, private, 'ES256', {'kid': 'es256'})}\n")
