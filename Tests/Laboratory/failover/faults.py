"""The faults. Each strikes, waits until others have taken over, and mends."""

import time

import psycopg

from cluster import Unhealed
from member import MAX_CONNECTIONS

# Patroni's ttl is 20 s; what takes four times as long does not come.
TAKEOVER = 80
OTHERS = "FROM pg_stat_activity WHERE usename IN ('pushreg', 'probe')"


class Fault:
    """A fault of the primary, and when it struck and was mended."""

    def __init__(self, cluster, probes, random):
        self.cluster, self.probes, self.random = cluster, probes, random
        self.old = cluster.primary()
        if self.old is None:
            raise Unhealed("no primary to strike")
        # A machine that comes back may do so in the middle of what follows, or when all is settled.
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
    """The same, half a second after its senders of the log were stopped"""

    name = "lagged kill"

    def strike(self):
        self.old.stop_senders()
        time.sleep(0.5)
        self.struck = time.monotonic()
        self.old.kill()


class Freeze(Fault):
    """SIGSTOP to all of the primary; SIGCONT to all when another has taken over"""

    name = "freeze"

    def strike(self):
        self.old.freeze()

    def mend(self):
        self.old.thaw()


class UnguardedThaw(Freeze):
    """The same, but Patroni goes on 6 s after Postgres"""

    name = "unguarded thaw"

    def mend(self):
        self.old.thaw(only_postgres=True)
        time.sleep(6)
        self.old.thaw()


class Switchover(Fault):
    """Patroni is asked to hand the lead over"""

    name = "switchover"

    def strike(self):
        status, words = self.old.switch_over()
        if status != 200:
            raise Unhealed(f"the switchover was refused: {status} {words[:200]}")


class EtcdAway(Fault):
    """etcd is killed, and comes back after 20 s"""

    name = "etcd away"

    def strike(self):
        self.cluster.stop_etcd()

    def wait_for_takeover(self):
        time.sleep(20)
        self.cluster.start_etcd()
        back = time.monotonic()
        self.cluster.wait_for(lambda: self.probes.last() > back, TAKEOVER, "no member took writes after etcd was back")


class SlotsTaken(Fault):
    """Others take all connections to the primary, and the service loses its own, for 10 s"""

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
            raise Unhealed(f"{others} connections were others' at the end")

    def _take(self, session, taken):
        """Locks the others out for a moment, by the same error: otherwise whoever is quicker has the place that becomes free."""
        for role in ("pushreg", "probe"):
            session.execute(f"ALTER ROLE {role} CONNECTION LIMIT 0")
        session.execute(f"SELECT pg_terminate_backend(pid, 1000) {OTHERS}")
        end = time.monotonic() + 1
        while time.monotonic() < end and len(taken) < MAX_CONNECTIONS:
            try:
                taken.append(self.cluster.session(self.old, "probe", "occupant"))
            except psycopg.OperationalError:
                # Those who are being refused take places, too.
                time.sleep(0.01)
        for role in ("pushreg", "probe"):
            session.execute(f"ALTER ROLE {role} CONNECTION LIMIT -1")

    def wait_for_takeover(self):
        self.cluster.wait_for(lambda: self.probes.last() > self.released, TAKEOVER, "no member took writes with slots to spare")


class StandbysAway(Fault):
    """Both standbys are killed, and come back when the primary was alone for some time"""

    name = "standbys away"

    def strike(self):
        for member in self._standbys():
            member.kill()

    def wait_for_takeover(self):
        # A write that was on its way to a standby may still be acknowledged.
        time.sleep(1)
        alone = time.monotonic()
        time.sleep(9)
        if self.cluster.is_strict and self.probes.last() > alone:
            raise Unhealed("the primary took writes without a standby")

    def mend(self):
        for member in self._standbys():
            member.start()
        back = time.monotonic()
        self.cluster.wait_for(lambda: self.probes.last() > back, TAKEOVER, "no member took writes when the standbys were back")
        self.mended = time.monotonic()

    def _standbys(self):
        return [member for member in self.cluster.members if member is not self.old]


ALL = [Kill, LaggedKill, Freeze, UnguardedThaw, Switchover, EtcdAway, SlotsTaken, StandbysAway]
