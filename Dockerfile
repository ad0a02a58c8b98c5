# docker build -t fakebroker . && docker run --rm -p 9092:9092 -p 8092:8092 -e FAKEBROKER_CONTROL_TOKEN=test fakebroker
#
# 9092   for clients on the host: hands out localhost:9092
# 29092  for clients in the same container network: hands out the container's own address
# 8092   control by HTTP (docs/how-to/docker.md); without FAKEBROKER_CONTROL_TOKEN a token is made and printed
# Any image with Python 3.11 or newer and useradd: --build-arg BASE=registry.example/python:3.13-slim
ARG BASE=python:3.13-slim
FROM $BASE AS build
ARG EXTRAS=control,scenario,tls
WORKDIR /src
COPY pyproject.toml README.md LICENSE pyspark_fakebroker.py ./
COPY fakebroker fakebroker
RUN python -m venv /opt/fakebroker && /opt/fakebroker/bin/pip install --no-cache-dir --no-compile ".[$EXTRAS]" \
    && /opt/fakebroker/bin/pip uninstall -y pip

FROM $BASE
ARG EXTRAS=control,scenario,tls
LABEL org.opencontainers.image.title="fakebroker" \
    org.opencontainers.image.description="A Kafka broker made for tests" \
    org.opencontainers.image.version="1.0.0" \
    org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/fakebroker /opt/fakebroker
RUN useradd --no-create-home --uid 10001 fakebroker && /opt/fakebroker/bin/python -m compileall -q /opt/fakebroker
USER fakebroker
EXPOSE 9092 29092 8092
# The broker writes its process id here while it serves clients, whatever its options are. /dev/shm exists in every
# container, also in a read-only one.
ENV FAKEBROKER_READY_FILE=/dev/shm/fakebroker.pid
# What an error says to build when a part is missing that the image has no pip for.
ENV FAKEBROKER_IMAGE_EXTRAS=$EXTRAS
HEALTHCHECK --interval=30s --timeout=2s --start-period=30s --start-interval=1s --retries=3 \
    CMD ["/bin/sh", "-c", "read pid < \"$FAKEBROKER_READY_FILE\" && test -d \"/proc/$pid\""]
ENTRYPOINT ["/opt/fakebroker/bin/fakebroker"]
CMD ["serve", "--listen", "0.0.0.0:9092", "--advertise", "localhost:9092", "--listen", "0.0.0.0:29092", "--control", "0.0.0.0:8092"]
