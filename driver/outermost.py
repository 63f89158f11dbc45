"""The outermost frame of a program of ours: whatever comes out of it becomes a message and an exit status, never a
traceback.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable

from ..dialects.errors import AhbmcError, Category, Fault, Sources, render
from ..passes.loaded import fault_of_own

# Exit statuses; 0 is all well, 1 an error in what was given.
WRONG_USAGE = 2
CHECK_FAILED = 3
INTERRUPTED = 130  # 128 + SIGINT, as shells have it

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def guarded(program: str, body: Callable[[], int], sources: Sources) -> int:
    """The exit status of `body`: its own, or that of the error that it raised, which is printed to standard error with
    its places.

    Anything that is no AhbmcError is a fault of ours, or of a pass of the user's own: ours is reported as `internal` in
    one line with the place in our source, status 70.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # `>&-`: nobody wants to read it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 -- until the end
    try:
        status = _status_of(body)
        sys.stdout.flush()
        return status
    except AhbmcError as error:
        print(render(error, sources), file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:
        # The reader (`| head`) has gone; nothing more can be said to it.
        _give_up_output()
        return 0
    except KeyboardInterrupt as interrupt:
        print(f"{program}: interrupted {interrupt}".rstrip(), file=sys.stderr)
        return INTERRUPTED
    except BaseException as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            _give_up_output()
            hint = "make room there, or write to another place"
            found = AhbmcError(Fault(f"cannot write the output: {os.strerror(error.errno).lower()}", None, hint=hint))
        else:
            found = _unexpected(program, error)
        print(render(found, sources), file=sys.stderr)
        return found.exit_status


def _status_of(body: Callable[[], int]) -> int:
    """What `body` returns, or what argparse ends it with when it has answered itself: with help, or what is wrong."""
    try:
        return body()
    except SystemExit as stop:
        if fault_of_own(stop) is not None or not isinstance(stop.code, int):
            raise
        return stop.code


def _give_up_output() -> None:
    """Python must not try again at exit to write what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def caught(program: str, body: Callable[[], None]) -> AhbmcError | None:
    """The error that `body` raises, if it does; what nobody expected becomes an `internal` one."""
    try:
        body()
    except AhbmcError as error:
        return error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return _unexpected(program, error)
    return None


def _unexpected(program: str, error: BaseException) -> AhbmcError:
    """What is said of an exception. One that ends Python is raised again, unless a file of the user's own raised it."""
    if os.environ.get("AHBMC_DEBUG"):
        traceback.print_exception(error)
    if not isinstance(error, Exception) and fault_of_own(error) is None:
        raise error
    return AhbmcError(unexpected_fault(program, error))


def unexpected_fault(program: str, error: BaseException) -> Fault:
    """What an exception that nobody expected says to a user."""
    if (own := fault_of_own(error)) is not None:
        return own
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return Fault(
        f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}",
        None,
        Category.INTERNAL,
        hint=f"this is a fault of {program}, not of your input: please report it with the input",
        notes=(f"raised at {frame.filename}:{frame.lineno} in {frame.name}",),
    )
