"""All configuration, read once at start; nothing else in the product reads the environment."""

from gateway.config.callers import BudgetConfig, CapsConfig, KeyConfig, TeamConfig
from gateway.config.database import DatabaseConfig
from gateway.config.load import (
    ConfigError,
    Secrets,
    hand_down,
    handed_down,
    load,
    secrets,
)
from gateway.config.models import CapabilityConfig, ModelConfig, PriceConfig
from gateway.config.pricing import PricingConfig
from gateway.config.schema import (
    Config,
    ProviderConfig,
    SimulatedConfig,
    UpstreamConfig,
)

__all__ = [
    "BudgetConfig",
    "CapabilityConfig",
    "CapsConfig",
    "Config",
    "ConfigError",
    "DatabaseConfig",
    "KeyConfig",
    "ModelConfig",
    "PriceConfig",
    "PricingConfig",
    "ProviderConfig",
    "Secrets",
    "SimulatedConfig",
    "TeamConfig",
    "UpstreamConfig",
    "hand_down",
    "handed_down",
    "load",
    "secrets",
]
