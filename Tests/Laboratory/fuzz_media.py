"""Media types that schemathesis does not support, for Tests/Laboratory/fuzz."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def write_lines(_context, value):
    """The schema describes a line. Examples contain whole lines."""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value).encode() + b"\n"
