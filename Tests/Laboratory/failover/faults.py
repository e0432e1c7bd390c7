"""The faults. Each fault strikes, waits for the takeover, and repairs the damage."""

import time

import psycopg

from cluster import Unhealed
from member import MAX_CONNECTIONS

# Patroni's ttl is 20 s. A takeover that needs four times as long is considered failed.
TAKEOVER = 80
OTHERS = "FROM pg_stat_activity WHERE usename IN ('pushreg', 'probe')"


class Fault:
    """A fault of the primary, with the times of its strike and its repair."""

    def __init__(self, cluster, probes, random):
        self.cluster, self.probes, self.random = cluster, probes, random
        self.old = cluster.primary()
        if self.old is None:
            raise Unhealed("no primary for the fault")
        # A machine returns either during the takeover or after it.
        self.delay = random.uniform(4, 14)

    def run(self):
        self.struck = time.monotonic()
        try:
            self.strike()
            self.wait_for_takeover()
            time.sleep(self.delay)
        finally:
            self.mended = time.monotonic()
            self.mend()

    def wait_for_takeover(self):
        others = [member.name for member in self.cluster.members if member is not self.old]
        self.cluster.wait_for(lambda: self.probes.last(others) > self.struck, TAKEOVER, "no other member took writes")

    def mend(self):
        pass


class Kill(Fault):
    """SIGKILL to the primary's Patroni and Postgres"""

    name = "kill"

    def strike(self):
        self.old.kill()

    def mend(self):
        self.old.start()


class LaggedKill(Kill):
    """SIGKILL to the primary's Patroni and Postgres, half a second after a stop of its WAL senders"""

    name = "lagged kill"

    def strike(self):
        self.old.stop_senders()
        time.sleep(0.5)
        self.struck = time.monotonic()
        self.old.kill()


class Freeze(Fault):
    """SIGSTOP to all processes of the primary; SIGCONT after the takeover"""

    name = "freeze"

    def strike(self):
        self.old.freeze()

    def mend(self):
        self.old.thaw()


class UnguardedThaw(Freeze):
    """SIGSTOP to all processes of the primary; SIGCONT to Patroni 6 s later than to Postgres"""

    name = "unguarded thaw"

    def mend(self):
        self.old.thaw(only_postgres=True)
        time.sleep(6)
        self.old.thaw()


class Switchover(Fault):
    """A switchover by Patroni"""

    name = "switchover"

    def strike(self):
        status, words = self.old.switch_over()
        if status != 200:
            raise Unhealed(f"the switchover was refused: {status} {words[:200]}")


class EtcdAway(Fault):
    """SIGKILL to etcd, and a restart after 20 s"""

    name = "etcd away"

    def strike(self):
        self.cluster.stop_etcd()

    def wait_for_takeover(self):
        time.sleep(20)
        self.cluster.start_etcd()
        back = time.monotonic()
        self.cluster.wait_for(lambda: self.probes.last() > back, TAKEOVER, "no member took writes after etcd was back")


class SlotsTaken(Fault):
    """Other clients take all connections of the primary for 10 s, and the service loses its connections"""

    name = "slots taken"

    def strike(self):
        taken = []
        try:
            with self.cluster.session(self.old) as session:
                self._take(session, taken)
                time.sleep(10)
                others = session.execute(f"SELECT count(*) {OTHERS}").fetchone()[0]
        finally:
            for connection in taken:
                connection.close()
        self.released = time.monotonic()
        if others:
            raise Unhealed(f"{others} connections of other clients at the end")

    def _take(self, session, taken):
        """Locks the other clients out for a moment, with the same error. Otherwise the fastest client gets each free slot."""
        for role in ("pushreg", "probe"):
            session.execute(f"ALTER ROLE {role} CONNECTION LIMIT 0")
        session.execute(f"SELECT pg_terminate_backend(pid, 1000) {OTHERS}")
        end = time.monotonic() + 1
        while time.monotonic() < end and len(taken) < MAX_CONNECTIONS:
            try:
                taken.append(self.cluster.session(self.old, "probe", "occupant"))
            except psycopg.OperationalError:
                # Refused clients use slots, too.
                time.sleep(0.01)
        for role in ("pushreg", "probe"):
            session.execute(f"ALTER ROLE {role} CONNECTION LIMIT -1")

    def wait_for_takeover(self):
        self.cluster.wait_for(lambda: self.probes.last() > self.released, TAKEOVER, "no member took writes with slots to spare")


class StandbysAway(Fault):
    """SIGKILL to both standbys, and a restart after some time"""

    name = "standbys away"

    def strike(self):
        for member in self._standbys():
            member.kill()

    def wait_for_takeover(self):
        # A write that already reached a standby may still be acknowledged.
        time.sleep(1)
        alone = time.monotonic()
        time.sleep(9)
        if self.cluster.is_strict and self.probes.last() > alone:
            raise Unhealed("the primary took writes without a standby")

    def mend(self):
        for member in self._standbys():
            member.start()
        back = time.monotonic()
        self.cluster.wait_for(lambda: self.probes.last() > back, TAKEOVER, "no member took writes after the standbys were back")
        self.mended = time.monotonic()

    def _standbys(self):
        return [member for member in self.cluster.members if member is not self.old]


ALL = [Kill, LaggedKill, Freeze, UnguardedThaw, Switchover, EtcdAway, SlotsTaken, StandbysAway]
