"""The registry's queries of a resolve, and pgbench with these queries."""

import json
import os
import re
import subprocess
import tempfile

from cluster import DIRECTORY, tool

QUERIES = os.path.join(os.path.dirname(__file__), "../../../sql/queries/resolve.sql")
# The queries of a request, in order.
PATHS = {"resolve": ["read-page", "read-channels"]}


def outline(path, name):
    """A query with $1, $2, … as parameters, and their names."""
    with open(QUERIES, encoding="utf-8") as file:
        text = file.read().split(f"-- name: resolve.{name}\n")[1].split(";")[0]
    parameters = []

    def place(match):
        if match[1] not in parameters:
            parameters.append(match[1])
        return f"${parameters.index(match[1]) + 1}"

    text = re.sub(r"(?<!:):([a-z_]+)", place, re.sub(r"--.*", "", text))
    return {"path": path, "sql": text.strip(), "parameters": parameters}


def outlines():
    return [outline(path, name) for path, names in PATHS.items() for name in names]


def statements():
    """The path of a file with the queries, one JSON line each."""
    path = os.path.join(DIRECTORY, "statements.ndjson")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in outlines())
    return path


# The parameters of the registry's statements, as pgbench expressions over the activity :n.
EXPRESSIONS = {
    # The first app's scope in sandbox.
    "scope": "1::bigint", "kind": "'orderId'::text", "value": "('o-' || :n::text)",
    "kinds": "ARRAY['orderId'::text]", "values": "ARRAY['o-' || :n::text]", "after": "0::bigint", "limit": "101::bigint",
}


def texts(path, expressions=None):
    """The statements of a path with inlined parameters."""
    result = []
    for each in outlines():
        if each["path"] == path:
            text = each["sql"]
            for number, name in reversed(list(enumerate(each["parameters"], 1))):
                text = text.replace(f"${number}", (expressions or EXPRESSIONS)[name])
            result.append(text)
    return result


def pgbench(database, path, seconds, clients, count=1_000_000):
    """Transactions per second with a path's statements, one round trip each."""
    script = (
        "\\set n random(1, %d)\n"
        "\\startpipeline\n%s;\n\\endpipeline\n"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".sql", dir=DIRECTORY) as file:
        file.write(script % (count, ";\n".join(texts(path))))
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
