"""Direct writes to Postgres, many times per second, to measure when the cluster accepts writes."""

import threading
import time

import psycopg

PERIOD = 0.04


class Probe(threading.Thread):
    """Writes to one port continuously, and records the time of each write."""

    def __init__(self, name, port):
        super().__init__(daemon=True)
        self.name, self.port, self.times = name, port, []
        self.is_over = False

    def run(self):
        session = None
        while not self.is_over:
            begin = time.monotonic()
            try:
                session = session or psycopg.connect(host="127.0.0.1", port=self.port, dbname="probe", user="probe",
                                                     autocommit=True, connect_timeout=2, prepare_threshold=None)
                session.execute("INSERT INTO probes (name) VALUES (%s)", [self.name])
                self.times.append(time.monotonic())
            except psycopg.errors.ReadOnlySqlTransaction:
                pass
            except psycopg.Error:
                if session is not None:
                    session.close()
                session = None
            time.sleep(max(0, begin + PERIOD - time.monotonic()))


class Probes:
    """One probe for each member, and one through HAProxy."""

    def __init__(self, cluster):
        with cluster.session(cluster.primary(), "probe", "probe") as session:
            session.execute("CREATE TABLE probes (name text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())")
        self.members = {member.name: Probe(member.name, member.port) for member in cluster.members}
        self.haproxy = Probe("haproxy", cluster.haproxy_port)
        self.all = [*self.members.values(), self.haproxy]
        for probe in self.all:
            probe.start()

    def last(self, names=None):
        """The time of a member's last write."""
        probes = [probe for name, probe in self.members.items() if names is None or name in names]
        return max((probe.times[-1] for probe in probes if probe.times), default=0)

    def direct(self, begin, end):
        """The times of the writes of all members."""
        return sorted(at for probe in self.members.values() for at in probe.times if begin <= at <= end)

    def by(self, name, begin, end):
        return [at for at in self.members[name].times if begin <= at <= end]

    def stop(self):
        for probe in self.all:
            probe.is_over = True
