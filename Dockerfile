# Two stages: the first builds countersign, the second holds the executable and the two libraries it needs.
#   docker build -t countersign .
#   docker run --read-only -v countersign-data:/data -p 127.0.0.1:8080:8080 countersign
# Both images must be of the same Debian release: the executable needs the libraries of the one it was built on.
ARG BUILD_IMAGE=swift:6.3-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
# Nothing is fetched where the image has the packages already.
# hadolint ignore=DL3008
RUN dpkg -s libsqlite3-dev libssl-dev pkg-config >/dev/null 2>&1 \
    || { apt-get update \
        && apt-get install -y --no-install-recommends libsqlite3-dev libssl-dev pkg-config \
        && rm -rf /var/lib/apt/lists/*; }
WORKDIR /src
COPY Package.swift ./
COPY Sources Sources
COPY migrations migrations
# SwiftPM wants the folder of every target that the package names, also of tests it does not build.
COPY Tests Tests
RUN swift build -c release --product countersign --static-swift-stdlib -Xswiftc -cross-module-optimization \
        -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now --disable-local-rpath \
    && install -D -m 0755 -s .build/release/countersign /out/countersign \
    && install -d -m 0700 /out/data

FROM ${RUNTIME_IMAGE}
# hadolint ignore=DL3008
RUN dpkg -s libsqlite3-0 libssl3 >/dev/null 2>&1 \
    || { apt-get update \
        && apt-get install -y --no-install-recommends libsqlite3-0 libssl3 \
        && rm -rf /var/lib/apt/lists/*; }
COPY --from=build /out/countersign /usr/local/bin/countersign
# A new volume takes over owner and mode of the folder it is mounted on.
COPY --from=build --chown=10001:10001 /out/data /data
ENV COUNTERSIGN_DATA=/data \
    COUNTERSIGN_LISTEN=*:8080
USER 10001:10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
# Whether the process answers, not whether it is ready: a full disk must not restart it for good.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["/usr/local/bin/countersign", "health"]
ENTRYPOINT ["/usr/local/bin/countersign"]
CMD ["serve"]
