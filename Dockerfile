# docker build -t fakebroker . && docker run --rm -p 9092:9092 -p 8092:8092 -e FAKEBROKER_CONTROL_TOKEN=test fakebroker
#
# 9092   for clients on the host: hands out localhost:9092
# 29092  for clients in the same container network: hands out the container's own address
# 8092   control by HTTP (docs/docker.md); without FAKEBROKER_CONTROL_TOKEN a token is made and printed
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY fakebroker fakebroker
RUN python -m venv /opt/fakebroker && /opt/fakebroker/bin/pip install --no-cache-dir --no-compile '.[control,scenario]' \
    && /opt/fakebroker/bin/pip uninstall -y pip

FROM python:3.13-slim
COPY --from=build /opt/fakebroker /opt/fakebroker
RUN useradd --system --no-create-home --uid 10001 fakebroker && /opt/fakebroker/bin/python -m compileall -q /opt/fakebroker
USER fakebroker
EXPOSE 9092 29092 8092
HEALTHCHECK --interval=1s --timeout=2s --start-period=1s --retries=5 \
    CMD ["/opt/fakebroker/bin/python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8092/healthz', timeout=1)"]
ENTRYPOINT ["/opt/fakebroker/bin/fakebroker"]
CMD ["serve", "--listen", "0.0.0.0:9092", "--advertise", "localhost:9092", "--listen", "0.0.0.0:29092", "--control", "0.0.0.0:8092"]
