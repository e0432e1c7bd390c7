"""The books: what was asked, what was answered, and what the service has acknowledged."""

import hashlib
import time
from typing import NamedTuple


class Answer(NamedTuple):
    """One answer; a status of 0 is none."""

    begin: float
    end: float
    instance: str
    kind: str
    status: int
    # Whether it is one that this call may get.
    is_expected: bool
    words: str

    @property
    def seconds(self):
        return self.end - self.begin


class Acknowledged(NamedTuple):
    """A token that the service said it has."""

    at: float
    activity: str
    token: str

    @property
    def digest(self):
        return hashlib.sha256(bytes.fromhex(self.token)).digest()


class Stale(NamedTuple):
    """A read that did not show what was acknowledged before it was asked."""

    begin: float
    end: float
    words: str


class Ledger:
    def __init__(self):
        self.answers, self.acknowledged, self.stale = [], [], []
        # By activity: its last acknowledged token, None for one that was ended; and when that was.
        self.last = {}
        self.reads, self.revived = 0, []
        # How late the callers' own clock rang at most: what is slow here is no fault of the service.
        self.lag = []

    def acknowledge(self, activity, token):
        at = time.monotonic()
        self.acknowledged.append(Acknowledged(at, activity, token))
        self.last[activity] = (token, at)

    def acknowledge_end(self, activity):
        self.last[activity] = (None, time.monotonic())

    def forget(self, activity):
        """Nobody knows what became of its last write."""
        self.last.pop(activity, None)

    def lost_tokens(self, session, since=0):
        """When those acknowledged tokens were acknowledged that left no trace: a value's row names its activity, also after the
        next one came."""
        known, traced = [entry for entry in list(self.acknowledged) if entry.at >= since], set()
        for page in pages(known):
            rows = session.execute("SELECT token_digest, activity_id FROM token_values WHERE token_digest = ANY(%s)",
                                   [[entry.digest for entry in page]])
            traced |= {(bytes(digest), activity) for digest, activity in rows}
        return [entry.at for entry in known if (entry.digest, entry.activity) not in traced]

    def wrong_states(self, session):
        """When the last write was acknowledged of activities that show another token, or none, and of those whose end is gone;
        only once all callers have stopped."""
        wrong, revived = [], []
        for page in pages(list(self.last.items())):
            rows = {activity: (token, is_ended) for activity, token, is_ended in session.execute(
                "SELECT activity_id, encode(token, 'hex'), ended_at IS NOT NULL FROM activities WHERE activity_id = ANY(%s)",
                [[activity for activity, _ in page]])}
            for activity, (token, at) in page:
                shown, is_ended = rows.get(activity, (None, False))
                if token is None and not is_ended:
                    revived.append(at)
                elif token is not None and shown != token:
                    wrong.append(at)
        return wrong, revived


def pages(entries, size=5000):
    return (entries[begin:begin + size] for begin in range(0, len(entries), size))
