"""Converts OneSignal's CSV export of subscriptions to NDJSON for pushreg import. See the guide Coming from elsewhere."""
import collections, csv, datetime, hashlib, io, json, re, sys

COLUMNS = ["id", "identifier", "device_type", "last_active", "invalid_identifier", "external_user_id"]

def time(text):  # seconds since 1970, or a date and time in UTC
    if re.fullmatch("[0-9]{1,11}", text):  # milliseconds have more digits
        return datetime.datetime.fromtimestamp(int(text), datetime.timezone.utc).isoformat()
    with_zone = text if re.search("Z$|[+-][0-9:]{4,6}$", text) else text.removesuffix(" UTC") + "+00:00"
    try:
        return datetime.datetime.fromisoformat(with_zone.replace("Z", "+00:00")).isoformat()
    except ValueError:
        raise ValueError("last_active must be seconds since 1970, or a time such as 2026-03-01 12:00:00") from None

def convert(row):
    """Writes a subscription's token and alias. Returns the reason if it is left out."""
    if row["device_type"] != "0":
        return "not of iOS"
    if row["invalid_identifier"] not in ("f", "false", "t", "true"):
        raise ValueError("invalid_identifier must be f, false, t or true")
    if row["invalid_identifier"] in ("t", "true") or not row["identifier"] or not row["external_user_id"]:
        return "invalid, or without a token or user"
    if not re.fullmatch("([0-9A-Fa-f]{2}){1,512}", row["identifier"]):
        raise ValueError("identifier must be a push token in hex")
    if not row["id"] or any("\ufffd" in text for text in row.values()):  # replaces bytes that are not UTF-8
        raise ValueError("id must not be empty, and all fields must be UTF-8")
    # A hash that requests never produce from an installation id.
    installation = hashlib.sha256(f"onesignal/{row['id']}".encode()).hexdigest()
    line = {"installation": installation, "observedAt": time(row["last_active"])}
    print(json.dumps({"record": "device-token", **line, "token": row["identifier"]}))
    print(json.dumps({"record": "installation", **line, "aliases": {"userId": row["external_user_id"]}}))

text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", errors="replace", newline="")
header = text.readline()
delimiter = max(",;\t", key=header.count)
names = next(csv.reader([header], delimiter=delimiter), [])
if lacking := [name for name in COLUMNS if names.count(name) != 1]:
    hint = " The file is compressed, or in UTF-16." if header.startswith("\x1f") or "\0" in header else ""
    sys.exit(f"The first line must name each of these columns once: {', '.join(lacking)}.{hint}")
rows, left_out, malformed = csv.reader(text, delimiter=delimiter, strict=True), collections.Counter(), 0
while True:
    line = rows.line_num + 2
    try:
        fields = next(rows)
        if fields and len(fields) != len(names):
            raise ValueError(f"it has {len(fields)} fields, and the first line has {len(names)}")
        if fields and (reason := convert({name: field for name, field in zip(names, fields) if name in COLUMNS})):
            left_out[reason] += 1
    except StopIteration:
        break
    except (csv.Error, ValueError) as fault:
        malformed += 1
        print(f"line {line}: {fault}", file=sys.stderr)
for reason, count in left_out.items():
    print(f"Left out: {count} {reason}.", file=sys.stderr)
sys.exit(1 if malformed else 0)
