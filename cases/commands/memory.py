"""Whether what went wrong is that memory ran out."""

from __future__ import annotations

import errno
import re
import resource

NO_MEMORY = "not enough memory; raise its limit (ulimit -v), or take fewer or smaller cases"
"""What is said then, with the remedy."""

_SAID = re.compile("failed to map segment|cannot allocate memory(?! in static TLS)", re.IGNORECASE)
"""What the dynamic linker says of a library that there is no room for, after which `import` says it too."""
_UNSAID = re.compile("without (exception set|setting an exception)")
"""What Python says of code in C that failed and did not say why, as where memory runs out."""


def lacks_memory(error: BaseException) -> bool:
    """Whether an error, or one that led to it, says that there is no more memory."""
    seen: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in seen:
        if isinstance(at, MemoryError):
            return True
        if isinstance(at, OSError) and at.errno == errno.ENOMEM:
            return True
        if isinstance(at, SystemError) and _UNSAID.search(str(at)) and _is_limited():
            return True
        if isinstance(at, ImportError | OSError) and _SAID.search(str(at)):
            return True
        seen.append(at)
        at = at.__cause__ or at.__context__
    return False


def _is_limited() -> bool:
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
