"""Media types that schemathesis does not know by itself, as Tests/Laboratory/fuzz tells them."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def write_lines(_context, value):
    """The schema is that of a line; an example is whole lines already."""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value).encode() + b"\n"
