"""Resolve over TLS and HTTP/2, where the plain measurements have HTTP/1.1."""

import os
import subprocess

import services
from cluster import DIRECTORY

# The flags of the load generator, and the goal against plain HTTP/1.1.
WAYS = {
    "TLS 1.3, 64 connections": (("-tls",), (None, None)),
    "HTTP/2 with TLS 1.3, 64 connections": (("-h2",), (0.6, 0.8)),
    "HTTP/2 with TLS 1.3, 8 connections of 16 streams": (("-h2", "-connections", "8", "-streams", "16"), (None, None)),
}


def certificate():
    """The paths of a certificate of this address, which is its own issuer, and of its key."""
    paths = [os.path.join(DIRECTORY, name) for name in ("certificate.pem", "certificate-key.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "7",
         "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout", paths[1]],
        check=True, capture_output=True,
    )
    return paths


def protocols(bench):
    trusted, key = certificate()
    bench.start("pushreg-tls", services.registry(bench.database, "pushreg-tls", "--tls-cert", trusted, "--tls-key", key))
    bench.start("pgx-tls", services.pgx(bench.database, "pgx-tls", "-certificate", trusted, "-key", key))
    runs = {"pushreg": lambda: bench.load("pushreg", "resolve")}
    for way, (flags, _) in WAYS.items():
        for name in ("pushreg-tls", "pgx-tls"):
            runs[f"{name}, {way}"] = lambda name=name, flags=flags: bench.load(
                name, "resolve", arguments=("-trust", trusted, *flags))
    figures = bench.figures("rate", **runs)
    bench.end("pushreg-tls", "pgx-tls")
    for way, (_, goal) in WAYS.items():
        ours = figures[f"pushreg-tls, {way}"]
        bench.table.compare(f"resolve, {way}, /s: ours, plain HTTP/1.1, 64 connections", ours, figures["pushreg"], *goal)
        bench.table.compare(f"resolve, {way}, /s: Go, pgx, the same", ours, figures[f"pgx-tls, {way}"], 1.5, 2.5)
