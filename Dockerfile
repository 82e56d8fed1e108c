# The MCP server and the command line, with git and nothing else:
#   docker build -t forge . && docker run --rm -i -e GH_TOKEN forge mcp
FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /src
COPY . .
# The image's own toolchain: `rust-toolchain.toml` would also download clippy and rustfmt.
RUN RUSTUP_TOOLCHAIN=$RUST_VERSION cargo build --locked --profile dist -p forge-cli --bin forge

FROM debian:bookworm-slim
# The registry of MCP servers compares this name with the one in server.json.
LABEL io.modelcontextprotocol.server.name="org.tangled.forge/forge"
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git openssh-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home forge
COPY --from=build /src/target/dist/forge /usr/bin/forge
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/forge/
USER forge
WORKDIR /home/forge
ENTRYPOINT ["forge"]
CMD ["mcp"]
