# Name an image by its digest here to build the same one again, whatever its tag has become.
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
WORKDIR /app
# The date is written into what is compiled; a fixed one makes that the same in every build.
ENV SOURCE_DATE_EPOCH=315532800 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements-image.lock ./
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-image.lock
COPY pyproject.toml README.md LICENSE ./
COPY gateway gateway
COPY router_service router_service
COPY techniques techniques
COPY pricing pricing
RUN /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /venv/bin/pip uninstall --yes setuptools pip

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="Lockgate" \
      org.opencontainers.image.description="A gateway between an application and its language models" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --system --gid 10001 lockgate \
    && useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent lockgate \
    && install -d -o 10001 -g 10001 /var/lib/lockgate
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /var/lib/lockgate
VOLUME /var/lib/lockgate
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ.get(\"LOCKGATE_SERVER__PORT\", 8080)}/readyz', timeout=2)"]
ENTRYPOINT ["lockgate"]
CMD ["serve", "-c", "/etc/lockgate/lockgate.yaml"]
