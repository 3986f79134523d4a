"""The log: what operators read on standard error, as text or as one JSON object a line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any

from energycomm.cells import on_one_line
from energycomm.masking import conceal_environment, masked

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


_chosen: tuple[str, str] | None = None
"""The form and the least level that structlog is yet to be told of: it takes long to import, and most commands log
nothing."""


class Log:
    """Where lines of the log go; a module has one."""

    def __getattr__(self, name: str) -> Any:
        """A way to log, by its name: `warning`, `bind`."""
        if name.startswith("__"):  # what Python asks of any object is no way to log
            raise AttributeError(name)
        import structlog

        _tell()
        return getattr(structlog.get_logger(), name)


class Bridge(logging.Handler):
    """Lines of the libraries that we use, in the form of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a line of a library."""
        Log().log(record.levelno, "library", logger=record.name, text=record.getMessage())


def without_secrets(_: object, __: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """A line of the log without secrets, the text of a traceback included."""
    return {name: masked(value, name) for name, value in event.items()}


def on_lines_of_its_own(_: object, __: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """A line of the log that no value of it breaks, or makes look like another; a traceback keeps its lines."""
    return {
        on_one_line(name): on_one_line(value) if isinstance(value, str) and name != "exception" else value
        for name, value in event.items()
    }


def configure(form: str = "text", level: str = "warning") -> None:
    """Set the form and the least level of the log. Secrets are masked in every line.

    Args:
      form: ``text`` for people, ``json`` for machines.
      level: one of `LEVELS`.
    """
    global _chosen
    conceal_environment()
    _chosen = form, level
    if "structlog" in sys.modules:
        _tell()
    root = logging.getLogger()
    if not any(isinstance(handler, Bridge) for handler in root.handlers):
        root.addHandler(Bridge(logging.WARNING))
    # What it complains of reaches us as an error of the channel, without a traceback.
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)


def _tell() -> None:
    """Tell structlog what was chosen, once. Several threads may log the first line at the same time."""
    global _chosen
    chosen = _chosen
    if chosen is None:
        return
    import structlog

    form, level = chosen
    renderer: structlog.typing.Processor
    if form == "json":
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            without_secrets,
            on_lines_of_its_own,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        # Standard error is looked up at each line: who replaced it meanwhile shall get the log. A line and its end are
        # one write: processes that share it would run their lines together where Python does not buffer it.
        logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    _chosen = None
