"""Converts AWS SNS's lists of endpoints to NDJSON for pushreg import. See the guide Coming from elsewhere."""
import collections, hashlib, json, re, sys

PLATFORMS = {"production": "APNS", "sandbox": "APNS_SANDBOX"}
if len(sys.argv) != 3 or sys.argv[1] not in PLATFORMS:
    sys.exit("Usage: python3 sns-to-ndjson.py production|sandbox OBSERVED_AT <endpoints.json >sns.ndjson")
platform, observed_at = PLATFORMS[sys.argv[1]], sys.argv[2]

def endpoints(text):  # in one page of JSON or several consecutive pages
    end, blanks = 0, re.compile(r"\s*")
    while (start := blanks.match(text, end).end()) < len(text):
        page, end = json.JSONDecoder().raw_decode(text, start)
        yield from page["Endpoints"]

def convert(endpoint):
    """Writes an endpoint's token and alias. Returns the reason if it is left out."""
    arn, attributes = endpoint["EndpointArn"], endpoint["Attributes"]
    if f":endpoint/{platform}/" not in arn:
        raise ValueError(f"EndpointArn must be of the platform {platform}")
    if attributes["Enabled"].lower() != "true":
        return "disabled"
    if not attributes.get("CustomUserData"):
        return "without CustomUserData"
    if not re.fullmatch("([0-9A-Fa-f]{2}){1,512}", attributes["Token"]):
        raise ValueError("Token must be a push token in hex")
    # A hash that requests never produce from an installation id.
    line = {"installation": hashlib.sha256(f"sns/{arn}".encode()).hexdigest(), "observedAt": observed_at}
    print(json.dumps({"record": "device-token", **line, "token": attributes["Token"]}))
    print(json.dumps({"record": "installation", **line, "aliases": {"userId": attributes["CustomUserData"]}}))

try:
    found = list(endpoints(sys.stdin.buffer.read().decode("utf-8-sig")))
except (ValueError, KeyError, TypeError):
    sys.exit("Standard input must be the JSON output of aws sns list-endpoints-by-platform-application.")
left_out, malformed = collections.Counter(), 0
for number, endpoint in enumerate(found, start=1):
    try:
        if reason := convert(endpoint):
            left_out[reason] += 1
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        malformed += 1
        lacks = "it must have EndpointArn, and Token and Enabled in Attributes, as strings"
        print(f"endpoint {number}: {fault if type(fault) is ValueError else lacks}", file=sys.stderr)
for reason, count in left_out.items():
    print(f"Left out: {count} {reason}.", file=sys.stderr)
sys.exit(1 if malformed else 0)
