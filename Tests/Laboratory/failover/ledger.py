"""The ledger: calls, responses, and acknowledged writes."""

import hashlib
import time
from typing import NamedTuple


class Answer(NamedTuple):
    """One response. Status 0 means no response."""

    begin: float
    end: float
    instance: str
    kind: str
    status: int
    # Whether this call may get the status.
    is_expected: bool
    words: str

    @property
    def seconds(self):
        return self.end - self.begin


class Acknowledged(NamedTuple):
    """An acknowledged token."""

    at: float
    activity: str
    token: str

    @property
    def digest(self):
        return hashlib.sha256(bytes.fromhex(self.token)).digest()[:15]


class Stale(NamedTuple):
    """A read without a write that was acknowledged before the read began."""

    begin: float
    end: float
    words: str


class Ledger:
    def __init__(self):
        self.answers, self.acknowledged, self.stale = [], [], []
        # By activity: its last acknowledged token, or None after its end; and the time.
        self.last = {}
        self.reads, self.revived = 0, []
        # The greatest delay of the callers' own clock. Such a delay is not a fault of the service.
        self.lag = []

    def acknowledge(self, activity, token):
        at = time.monotonic()
        self.acknowledged.append(Acknowledged(at, activity, token))
        self.last[activity] = (token, at)

    def acknowledge_end(self, activity):
        self.last[activity] = (None, time.monotonic())

    def forget(self, activity):
        """The result of its last write is unknown."""
        self.last.pop(activity, None)

    def lost_tokens(self, session, since=0):
        """The times of acknowledged tokens that are lost. The row of a value keeps its activity after later tokens, so a
        token without a row is lost."""
        known, traced = [entry for entry in list(self.acknowledged) if entry.at >= since], set()
        for page in pages(known):
            rows = session.execute("SELECT token_digest, activity_id FROM token_values WHERE token_digest = ANY(%s)",
                                   [[entry.digest for entry in page]])
            traced |= {(bytes(digest), activity) for digest, activity in rows}
        return [entry.at for entry in known if (entry.digest, entry.activity) not in traced]

    def wrong_states(self, session):
        """The times of the last writes of activities with a wrong token or a lost end. Call it after all callers have
        stopped."""
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
