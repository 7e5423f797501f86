"""HTTP clients compared: docs/decisions/0009-http-client.md tells the outcome.

The alternatives are no dependencies of the project: run this in an environment of its own with
``aiohttp httpx httpx-aiohttp httpx2 pyreqwest httptools uvicorn uvloop orjson``.
"""
