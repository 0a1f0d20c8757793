"""Running things at the same time, from code that is asynchronous and from code that is not."""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

# asyncio takes as long to import as all of the metrics, so it is imported where it is used.
if TYPE_CHECKING:
    import asyncio

__all__ = ["at_most", "in_thread", "run", "within"]

from callmatch.errors import ENDING

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine, also where an event loop is running already, as in a notebook.

    All run in one loop, which is never closed: the asynchronous client of a model keeps connections, and they belong to
    the loop that they were opened in.
    """
    import asyncio  # noqa: PLC0415

    shared = _Loop.shared()
    if shared.thread is threading.current_thread():
        # From inside of it, it can't be waited for.
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        with ThreadPoolExecutor(1) as another:
            return another.submit(asyncio.run, coroutine).result()
    future = asyncio.run_coroutine_threadsafe(coroutine, shared.loop)
    try:
        return future.result()
    except BaseException:  # such as Ctrl-C
        future.cancel()
        raise


class _Loop:
    """An event loop in a thread of its own."""

    lock: ClassVar = threading.Lock()
    made: ClassVar[_Loop | None] = None

    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415

        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.serve, name="callmatch", daemon=True)
        self.thread.start()

    @classmethod
    def shared(cls) -> _Loop:
        with cls.lock:
            if cls.made is None or cls.made.process != os.getpid():  # a fork has no threads
                cls.made = cls()
            return cls.made

    def serve(self) -> None:
        while True:
            # Whoever waits for the task that raised it gets it too.
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                self.loop.run_forever()


async def in_thread(function: Callable[[], T]) -> T:
    """Call something that blocks.

    Unlike those of `asyncio.to_thread`, the thread is not waited for when it is given up, so a call that never comes
    back holds up neither a time-out nor the end of the program.
    """
    import asyncio  # noqa: PLC0415

    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(settling: Callable[[Any], None], value: object) -> None:
        if not future.done():
            settling(value)

    def target() -> None:
        try:
            outcome: tuple[Callable[[Any], None], object] = future.set_result, context.run(function)
        except StopIteration as error:  # which no future takes
            outcome = future.set_exception, RuntimeError(f"StopIteration: {error}")
        except BaseException as error:  # raised again, where it is waited for
            outcome = future.set_exception, error
        # Nobody waits any more if the loop is closed.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=target, daemon=True).start()
    return await future


async def within(seconds: float | None, coroutine: Awaitable[T]) -> T:
    """Wait for code of the user, and no longer than that, also if it will not be cancelled.

    Raises:
        asyncio.TimeoutError: There was no answer in time. Code that blocks can't be left before it is done.
        BaseException: What it raised; also what would end the loop that it runs in. If it was cancelled, but not by
            whoever waits, that is a `RuntimeError`.
    """
    import asyncio  # noqa: PLC0415

    async def guarded() -> tuple[T, None] | tuple[None, BaseException]:
        try:
            return await coroutine, None
        except (*ENDING, asyncio.CancelledError):
            raise
        except BaseException as error:  # a SystemExit would leave the loop before it comes to whoever waits
            return None, error

    task = asyncio.ensure_future(guarded())
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        given_up = task.cancel()
    if given_up:
        raise asyncio.TimeoutError(f"no answer within {seconds:g} s")
    if task.cancelled():
        raise RuntimeError("it was cancelled")
    value, error = task.result()
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


async def at_most(most: int, each: Iterable[Callable[[], Awaitable[T]]]) -> list[T]:
    """Wait for all, of which at most so many run at the same time; what comes out is in the order of what went in."""
    import asyncio  # noqa: PLC0415

    room = asyncio.Semaphore(most)

    async def one(call: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await call()

    tasks = [asyncio.ensure_future(one(call)) for call in each]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
