"""All attacks, in the order in which they run."""

from attacks import batches, bodies, connections, credentials, records, requests, secure

ALL = [
    *connections.ALL, *bodies.ALL, *batches.ALL, *credentials.ALL, *requests.ALL, *records.ALL, *secure.ALL,
]
