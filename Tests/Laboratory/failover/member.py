"""A member of the cluster: a Patroni with its Postgres, like one machine that can die, freeze and return."""

import glob
import json
import os
import signal
import sys
import urllib.error
import urllib.request

import processes

PROGRAMS = {"debian": "/usr/bin/patroni", "pypi": os.path.join(os.path.dirname(sys.executable), "patroni")}
# The shortest times that Patroni permits: ttl is at least 20 s, and at least loop_wait plus twice retry_timeout.
DCS = {"ttl": 20, "loop_wait": 5, "retry_timeout": 5, "primary_start_timeout": 0, "maximum_lag_on_failover": 2**20,
       "synchronous_mode": True}
MAX_CONNECTIONS = 60


def postgres_programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))
    if not found:
        raise SystemExit("Tests/Laboratory/failover/run: Postgres is not installed below /usr/lib/postgresql")
    return found[-1]


class Member:
    def __init__(self, work, number, port, rest_port, etcd_port, options):
        self.name, self.port, self.rest_port = f"n{number}", port, rest_port
        self.directory = os.path.join(work, self.name)
        self.program = PROGRAMS[options.patroni]
        os.makedirs(self.directory)
        processes.give(self.directory)
        with open(os.path.join(self.directory, "patroni.yml"), "w", encoding="utf-8") as file:
            # JSON is valid YAML.
            json.dump(self._configuration(etcd_port, options.settings), file, indent=1)

    def _configuration(self, etcd_port, settings):
        trusted = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
        return {
            "scope": "failover", "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self.rest_port}", "connect_address": f"127.0.0.1:{self.rest_port}"},
            "etcd3": {"host": f"127.0.0.1:{etcd_port}"},
            "watchdog": {"mode": "off"},
            "bootstrap": {
                "dcs": {**DCS, **settings, "postgresql": {
                    "use_pg_rewind": True, "use_slots": True,
                    "parameters": {"synchronous_commit": "on", "max_connections": MAX_CONNECTIONS, "wal_keep_size": "512MB",
                                   "shared_buffers": "128MB"}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": os.path.join(self.directory, "data"), "bin_dir": postgres_programs(), "pg_hba": trusted,
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator"},
                                   "rewind": {"username": "rewinder"}},
                "parameters": {"unix_socket_directories": self.directory, "log_line_prefix": "%m [%p] %u ", "log_timezone": "UTC"},
            },
        }

    def start(self):
        processes.start([self.program, os.path.join(self.directory, "patroni.yml")], self.directory)

    def kill(self):
        """Kills all processes at once, like a power failure."""
        processes.kill_all(self.directory)

    def freeze(self):
        processes.stop_all(self.directory)

    def thaw(self, only_postgres=False):
        """Continues the processes. `only_postgres` leaves Patroni frozen."""
        patroni = set(self.patroni())
        processes.send(signal.SIGCONT, set(processes.below(self.directory)) - (patroni if only_postgres else set()))

    def patroni(self):
        return processes.below(self.directory, "patroni.yml")

    def stop_senders(self):
        """Stops the WAL senders."""
        processes.send(signal.SIGSTOP, processes.below(self.directory, "walsender"))

    def is_primary(self):
        return self._ask("GET", "/primary")[0] == 200

    def is_healthy(self):
        return self._ask("GET", "/health")[0] == 200

    def switch_over(self):
        """Requests a switchover to any candidate. Returns the status and the text of the response."""
        return self._ask("POST", "/switchover", {"leader": self.name}, timeout=60)

    def roles(self):
        """The role of each member, from the view of this member."""
        status, text = self._ask("GET", "/cluster")
        return {member["name"]: member["role"] for member in json.loads(text)["members"]} if status == 200 else {}

    def _ask(self, method, path, body=None, timeout=1):
        request = urllib.request.Request(f"http://127.0.0.1:{self.rest_port}{path}", method=method,
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except OSError as error:
            return 0, str(error)
