"""A client for a Reflectory server, on the standard library alone."""

from .client import Client
from .error import Fault, ReflectoryError
from .results import Corrected, Event, Finding, Job, Memory, Recalled, Verdict

__all__ = ["Client", "Corrected", "Event", "Fault", "Finding", "Job", "Memory", "Recalled", "ReflectoryError", "Verdict"]
