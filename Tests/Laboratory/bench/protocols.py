"""Resolve over TLS and HTTP/2, compared with plain HTTP/1.1 by the same load generator."""

import os
import subprocess

import generators
import services
from cluster import DIRECTORY

PLAIN = ("--h1", "-c", "64")
# The arguments of h2load, and the goal compared with plain HTTP/1.1.
WAYS = {
    "TLS 1.3, 64 connections": (PLAIN, (None, None)),
    "HTTP/2 with TLS 1.3, 64 connections": (("-c", "64"), (0.6, 0.8)),
    "HTTP/2 with TLS 1.3, 8 connections of 16 streams": (("-c", "8", "-m", "16"), (None, None)),
}


def certificate():
    """The paths of a self-signed certificate for this address and of its key."""
    paths = [os.path.join(DIRECTORY, name) for name in ("certificate.pem", "certificate-key.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "7",
         "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout", paths[1]],
        check=True, capture_output=True,
    )
    return paths


def protocols(bench):
    path, key = certificate()
    bench.start("pushreg-tls", services.registry(bench.database, "pushreg-tls", "--tls-cert", path, "--tls-key", key))
    bench.start("pgx-tls", services.pgx(bench.database, "pgx-tls", "-certificate", path, "-key", key))

    def resolve(name, arguments, scheme="https"):
        return lambda: generators.h2load(
            bench.service(name), bench.key, bench.options.seconds, arguments, scheme, bench.options.count)

    runs = {"pushreg": resolve("pushreg", PLAIN, "http")}
    for way, (arguments, _) in WAYS.items():
        for name in ("pushreg-tls", "pgx-tls"):
            runs[f"{name}, {way}"] = resolve(name, arguments)
    figures = bench.figures("rate", **runs)
    bench.end("pushreg-tls", "pgx-tls")
    for way, (_, goal) in WAYS.items():
        ours = figures[f"pushreg-tls, {way}"]
        bench.table.compare(f"resolve, {way}, /s: ours, plain HTTP/1.1, 64 connections", ours, figures["pushreg"], *goal)
        bench.table.compare(f"resolve, {way}, /s: Go, pgx, the same", ours, figures[f"pgx-tls, {way}"], 1.5, 2.5)
