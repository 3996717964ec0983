"""Files that the program keeps for itself beside those of its user: journals, logs and locks.

Their names can be guessed. In a folder that others may write to, a link planted under such a name would have the
program overwrite what it leads to; so links are refused, never followed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import IO, Any, Literal


def open_own(path: Path, mode: Literal["ab", "ab+", "rb", "a"] = "ab+") -> IO[Any]:
    """Open a file, made if missing unless it is only read; text is UTF-8.

    Raises:
        OSError: it cannot be opened, or is a symbolic link or no regular file; ``strerror`` says which.
    """
    return open(path, mode, encoding=None if "b" in mode else "utf-8", opener=_open_unfollowed)


def open_locked(path: Path) -> IO[bytes]:
    """Open a file for reading and appending, and lock it until it is closed or the process ends.

    Raises:
        BlockingIOError: another holder has it.
        OSError: see ``open_own``.
    """
    while True:
        file = open_own(path, "ab+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.lstat()):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        file.close()  # another holder has removed it meanwhile: a lock on that guards nothing


def _open_unfollowed(path: str, flags: int) -> int:
    # A pipe under the name would have the program wait for its other end.
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, f"{os.path.basename(path)} is a symbolic link", path) from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, f"{os.path.basename(path)} is no regular file", path)
    return handle
