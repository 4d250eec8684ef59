"""The share of runs beside each other: the pace of every service, and one budget; each runs in its own thread."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, TypeAlias

from maskbench.asking.live import Gate
from maskbench.asking.loop import Stopper
from maskbench.asking.meter import WORDS, Meter, limits_of
from maskbench.method.asks import VERDICTS
from maskbench.models.chat.pacing import Pace
from maskbench.settings import Budget
from maskbench.store.bill import ledger_of
from maskbench.store.folder import RunFolder

PARTS = 3  # of a run: subject, judge, judge of numbers; each may be at a service of its own
_Share: TypeAlias = tuple[Meter, asyncio.AbstractEventLoop | None]  # a run's meter, and its loop once it is under way


class SharedPurse:
    """The budget that several runs use up, and that stops all of them at a limit; any thread may call it."""

    def __init__(self, budget: Budget) -> None:
        self.limits = limits_of(budget)
        self.reached: tuple[str, str] | None = None  # why everything stops, and the option of the limit
        self._lock = threading.RLock()
        self._before: dict[str, dict[str, float]] = {}  # what runs used that are not under way, by name and option
        self._used: dict[str, dict[str, tuple[float, float]]] = {}  # of those under way, and what a call takes
        self._shares: dict[str, _Share] = {}

    def put_down(self, name: str, used: dict[str, float]) -> None:
        """Note what a run used in earlier sessions."""
        self._before[name] = used

    def put_down_run(self, name: str, folder: RunFolder, verdicts: str = VERDICTS) -> None:
        """Note what a run's verdict set used in earlier sessions, by its own bill; nothing where there is no run."""
        if not self.limits or not folder.exists:
            return
        with closing(folder.store()) as store:
            if ledger := ledger_of(store, verdicts):
                meter = Meter(ledger, Budget(), lambda: 0)
                self.put_down(name, {option: meter.used(option)[0] for option in self.limits})

    def take_in(self, name: str, meter: Meter) -> None:
        """A run goes on: from now on its meter says what it used."""
        with self._lock:
            self._before.pop(name, None)
            self._shares[name] = meter, None
            self._used[name] = {option: meter.used(option) for option in self.limits}
            meter.look = self.look

    def _spent(self, option: str) -> float:
        now = sum(account[option][0] for account in self._used.values())
        return now + sum(used.get(option, 0.0) for used in self._before.values())

    def look(self, meter: Meter) -> None:
        """Stop all runs where what they used, with what is under way, comes to a limit."""
        if not self.limits:
            return
        with self._lock:
            name = next(name for name, (other, _) in self._shares.items() if other is meter)
            if self._shares[name][1] is None:
                self._shares[name] = meter, asyncio.get_running_loop()
            if self.reached is None:
                self._count(name, meter)
            self._stop_all()

    def check(self) -> None:
        """See whether the limits hold before anything is begun."""
        with self._lock:
            for option, most in self.limits.items():
                if self.reached is None and (used := self._spent(option)) >= most:
                    self._reach(option, most, used)

    def why(self) -> str | None:
        """Why everything stopped, with all that came home since; None where no limit was reached."""
        with self._lock:
            if self.reached is None:
                return None
            option = self.reached[1]
            for name, (meter, _) in self._shares.items():
                self._used[name][option] = meter.used(option)
            return _reason(option, self.limits[option], self._spent(option))

    def _count(self, name: str, meter: Meter) -> None:
        """Bring the account of one run up to date, and hold all accounts against the limits."""
        account = self._used[name]
        for option, most in self.limits.items():
            account[option] = meter.used(option)
            under_way = sum(each.under_way * self._used[other][option][1] for other, (each, _) in self._shares.items())
            if (used := self._spent(option)) + under_way >= most:
                return self._reach(option, most, used)
        return None

    def _reach(self, option: str, most: float, used: float) -> None:
        self.reached = _reason(option, most, used), option

    def _stop_all(self) -> None:
        """Stop every run in its own loop; what is under way comes home."""
        if self.reached is None:
            return
        here = asyncio.get_running_loop()
        for meter, loop in self._shares.values():
            if loop is here:
                self._stop(meter)
            elif loop is not None and not meter.full:  # who has not begun stops at its first look
                with suppress(RuntimeError):  # it has ended meanwhile
                    loop.call_soon_threadsafe(self._stop, meter)

    def _stop(self, meter: Meter) -> None:
        """Stop one run, in its own loop; until then it goes on looking, so that no call slips through."""
        if not meter.full and self.reached:
            meter.full = True
            meter.on_full(*self.reached)


def _reason(option: str, most: float, used: float) -> str:
    words = WORDS[option]
    hint = " Not one request fits into it: give more." if used == 0 else ""
    return f"{option} {words(most)} is reached by all runs together: {words(used)} used.{hint}"


class _SharedGate(Gate):
    """The gate of one run among several: the services' paces bound what is in flight, the purse what is used."""

    def __init__(self, connections: int, name: str, pool: Pool) -> None:
        super().__init__(PARTS * connections)
        self.paces: dict[str, Pace] = pool.paces
        self._name, self._purse = name, pool.purse
        self._meter: Meter | None = None

    @property
    def meter(self) -> Meter | None:
        """The run's own meter, which the purse counts in."""
        return self._meter

    @meter.setter
    def meter(self, meter: Meter | None) -> None:
        self._meter = meter
        if meter is not None:
            self._purse.take_in(self._name, meter)


class Pool:
    """The services' paces by address, and the purse, that runs beside each other share."""

    def __init__(self, budget: Budget) -> None:
        self.paces: dict[str, Pace] = {}
        self.purse = SharedPurse(budget)

    def stopper(self, name: str) -> Stopper:
        """What stops one run of these from another thread, with the gate at which it waits."""
        return _PooledStopper(name, self)


class _PooledStopper(Stopper):
    def __init__(self, name: str, pool: Pool) -> None:
        super().__init__()
        self._name, self._pool = name, pool

    def gate(self, connections: int) -> Gate:
        """A gate that shares paces and purse with the other runs."""
        return _SharedGate(connections, self._name, self._pool)


@contextmanager
def signals(stop: Callable[[str], object]) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal call `stop` with their name; outside the main thread nobody hears them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hup = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    before: dict[signal.Signals, Any] = {}
    names = {signal.SIGINT: "Ctrl-C"}
    for number in (signal.SIGINT, signal.SIGTERM, *hup):
        name = names.get(number, number.name)
        before[number] = signal.signal(number, lambda *_, name=name: stop(name))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
