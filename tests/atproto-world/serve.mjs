// Serves a directory of DIDs (@did-plc/server, its database in memory) and a PDS (@atproto/pds, sqlite
// in a temporary directory) on 127.0.0.1. Prints one line of JSON when both are ready. Runs until its
// standard input closes, so that a test that dies ends the servers. The input line
// `restart MILLISECONDS` makes the PDS drop every connection, stay down for this time and start
// again with its stored data; the script then prints `restarted`.
//
//   node serve.mjs [--rate-limits]
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import net from 'node:net'
import events from 'node:events'
import readline from 'node:readline'
import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'

process.env.LOG_ENABLED ??= 'false' // the log would go to standard output
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

// The start() of both servers would listen on every interface, so it is not called.
const plcPort = await freePort()
const plc = PlcServer.create({ db: Database.mock(), port: plcPort })
const plcServer = plc.app.listen(plcPort, HOST)
await events.once(plcServer, 'listening')

const pdsPort = await freePort()
// The tests know this secret, and use it to create a session that has expired.
const jwtSecret = 'a secret of the loopback world'
const settings = {
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
}
const open = async () => {
  const pds = await PDS.fromEnv(settings)
  await pds.ctx.sequencer.start()
  // `listen` also connects the websockets of the firehose.
  const server = pds.app.listen(pdsPort, HOST)
  const sockets = new Set()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await events.once(server, 'listening')
  return { pds, server, sockets }
}
const close = async ({ pds, server, sockets }) => {
  server.close()
  for (const socket of sockets) socket.destroy()
  await pds.destroy().catch(() => {})
}
let running = await open()

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
  plcServer.closeAllConnections()
  plcServer.close()
  await close(running)
  fs.rmSync(data, { recursive: true, force: true })
  process.exit(0)
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
const lines = readline.createInterface({ input: process.stdin })
lines.on('line', async (line) => {
  const [word, pause] = line.split(' ')
  if (word !== 'restart') return
  await close(running)
  await new Promise((done) => setTimeout(done, Number(pause)))
  running = await open()
  console.log('restarted')
})
lines.on('close', stop)
