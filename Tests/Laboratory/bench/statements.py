"""The registry's own statements, and pgbench with them."""

import json
import os
import subprocess
import tempfile

from cluster import DIRECTORY, PUSHREG, tool


def statements():
    """The path of a file that has them."""
    path = os.path.join(DIRECTORY, "statements.ndjson")
    with open(path, "w", encoding="utf-8") as file:
        subprocess.run([PUSHREG, "statements"], check=True, stdout=file)
    return path


# The parameters of the registry's statements, for pgbench: an expression over :n, the activity.
EXPRESSIONS = {
    # The first app's scope in sandbox.
    "scope": "1::bigint", "kind": "'orderId'::text", "value": "('o-' || :n::text)",
    "kinds": "ARRAY['orderId'::text]", "values": "ARRAY['o-' || :n::text]", "after": "0::bigint", "limit": "101::bigint",
}
ARRAYS = {1000: "boolean[]", 1001: "bytea[]", 1009: "text[]", 1185: "timestamptz[]", 3807: "jsonb[]"}


def expression(parameter, app):
    name = parameter["name"]
    if name == "app":
        return f"{app}::bigint"
    return EXPRESSIONS.get(name) or f"ARRAY[NULL]::{ARRAYS[parameter['type']]}"


def texts(path, app, substitute=expression):
    """The statements of a path with their parameters written into them."""
    with open(statements(), encoding="utf-8") as lines:
        outlines = [json.loads(line) for line in lines]
    result = []
    for outline in outlines:
        if outline["path"] == path:
            text = outline["sql"]
            for number in range(len(outline["parameters"]), 0, -1):
                text = text.replace(f"${number}", substitute(outline["parameters"][number - 1], app))
            result.append(text)
    return result


def pgbench(database, path, seconds, clients, count=1_000_000, app=1):
    """Transactions a second of a path's statements, each transaction in one round trip."""
    script = (
        "\\set n random(1, %d)\n"
        "\\startpipeline\n%s;\n\\endpipeline\n"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".sql", dir=DIRECTORY) as file:
        file.write(script % (count, ";\n".join(texts(path, app))))
        file.flush()
        os.chmod(file.name, 0o644)
        output = subprocess.run(
            [tool("pgbench"), "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T", str(max(1, round(seconds))),
             "-f", file.name, "-h", DIRECTORY, "-U", database.user, "bench"],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PGOPTIONS": "-c plan_cache_mode=force_generic_plan -c jit=off"},
        )
    line = next((line for line in output.stdout.splitlines() if line.startswith("tps")), None)
    if output.returncode != 0 or line is None:
        raise SystemExit(f"pgbench: {output.stderr[-2000:]}")
    return float(line.split("=")[1].split()[0])
