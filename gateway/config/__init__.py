"""All configuration, read once at start; nothing else in the product reads the environment."""

from gateway.config.load import (
    ConfigError,
    Secrets,
    hand_down,
    handed_down,
    load,
    secrets,
)
from gateway.config.models import CapabilityConfig, ModelConfig, PriceConfig
from gateway.config.schema import (
    CapsConfig,
    Config,
    KeyConfig,
    ProviderConfig,
    SimulatedConfig,
    UpstreamConfig,
)

__all__ = [
    "CapabilityConfig",
    "CapsConfig",
    "Config",
    "ConfigError",
    "KeyConfig",
    "ModelConfig",
    "PriceConfig",
    "ProviderConfig",
    "Secrets",
    "SimulatedConfig",
    "UpstreamConfig",
    "hand_down",
    "handed_down",
    "load",
    "secrets",
]
