"""The figures of a round: the time without writes, and the time that the service then needed."""

import time

from instances import GRACE, REQUEST_TIMEOUT

# From the cluster's first write to the first acknowledgement of an instance.
MOST_PAUSE = 2
ZERO = time.time() - time.monotonic()


def clock(at):
    """A time in the format of logs."""
    return time.strftime("%H:%M:%S", time.gmtime(ZERO + at)) + f".{int((ZERO + at) % 1 * 10)}"


def longest_pause(times, begin, end):
    """The longest time without an event, as its start and end."""
    marks = [begin, *(at for at in times if begin <= at <= end), end]
    return max(zip(marks, marks[1:]), key=lambda pair: pair[1] - pair[0])


class Round:
    """The observations of one fault, from its strike to its repair. Responses are observed until the cluster has recovered."""

    def __init__(self, fault, begin, end, probes, ledger, instances):
        self.fault, self.begin, self.end = fault.name, begin, end
        self.struck, self.mended = fault.struck, fault.mended
        pause = longest_pause(probes.direct(begin, fault.mended), begin, fault.mended)
        self.cluster_pause, self.taken_over = pause[1] - pause[0], pause[1]
        self.haproxy_took_over = longest_pause(probes.haproxy.times, begin, fault.mended)[1]
        # Writes to a replaced primary, by its own port.
        self.old_writes = 0
        if probes.last([name for name in probes.members if name != fault.old.name]) > fault.struck:
            self.old_writes = len(probes.by(fault.old.name, fault.mended, fault.mended + 25))
        self.logs = instances
        self.instances = {name: self._instance(name, [a for a in ledger.answers if a.instance == name and a.begin >= begin])
                          for name in instances}
        self.lag = max((late for at, late in ledger.lag if begin <= at), default=0)
        self.writes = sum(1 for entry in ledger.acknowledged if entry.at >= begin)

    def _instance(self, name, answers):
        done = sorted(a.end for a in answers if a.kind != "GET" and a.status in (200, 201, 204))
        # Without an outage, any normal pause is the longest. Such a pause does not count for the service.
        first, last = longest_pause(done, self.begin, self.mended)
        return {
            "ours": max(0, last - max(first, self.taken_over)),
            "after_haproxy": max(0, last - max(first, self.haproxy_took_over, self.taken_over)),
            "later": max((after - at for at, after in zip(done, done[1:]) if at >= last), default=0),
            "slowest": max((a.seconds for a in answers), default=0),
            "late": [a for a in answers if a.seconds > REQUEST_TIMEOUT + GRACE],
            "over_one": sum(1 for a in answers if a.seconds > 1),
            "refused": sum(1 for a in answers if a.status == 503),
            "unexpected": [a for a in answers if not a.is_expected],
        }

    def faults(self):
        """The broken rules."""
        found = []
        for name, seen in self.instances.items():
            if seen["ours"] > MOST_PAUSE:
                found.append(f"{name}: first acknowledgement {seen['ours']:.2f} s after the cluster's first write")
            if late := seen["late"]:
                found.append(self._told(name, late))
            if seen["unexpected"]:
                first = seen["unexpected"][0]
                found.append(f"{name}: {len(seen['unexpected'])} other responses, such as {first.kind} {first.status} "
                             f"at {clock(first.begin)}: {first.words}")
        return found

    def _told(self, name, late):
        """The late responses, with the log lines at these times."""
        slowest = max(late, key=lambda a: a.seconds)
        said = dict.fromkeys(words for a in late for words in self.logs[name].said(ZERO + a.end - 0.2, ZERO + a.end + 0.1))
        return (f"{name}: {len(late)} responses after {REQUEST_TIMEOUT + GRACE} s, the slowest after {slowest.seconds:.1f} s "
                f"({slowest.kind} {slowest.status}, asked at {clock(slowest.begin)}); its log when they came: "
                + ("; ".join(words[:160] for words in said) or "nothing"))

    def figures(self):
        instances = {name: {key: len(value) if isinstance(value, list) else value for key, value in seen.items()}
                     for name, seen in self.instances.items()}
        return {"fault": self.fault, "at": clock(self.struck), "cluster_pause": self.cluster_pause, "writes": self.writes,
                "old_writes": self.old_writes, "lag": self.lag, **instances}
