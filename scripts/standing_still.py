"""How long a machine stood still under a check: that a server is late then is no fault of the server's.

A machine that is paused, or has no time for anybody, and a disk that does not answer, hold up the check as they hold up its
server. So the check looks at itself: how much longer than it should a short nap takes, and how long a sync of a small file
beside the server's. What a wait has of that is taken off it. Where nothing stood still nothing is taken off.
"""

import collections
import contextlib
import os
import threading
import time

# How long a write waits for its turn, from its arrival, before it is refused.
PATIENCE = 2
NAP = 0.05
# What a nap may take longer, and a sync in all: the limits of the checks have room for as much.
LATE_NAP = 0.1
LATE_SYNC = 0.5


class Wait(collections.namedtuple("Wait", "start seconds")):
    """What a client waited for, since when by the monotonic clock, and for how long."""

    @property
    def end(self):
        return self.start + self.seconds


class StandingStill:
    """Looks, from `start` to `stop` or in a `with`, for times in which this machine or the disk of `folder` stood still."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "standing-still")
        self.stopping = threading.Event()
        # From when to when; and since when each of the two looks that are under way, and what it may take.
        self.spans, self.looks = [], {}
        self.threads = [threading.Thread(target=body, daemon=True) for body in (self.nap, self.sync)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        self.stopping.set()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    @contextlib.contextmanager
    def look(self, name, allowed):
        start = time.monotonic()
        self.looks[name] = start, allowed
        yield
        end = time.monotonic()
        # First among those that are over, so that at no moment it is in neither: to count it twice does no harm.
        if end - start > allowed:
            self.spans.append((start, end))
        del self.looks[name]

    def nap(self):
        while not self.stopping.is_set():
            with self.look("nap", NAP + LATE_NAP):
                self.stopping.wait(NAP)

    def sync(self):
        # In place and of one size: a full disk has room for it, too.
        file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        while not self.stopping.wait(0.2):
            with self.look("sync", LATE_SYNC), contextlib.suppress(OSError):
                os.pwrite(file, b"x", 0)
                os.fsync(file)
        os.close(file)

    def between(self, start, end):
        """For how many seconds of that time it stood still; what two looks saw at once counts once."""
        now = time.monotonic()
        under_way = [(since, now) for since, allowed in list(self.looks.values()) if now - since > allowed]
        total, counted = 0.0, start
        for since, until in sorted(self.spans + under_way):
            since, until = max(since, counted), min(until, end)
            if since < until:
                total, counted = total + until - since, until
        return total

    def own(self, wait):
        """What of a wait is not this machine's."""
        return wait.seconds - self.between(wait.start, wait.end)

    def excuses(self, wait):
        """Whether a write that was refused after `wait` would have had time left, had this machine not stood still.

        A second of that excuses also where it waited behind others of its connection, each of which had its two seconds.
        """
        stood_still = self.between(wait.start, wait.end)
        return stood_still >= 1 or stood_still >= LATE_NAP and self.own(wait) < PATIENCE

    def __str__(self):
        longest = max((until - since for since, until in list(self.spans)), default=0)
        return f"this machine stood still {len(self.spans)} times, for up to {longest:.2f} s"
