"""The broken rules of all rounds, and the report."""

import collections

import table
from instances import GRACE, REQUEST_TIMEOUT
from measures import clock


class Verdict:
    def __init__(self, ledger, rounds, instances):
        self.ledger, self.rounds, self.instances = ledger, rounds, instances
        self.lost, self.wrong, self.revived = [], [], []
        self.faults = [f"{one.fault} at {clock(one.struck)}: {fault}" for one in rounds for fault in one.faults()]
        self._judge_answers()
        self._judge_instances()

    def look_up(self, session):
        """Checks all acknowledged writes."""
        self.lost = self.ledger.lost_tokens(session)
        self.wrong, self.revived = self.ledger.wrong_states(session)
        if self.lost:
            self.faults.append(f"{len(self.lost)} acknowledged tokens are lost, acknowledged from {clock(min(self.lost))} "
                               f"to {clock(max(self.lost))}")
        if self.wrong:
            self.faults.append(f"{len(self.wrong)} activities do not show their last acknowledged token")
        if self.revived:
            self.faults.append(f"{len(self.revived)} ended activities run again")

    def _judge_answers(self):
        ledger = self.ledger
        if ledger.revived:
            self.faults.append(f"{len(ledger.revived)} calls read an ended activity as running, such as {ledger.revived[0]}")
        if ledger.stale:
            first = ledger.stale[0]
            self.faults.append(f"{len(ledger.stale)} stale reads, such as one of {clock(first.begin)} to {clock(first.end)}: "
                               f"{first.words}")
        between = [a for a in ledger.answers if (not a.is_expected or a.seconds > REQUEST_TIMEOUT + GRACE)
                   and not any(one.begin <= a.begin <= one.end for one in self.rounds)]
        if between:
            first = between[0]
            self.faults.append(f"{len(between)} responses between the rounds, such as {first.kind} {first.status} after "
                               f"{first.seconds:.1f} s at {clock(first.begin)}: {first.words}")

    def _judge_instances(self):
        for instance in self.instances.values():
            if not instance.is_alive():
                self.faults.append(f"{instance.name}: the instance ended with {instance.running.returncode}")
            if lines := instance.error_lines():
                self.faults.append(f"{instance.name}: {len(lines)} errors in its log, such as {lines[0][:300]}")

    def text(self):
        lines = []
        if self.rounds:
            losses = self.lost + self.wrong + self.revived
            lines += [table.text(self.rounds, (losses, [read.begin for read in self.ledger.stale])), ""]
        statuses = collections.Counter(str(answer.status) for answer in self.ledger.answers)
        lines.append(f"responses: {', '.join(f'{count} × {status}' for status, count in sorted(statuses.items()))}")
        lines.append(f"the callers' own clock was late by at most {max((late for _, late in self.ledger.lag), default=0):.2f} s")
        lines += [f"  - {fault}" for fault in self.faults]
        for name in self.instances if self.rounds else ():
            lines.append(f"figure: failover, {name}, from the cluster's first write to the first acknowledgement, min / median / "
                         f"max: {table.spread([one.instances[name]['ours'] for one in self.rounds])} s; slowest response "
                         f"{max(one.instances[name]['slowest'] for one in self.rounds):.1f} s")
        return "\n".join([*lines, self._figure(statuses["503"])])

    def _figure(self, refused):
        ledger = self.ledger
        ended = sum(1 for token, _ in ledger.last.values() if token is None)
        return (f"figure: failover: {len(self.rounds)} rounds, {len(ledger.acknowledged)} acknowledged tokens, "
                f"{len(self.lost)} lost; {len(ledger.last)} activities, {len(self.wrong)} wrong; {ended} ended, "
                f"{len(self.revived) + len(ledger.revived)} revived; {ledger.reads} reads, {len(ledger.stale)} stale; "
                f"{refused} responses 503; {len(self.faults)} bounds broken")
