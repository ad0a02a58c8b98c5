#!/usr/bin/env bash
# Build the container image without a container engine or a registry, run it, and check its health and its labels.
# Needs root, buildah and debootstrap: apt-get install buildah debootstrap. The base is Debian with its own Python 3,
# which stands for python:3.13-slim; a folder for it is the only argument.
set -euo pipefail
base=${1:?a folder for the base image}
root=$(cd "$(dirname "$0")/.." && pwd)
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
if [ ! -x "$base/usr/bin/python3" ]; then
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$base"
  ln -sf python3 "$base/usr/bin/python"
fi
cp /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/" # those of this machine
container=$(buildah from scratch)
buildah add -q "$container" "$base" / >/dev/null
buildah config --env PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
  --env PIP_CERT=/etc/ssl/certs/ca-certificates.crt "$container"
buildah commit -q --rm "$container" docker.io/library/python:3.13-slim
# buildah before 1.34 does not know --start-interval.
sed 's/ --start-interval=[^ ]*//' "$root/Dockerfile" |
  buildah bud --pull-never -f - --ignorefile "$root/.dockerignore" -t fakebroker "$root"
container=$(buildah from --pull-never localhost/fakebroker)
buildah run "$container" -- /opt/fakebroker/bin/fakebroker serve --listen 127.0.0.1:0 &
for _ in $(seq 100); do
  if buildah run "$container" -- /bin/sh -c 'read pid < "$FAKEBROKER_READY_FILE" && test -d "/proc/$pid"' 2>/dev/null
  then healthy=yes; break; fi
  sleep 0.2
done
kill "$!"; wait || true
buildah rm "$container" >/dev/null
test "${healthy:-no}" = yes
echo "the image is built, serves and is healthy"
