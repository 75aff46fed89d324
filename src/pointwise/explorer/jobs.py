"""Jobs: the work behind a page, done in a thread that can be awaited, watched and cancelled."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from pointwise.engines import Engine
from pointwise.errors import PointwiseError
from pointwise.progress import listening, phase

AT_ONCE = 4  # jobs that compute at the same time; others wait for their turn
MOST_KEPT = 512  # answers
WAITING, COMPUTING = "waiting for other pages", "computing"  # phases, beside those of the library
MOST_CHARACTERS = 64_000_000  # of all answers that are kept


class CancelledError(PointwiseError):
    """Somebody cancelled the work."""


class BusyError(PointwiseError):
    """Too much work is waiting."""


class Job:
    """Work in progress, or its answer.

    Args:
        work: What to do; it is given the job, to register the engines it uses.
    """

    def __init__(self, work: Callable[[Job], Any]) -> None:
        self.name = secrets.token_hex(8)
        self.future: Future[Any] = Future()
        self.started = time.monotonic()
        self.is_cancelled = False
        self.phase = WAITING
        self._work = work
        self._engines: list[Engine] = []
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self.started

    @property
    def size(self) -> int:
        """How many characters its answer has; 0 as long as there is none."""
        if not self.future.done() or self.future.exception() is not None:
            return 0
        return len(getattr(self.future.result(), "content", ""))

    def uses(self, engine: Engine) -> None:
        """Remember an engine that works for this job, and stop if it was cancelled meanwhile."""
        with self._lock:
            self._engines.append(engine)
        self.check()

    def leaves(self, engine: Engine) -> bool:
        """Forget an engine that others may use from now on; tell whether it was left alone, and not interrupted."""
        with self._lock:
            self._engines = [other for other in self._engines if other is not engine]
            return not self.is_cancelled

    def check(self) -> None:
        """Stop if the job was cancelled.

        Raises:
            CancelledError: It was.
        """
        if self.is_cancelled:
            raise CancelledError("This was cancelled. Open the page again to restart.")

    def cancel(self) -> None:
        """Stop the work."""
        with self._lock:
            self.is_cancelled = True
            for engine in self._engines:
                engine.cancel()

    def run(self) -> None:
        """Do the work and keep the answer."""
        try:
            self.check()
            with listening(self._enter):
                phase(COMPUTING)
                self.future.set_result(self._work(self))
        except KeyboardInterrupt:
            self.future.set_exception(CancelledError("This was cancelled. Open the page again to restart."))
        except BaseException as error:  # noqa: BLE001  # whoever waits gets it
            self.future.set_exception(error)
        finally:
            self._engines.clear()

    def _enter(self, name: str) -> None:
        self.phase = name


class Jobs:
    """All jobs of a server: few at once, the same one only once, the latest answers kept."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="explorer")
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._waiting = 0

    def start(self, key: Hashable, work: Callable[[Job], Any], *, anew: bool = False) -> Job:
        """Start a job, or return the one that does the same; a key of None is never the same.

        Args:
            key: What the answer depends on.
            work: What to do.
            anew: Whether to do it even if there is an answer already.

        Raises:
            BusyError: Too many wait already.
        """
        with self._lock:
            known = self._jobs.get(key) if key is not None else None
            if known is not None and not _has_failed(known) and not (anew and known.future.done()):
                self._jobs.move_to_end(key)
                return known
            if self._waiting >= MOST_WAITING:
                raise BusyError("The explorer has more to do than it can. Try again in a moment.")
            job = Job(work)
            self._jobs[key if key is not None else job.name] = job
            self._waiting += 1
        self._pool.submit(self._run, job, is_kept=key is not None)
        return job

    def _run(self, job: Job, *, is_kept: bool) -> None:
        try:
            job.run()
        finally:
            with self._lock:
                self._waiting -= 1
                if not is_kept:
                    self._jobs.pop(job.name, None)
                self._forget()

    def find(self, name: str) -> Job | None:
        """Find a running job."""
        with self._lock:
            return next((job for job in self._jobs.values() if job.name == name and not job.future.done()), None)

    def _forget(self) -> None:
        """Forget the answers that were not asked for the longest, where they are too many or too large together."""
        done = [(key, job.size) for key, job in self._jobs.items() if job.future.done()]
        number, characters = len(self._jobs), sum(size for _, size in done)
        for key, size in done:
            if number <= MOST_KEPT and characters <= MOST_CHARACTERS:
                return
            del self._jobs[key]
            number, characters = number - 1, characters - size

    def close(self) -> None:
        """Cancel everything and release the threads."""
        with self._lock:
            jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)


MOST_WAITING = 256  # jobs


def _has_failed(job: Job) -> bool:
    return job.future.done() and job.future.exception() is not None
