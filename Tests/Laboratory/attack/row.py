"""A row of the table: the figures of a service during an attack, and the rules for every attack."""

import time

from callers import HOT

# The limit for the 99th percentile of all callers during an attack, in seconds or as a multiple of the calm one.
MOST_SECONDS, MOST_TIMES = 1.0, 10
# The limit when all attacks run together.
MOST_TIMES_AT_ONCE, LEAST_SECONDS = 2, 0.05
# The limit for the remains of an attack: descriptors, and MiB.
LEFT_DESCRIPTORS, LEFT_MEMORY = 30, 64


class Row:
    """One attack, or all attacks together."""

    def __init__(self, kind, service):
        self.kind, self.service, self.faults = kind, service, []
        self.values, self.connections, self.begin = {}, 0, time.monotonic()

    def start(self):
        service = self.service
        self.before = (service.memory()[0], service.descriptors(), service.cpu(), service.postgres_cpu(), len(service.error_lines()))
        service.forget_peak()

    def sample(self):
        try:
            self.connections = max(self.connections, self.service.descriptors())
        except OSError:
            pass

    def met(self, report, calm, at_once=False):
        """Records the outcomes of the callers, with the calm ones."""
        p99, calm_p99 = report.percentile(0.99), calm.percentile(0.99)
        self.values |= {"p99": p99, "calm_p99": calm_p99, "success": report.success(), "callers": report.figures(),
                        "hot_p99": report.percentile(0.99, HOT), "calm_hot_p99": calm.percentile(0.99, HOT)}
        if faults := report.faults():
            self.faults.append(f"callers from other addresses were not served: {'; '.join(faults[:8])}")
        most = max(MOST_TIMES_AT_ONCE * calm_p99, LEAST_SECONDS) if at_once else max(MOST_TIMES * calm_p99, MOST_SECONDS)
        if p99 > most:
            self.faults.append(f"callers' p99 was {p99 * 1000:.0f} ms, calm {calm_p99 * 1000:.0f} ms")

    def after(self, limit, patience=15):
        """Records the remains of the attack, after a wait because the service returns memory every ten seconds."""
        service = self.service
        if not service.is_alive():
            self.faults.append("the service ended")
            return
        if not hasattr(self, "before"):
            return
        memory, descriptors, cpu, postgres_cpu, errors = self.before
        end = time.monotonic() + patience
        while time.monotonic() < end and self._left(descriptors, memory):
            time.sleep(0.2)
        now, peak = service.memory()
        self.values |= {"memory": [memory, peak, now], "service_cpu": service.cpu() - cpu,
                        "postgres_cpu": service.postgres_cpu() - postgres_cpu, "connections": self.connections,
                        "descriptors": [descriptors, service.descriptors()]}
        most = getattr(self.kind, "most_memory", None)
        if most is not None and peak > memory + most:
            self.faults.append(f"memory was {peak:.0f} MiB, {memory:.0f} before; {most} more are permitted")
        if peak > limit:
            self.faults.append(f"memory was {peak:.0f} MiB; the limit is {limit}")
        self.faults += self._left(descriptors, memory)
        if lines := service.error_lines()[errors:]:
            self.faults.append(f"{len(lines)} errors in the log, such as {lines[0][:300]}")

    def _left(self, descriptors, memory):
        left = []
        if (now := self.service.descriptors()) > descriptors + LEFT_DESCRIPTORS:
            left.append(f"{now} descriptors are open, {descriptors} before")
        if (now := self.service.memory()[0]) > memory + LEFT_MEMORY:
            left.append(f"memory is {now:.0f} MiB, {memory:.0f} before")
        return left

    def figures(self):
        self.values["seconds"] = round(time.monotonic() - self.begin, 1)
        return {"attack": self.kind.name, "offered": self.kind.offered, "does": does(self.kind), "must": self.kind.must,
                **self.values, "faults": self.faults}


def does(kind):
    text = kind.__doc__ or ""
    return getattr(kind, "does", None) if isinstance(getattr(kind, "does", None), str) else text.split("\n")[0]
