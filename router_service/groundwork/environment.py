"""A configuration of which the environment can set every field."""

from __future__ import annotations

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class FromEnvironment(BaseSettings):
    """Base of what is made of a file's fields: variables win over them.

    A subclass states its ``env_prefix``. The parts of a name are joined by two underscores.
    """

    model_config = SettingsConfigDict(env_nested_delimiter="__", frozen=True, extra="forbid")

    @classmethod
    def settings_customise_sources(  # noqa: PLR0917 - the signature is pydantic's
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over the file; read nothing else."""
        del settings_cls, dotenv_settings, file_secret_settings
        return env_settings, init_settings
