"""The service and its peers as processes, and the tools that put load on them."""

import json
import os
import socket
import subprocess
import tempfile
import time

from cluster import DIRECTORY, HERE, PUSHREG, cpu_of, tool

BINARIES = os.path.join(DIRECTORY, "bin")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Service:
    """A process that listens on a port of its own."""

    def __init__(self, name, command, environment=None):
        self.name = name
        self.address = f"127.0.0.1:{free_port()}"
        self.log = open(os.path.join(DIRECTORY, f"{name}.log"), "w", encoding="utf-8")
        command = [word.replace("{address}", self.address).replace("{port}", self.address.split(":")[1]) for word in command]
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=self.log, env={**os.environ, **(environment or {})}
        )
        self.wait()

    def wait(self):
        host, port = self.address.split(":")
        for _ in range(300):
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended; see {self.log.name}")
            try:
                socket.create_connection((host, int(port))).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"{self.name} does not listen; see {self.log.name}")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def memory(self):
        """Resident memory of the process in MiB: now, and at its highest."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as lines:
            sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith("Vm")}
        return sizes["VmRSS"], sizes["VmHWM"]

    def cpu(self):
        return cpu_of(self.process.pid)


def registry(database, name="pushreg", *arguments, url=None):
    command = [
        PUSHREG, "serve", "--database-url", url or database.url_of("bench"), "--port", "{port}", "--key-rate", "0",
        "--address-rate", "0", "--sweep-interval", "PT1H", "--log-level", "warning", *arguments,
    ]
    return Service(name, command)


def statements():
    path = os.path.join(DIRECTORY, "statements.ndjson")
    with open(path, "w", encoding="utf-8") as file:
        subprocess.run([PUSHREG, "statements"], check=True, stdout=file)
    return path


def pgx(database, name="pgx", url=None):
    command = [
        os.path.join(BINARIES, "pgx"), "-database", url or database.url_of("bench"), "-statements", statements(),
        "-address", "{address}",
    ]
    return Service(name, command)


def fastapi(database):
    command = [
        os.path.join(DIRECTORY, "venv", "bin", "uvicorn"), "--app-dir", os.path.join(HERE, "peers", "fastapi"),
        "--workers", "2", "--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning",
        "--port", "{port}", "service:app",
    ]
    url = f"postgresql://{database.user}@/bench?host={DIRECTORY}"
    return Service("fastapi", command, {"DATABASE": url, "STATEMENTS": statements()})


def load(service, kind, key, seconds, connections=64, rate=0, count=1_000_000, batch=100, warm=0.5,
         requests=0, may_refuse=False):
    """Runs the load generator, for some seconds or for a number of requests; gives what it printed. With may_refuse, 503 is
    an answer like another."""
    command = [
        os.path.join(BINARIES, "load"), "-address", service.address, "-kind", kind, "-connections", str(connections),
        "-seconds", str(seconds), "-warm", str(warm), "-rate", str(rate), "-count", str(count), "-batch", str(batch),
        "-requests", str(requests),
    ]
    output = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "BENCH_KEY": key})
    result = json.loads(output.stdout)
    others = result.get("others") or {}
    # Two rotations of one activity in the same millisecond: the greater token wins, and the other one is told so.
    if others.get("409", 0) < result["requests"] / 1000:
        others.pop("409", None)
    if may_refuse:
        others.pop("503", None)
    if others:
        raise SystemExit(f"{service.name} answered {kind} with {others}; see {service.log.name}")
    return result


# The parameters of the registry's statements, for pgbench: an expression over :n, the activity, :r, the token, and :b, the
# batch, which all statements of a transaction must know by the same number.
EXPRESSIONS = {
    "environment": "'sandbox'::text", "kind": "'orderId'::text", "value": "('o-' || :n::text)",
    "kinds": "ARRAY['orderId'::text]", "values": "ARRAY['o-' || :n::text]", "after": "0::bigint", "limit": "101::bigint",
    "activity_id": "ARRAY['a-' || :n::text]", "observed_at": "ARRAY[now()]", "who": "ARRAY['pgbench'::text]",
    "batch_number": ":b::bigint",
    "token": "ARRAY[decode(lpad(to_hex(:r::bigint), 16, '0') || repeat('cd', 72), 'hex')]",
    "aliases": "ARRAY[jsonb_build_object('orderId', jsonb_build_array('o-' || :n::text))]",
    "tombstoneRetention": "'7 days'::interval", "eventRetention": "'90 days'::interval",
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
        "\\set n random(1, %d)\n\\set r random(1, 1000000000000000000)\n\\set b random(1, 9000000000000000000)\n"
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
