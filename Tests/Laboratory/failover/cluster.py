"""Three members, an etcd and an HAProxy on loopback."""

import os
import shutil
import socket
import time
import urllib.error
import urllib.request

import psycopg

import processes
from member import DCS, Member

PORTS = 16
HAPROXY = """\
global
    maxconn 500
defaults
    mode tcp
    retries 1
    option redispatch
    timeout connect 2s
    timeout client 30m
    timeout server 30m
    timeout check 1500ms
listen primary
    bind 127.0.0.1:{port}
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


def free_ports(first):
    """Free consecutive ports. They are below the kernel's ephemeral ports, so they stay free while their owner is
    dead."""
    for base in [first] if first else range(15600, 30000, PORTS):
        sockets = []
        try:
            for port in range(base, base + PORTS):
                sockets.append(socket.socket())
                sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sockets[-1].bind(("127.0.0.1", port))
            return iter(range(base, base + PORTS))
        except OSError as error:
            if first:
                raise SystemExit(f"Tests/Laboratory/failover/run: port {port} is not free: {error}") from error
        finally:
            for made in sockets:
                made.close()
    raise SystemExit("Tests/Laboratory/failover/run: no free ports; set the first port with --port")


class Unhealed(Exception):
    """The cluster did not recover. Recovery is the task of Patroni."""


class Cluster:
    def __init__(self, work, options):
        settings = {**DCS, **options.settings}
        self.work, self.is_synchronous = work, settings["synchronous_mode"]
        self.is_strict = settings.get("synchronous_mode_strict", False)
        ports = free_ports(options.port)
        self.etcd_port, self.etcd_peer, self.haproxy_port = next(ports), next(ports), next(ports)
        self.members = [Member(work, number, next(ports), next(ports), self.etcd_port, options) for number in (1, 2, 3)]
        self.ports = ports
        for name in ("etcd", "haproxy"):
            os.makedirs(os.path.join(work, name))
            processes.give(os.path.join(work, name))

    def start(self):
        self.start_etcd()
        # Starts the first member alone, so it becomes the primary and the others copy its data.
        for member in self.members:
            member.start()
            self.wait_for(lambda: self.primary() is not None, 90, "no primary")
        self._start_haproxy()
        self.wait_until_whole(120)
        with self.session(self.primary()) as session:
            for role in ("pushreg", "probe", "occupant"):
                session.execute(f"CREATE ROLE {role} LOGIN")
            for role in ("pushreg", "probe"):
                session.execute(f"CREATE DATABASE {role} OWNER {role}")
            # Standbys refuse the probe many times per second.
            session.execute("ALTER ROLE probe SET log_min_messages = panic")

    def start_etcd(self):
        url, peer = (f"http://127.0.0.1:{port}" for port in (self.etcd_port, self.etcd_peer))
        directory = os.path.join(self.work, "etcd")
        processes.start(
            [shutil.which("etcd"), "--data-dir", os.path.join(directory, "data"), "--listen-client-urls", url,
             "--advertise-client-urls", url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", f"default={peer}", "--log-level", "warn"], directory)
        self.wait_for(self._etcd_is_healthy, 60, "etcd does not respond")

    def stop_etcd(self):
        processes.kill_all(os.path.join(self.work, "etcd"))

    def _etcd_is_healthy(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.etcd_port}/health", timeout=1) as answer:
                return b'"true"' in answer.read()
        except (OSError, urllib.error.HTTPError):
            return False

    def _start_haproxy(self):
        directory = os.path.join(self.work, "haproxy")
        servers = "\n".join(f"    server {member.name} 127.0.0.1:{member.port} check port {member.rest_port}"
                            for member in self.members)
        path = os.path.join(directory, "haproxy.cfg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HAPROXY.format(port=self.haproxy_port, servers=servers))
        processes.start([shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", path], directory)

    # The state

    def primary(self):
        """The member that Patroni reports as the leader."""
        found = [member for member in self.members if member.is_primary()]
        return found[0] if len(found) == 1 else None

    def session(self, member, database="postgres", user="postgres", **more):
        return psycopg.connect(host="127.0.0.1", port=member.port, dbname=database, user=user, autocommit=True,
                               connect_timeout=5, **more)

    def is_whole(self):
        """Whether all three members work and have all acknowledged writes, so the next fault may start."""
        primary = self.primary()
        if primary is None or not all(member.is_healthy() for member in self.members):
            return False
        roles = primary.roles()
        if self.is_synchronous and "sync_standby" not in roles.values():
            return False
        try:
            with self.session(primary) as session:
                states = session.execute(
                    "SELECT sync_state, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) < 1048576 FROM pg_stat_replication"
                    " WHERE state = 'streaming' AND usename = 'replicator'").fetchall()
        except psycopg.Error:
            return False
        is_required = [state for state, _ in states if state == "sync"]
        return len(states) == 2 and all(near for _, near in states) and bool(is_required) == self.is_synchronous

    def wait_until_whole(self, seconds):
        self.wait_for(self.is_whole, seconds, "the cluster did not recover")

    def wait_for(self, holds, seconds, otherwise):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise Unhealed(f"{otherwise} within {seconds} s")
            time.sleep(0.25)

    # The addresses

    def url_of_all(self):
        hosts = ",".join(f"127.0.0.1:{member.port}" for member in self.members)
        return f"postgresql://pushreg@{hosts}/pushreg?target_session_attrs=read-write"

    def url_of_haproxy(self):
        return f"postgresql://pushreg@127.0.0.1:{self.haproxy_port}/pushreg"
