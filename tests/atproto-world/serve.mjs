// A directory of DIDs (@did-plc/server, its database in memory) and a PDS (@atproto/pds, sqlite in a
// temporary directory) on 127.0.0.1. Prints one line of JSON when both are ready, and runs until its
// standard input ends: so a test that dies takes the servers with it.
//
//   node serve.mjs [--rate-limits]
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import net from 'node:net'
import events from 'node:events'
import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'

process.env.LOG_ENABLED ??= 'false' // it would go to standard output
const { values: options } = parseArgs({
  options: { 'rate-limits': { type: 'boolean', default: false } },
})

const HOST = '127.0.0.1'
const freePort = async () => {
  const server = net.createServer().listen(0, HOST)
  await events.once(server, 'listening')
  const { port } = server.address()
  await new Promise((done) => server.close(done))
  return port
}

const directoryModule = await import('@did-plc/server')
const { PDS } = await import('@atproto/pds')
const { PlcServer, Database } = directoryModule.default ?? directoryModule

const data = fs.mkdtempSync(path.join(os.tmpdir(), 'forge-pds-'))
fs.mkdirSync(path.join(data, 'blobs'))

// Both have a start() of their own, which listens on every interface.
const plcPort = await freePort()
const plc = PlcServer.create({ db: Database.mock(), port: plcPort })
const plcServer = plc.app.listen(plcPort, HOST)
await events.once(plcServer, 'listening')

const pdsPort = await freePort()
// Known to the tests: with it they make a session that has ended.
const jwtSecret = 'a secret of the loopback world'
const pds = await PDS.fromEnv({
  devMode: true,
  hostname: 'localhost',
  port: pdsPort,
  dataDirectory: data,
  blobstoreDiskLocation: path.join(data, 'blobs'),
  didPlcUrl: `http://localhost:${plcPort}`,
  serviceHandleDomains: ['.test'],
  inviteRequired: false,
  disableSsrfProtection: true,
  enableDidDocWithSession: true,
  rateLimitsEnabled: options['rate-limits'],
  adminPassword: randomBytes(16).toString('hex'),
  jwtSecret,
  plcRotationKeyK256PrivateKeyHex: randomBytes(32).toString('hex'),
})
await pds.ctx.sequencer.start()
// This listen also wires the websockets of the firehose.
const pdsServer = pds.app.listen(pdsPort, HOST)
await events.once(pdsServer, 'listening')

console.log(
  JSON.stringify({
    pds: `http://localhost:${pdsPort}`,
    plc: `http://localhost:${plcPort}`,
    firehose: `ws://localhost:${pdsPort}/xrpc/com.atproto.sync.subscribeRepos`,
    jwt_secret: jwtSecret,
  }),
)

let stopping = false
const stop = async () => {
  if (stopping) return
  stopping = true
  for (const server of [pdsServer, plcServer]) {
    server.closeAllConnections()
    server.close()
  }
  await pds.destroy().catch(() => {})
  fs.rmSync(data, { recursive: true, force: true })
  process.exit(0)
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
process.stdin.resume()
process.stdin.on('end', stop)
