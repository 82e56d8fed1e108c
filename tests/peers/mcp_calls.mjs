// Makes calls as a TypeScript client: reads one call per line, and writes one result per line.
//
// usage: mcp_calls.mjs sdk|client FORGE REPO ARG..., in the directory where npm installed the packages

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.cwd()}/`);
const [which, command, cwd, ...args] = process.argv.slice(2);
const [client, stdio, options] =
  which === "sdk"
    ? ["sdk/client/index.js", "sdk/client/stdio.js", {}]
    : ["client", "client/stdio", { versionNegotiation: { mode: "auto" } }];
const { Client } = require(`@modelcontextprotocol/${client}`);
const { StdioClientTransport } = require(`@modelcontextprotocol/${stdio}`);

const print = (value) => console.log(JSON.stringify(value));
const peer = new Client({ name: "calls", version: "1" }, options);
await peer.connect(new StdioClientTransport({ command, args, cwd, env: process.env }));
print((await peer.listTools()).tools);
for await (const line of createInterface({ input: process.stdin })) {
  const { isError = false, structuredContent = null } = await peer.callTool(JSON.parse(line));
  print({ isError, structuredContent });
}
await peer.close();
