# An image of cqldyno with the workers of `make dist`. hadolint has checked this file; no container engine has built it yet.
#   docker build -t cqldyno .
#   docker run --rm cqldyno compare --quick
#   docker run --rm cqldyno doctor            which rights and programs are missing for further figures
FROM rust:1.95-trixie AS build
# Go is for gocql, pip for libcassandra.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends golang-go python3-pip && rm -rf /var/lib/apt/lists/*
WORKDIR /cqldyno
COPY . .
RUN make dist

FROM debian:trixie-slim
COPY --from=build /cqldyno/target/dist/cqldyno-*-linux/ /usr/local/
WORKDIR /runs
ENTRYPOINT ["cqldyno"]
CMD ["compare", "--quick"]
