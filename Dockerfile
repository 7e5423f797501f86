FROM python:3.13-slim AS build
WORKDIR /app
COPY requirements.lock ./
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY gateway gateway
COPY router_service router_service
COPY techniques techniques
COPY pricing pricing
RUN /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home lockgate \
    && install -d -o 10001 /var/lib/lockgate
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /var/lib/lockgate
VOLUME /var/lib/lockgate
USER 10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=2)"]
ENTRYPOINT ["lockgate"]
CMD ["serve", "-c", "/etc/lockgate/lockgate.yaml"]
