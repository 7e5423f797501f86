"""Places where code that a model wrote runs without harm to the host."""

from gateway.sandbox.docker import DockerSandbox
from gateway.sandbox.limits import Limits
from gateway.sandbox.process import ProcessSandbox

__all__ = ["DockerSandbox", "Limits", "ProcessSandbox"]
