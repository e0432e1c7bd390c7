"""Values that often break programs, and small mutations of requests."""

import copy
import json
from urllib.parse import quote

TEXTS = [
    "", " ", ".", "..", "/", "%", "+", "a b", "a+b", "a%2Fb", "é", "e\u0301", "\u212a", "K", "\u00c5", "\u212b", "😀", "\u0000", "\u0001",
    "\u007f", "\u0085", "\u2028", "\ufeff", "\ufffd", "\uffff", "null", "true", "0", "-1", "<b>&amp;\"'", "'; DROP TABLE activities; --",
    "$1", "{}", "[]", "${x}", "\\", "\\u0000", "a" * 127, "a" * 128, "a" * 129, "é" * 64, "é" * 65, "x" * 256, "x" * 257, "y" * 4000,
    "constructor", "__proto__", "com.example.food", "𝒦", "\u202eabc", "a\r\nb", "a\tb",
]
NUMBERS = [
    0, 1, -1, 2, 7, 100, 1000, 1001, 2**31 - 1, 2**31, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), -(2**63) - 1,
    0.1, -0.0, 1e18, 1e308, 5e-324, 1.5, 253402300799999, 253402300800000,
]
TIMES = [
    "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "10000-01-01T00:00:00Z",
    "2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T23:59:60Z", "2026-01-01T00:00:00+23:59",
    "2026-01-01T00:00:00-24:00", "2026-01-01t00:00:00z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00", "2026-01-01",
    "2026-01-01T00:00:00.123456789012345678901234567890Z", "-2026-01-01T00:00:00Z", "٢٠٢٦-01-01T00:00:00Z", "now", "1795248000000",
]
DURATIONS = [
    "PT0S", "PT1S", "PT1H", "P1D", "P1W", "P1M", "P1Y", "P3660D", "P3661D", "P99999999999999999999D", "PT1.5S", "PT-1S", "-PT1S", "P",
    "PT", "P1DT", "1H", "PT1H1H", "PT9223372036854775807S", "PT9223372036854775808S", "PT0.0000000000000000001S", "pt1h",
]
CURSORS = ["", "0", "-1", "abc", "MA", "MQ==", "eyJhIjoxfQ", "9" * 40, "_" * 200, "é", "AAAA", "%00", "1.2", "/" * 20]


def text(random):
    return random.choice(TEXTS)


def any_text(random):
    """A value from any list, as text for a path or a query."""
    return str(random.choice(random.choice([TEXTS, NUMBERS, TIMES, DURATIONS, CURSORS])))


def escaped(random, value):
    """Percent-encoded: correctly, completely, or wrongly."""
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        encoded = b"?"
    kind = random.random()
    if kind < 0.75:
        return quote(encoded, safe="")
    if kind < 0.85:
        return "".join(f"%{byte:02x}" for byte in encoded)
    if kind < 0.92:
        return quote(encoded, safe="/:+@!$&'()*,;=~-._")
    return quote(encoded, safe="") + random.choice(["%", "%4", "%zz", "%ff", "%c0%af", "%ed%a0%80", "%2e", "%00"])


def value(random):
    kind = random.random()
    if kind < 0.45:
        return any_text(random)
    if kind < 0.65:
        return random.choice(NUMBERS)
    return random.choice([None, True, False, [], {}, [[]], {"a": {}}, ["a", "a"], [None], {"": 0}, [0] * 20])


def bent(random, body):
    """A JSON value with one wrong part."""
    if random.random() < 0.25 or not isinstance(body, (dict, list)) or not body:
        return value(random)
    body = copy.copy(body)
    places = list(body) if isinstance(body, dict) else range(len(body))
    place, kind = random.choice(list(places)), random.random()
    if kind < 0.1:
        del body[place]
    elif kind < 0.2 and isinstance(body, dict):
        body[text(random)] = value(random)
    elif kind < 0.3 and isinstance(body, list):
        body += [copy.deepcopy(body[place])] * random.choice([1, 2, 20])
    else:
        body[place] = bent(random, body[place])
    return body


def written(random, body):
    """The bytes of a body, possibly not valid JSON."""
    raw = json.dumps(body, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    kind = random.random()
    if kind < 0.9:
        return raw
    if kind < 0.93:
        return raw[:random.randrange(len(raw) + 1)]
    if kind < 0.96 and raw:
        place = random.randrange(len(raw))
        return raw[:place] + bytes([random.randrange(256)]) + raw[place + 1:]
    return random.choice([b"", b"\xef\xbb\xbf" + raw, raw + b" ", raw + raw, b"[" * 40 + raw, b" " * 1000 + raw, b"\xff", b"null",
                          raw.replace(b'"', b"'"), raw[:-1] + b',"a":1e400}' if raw.endswith(b"}") else b"1e400"])
