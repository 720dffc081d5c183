# Image of the command line, with a sentence encoder and readers of Excel and Parquet files:
#
#   docker build --tag cordwood .
#   docker run --rm --volume "$PWD:/data" cordwood train reviews.csv --text body --label topic
#
# and of the server, which needs a token because it listens on all addresses of the container:
#
#   docker run --rm --volume "$PWD:/data:ro" --publish 127.0.0.1:8000:8000 \
#     --env CORDWOOD_TOKEN="$(openssl rand -hex 16)" cordwood serve reviews.cordwood --host 0.0.0.0
#
# The container runs as user 1000 in /data. Where the files belong to another user, add
# --user "$(id -u):$(id -g)"; kernels are then compiled in each new container.

FROM python:3.13-slim AS build
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
COPY requirements/newest.txt /tmp/newest.txt
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --constraint /tmp/newest.txt \
    "$(echo /wheels/*.whl)[embeddings,fast,files,serve,tokenizers]" \
    && useradd --uid 1000 --create-home cordwood \
    && mkdir /data \
    && chown cordwood /data

USER cordwood
WORKDIR /data

# Compile for any CPU of this architecture: numba does not use machine code that was compiled on
# another model of CPU, and would compile again on the computer that runs the container. Forests and
# linear SVMs are as fast as with code for the CPU of the build.
ENV NUMBA_CPU_NAME=generic \
    NUMBA_CACHE_DIR=/home/cordwood/.cache/numba
RUN cordwood warmup

EXPOSE 8000
ENTRYPOINT ["cordwood"]
CMD ["--help"]
