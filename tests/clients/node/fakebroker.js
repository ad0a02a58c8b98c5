// A Kafka broker of its own for each test, out of one running `fakebroker serve --control 127.0.0.1:8092`.
// Copy this file into your project: it needs nothing but Node 20.12 or newer.

const CONTROL = process.env.FAKEBROKER_CONTROL_URL ?? 'http://127.0.0.1:8092'
const TOKEN = process.env.FAKEBROKER_CONTROL_TOKEN // needed if the broker does not run on this host

/** The control API refused a request: `problem` is its problem document (RFC 9457), `status` the HTTP status. */
export class ControlError extends Error {
  constructor(method, path, status, problem) {
    super(`${method} ${path}: ${status} ${problem.title ?? ''}: ${problem.detail ?? JSON.stringify(problem)}`)
    this.name = 'ControlError'
    this.status = status
    this.problem = problem
  }
}

async function request(method, path, body) {
  const headers = { 'content-type': 'application/json', ...(TOKEN && { authorization: `Bearer ${TOKEN}` }) }
  const response = await fetch(CONTROL + path, { method, headers, body: body && JSON.stringify(body) }).catch((cause) => {
    throw new Error(`nobody answers at ${CONTROL}; is "fakebroker serve --control" running there?`, { cause })
  })
  const text = await response.text()
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '')
  if (!response.ok) throw new ControlError(method, path, response.status, isJson ? JSON.parse(text) : { detail: text })
  return isJson && text ? JSON.parse(text) : text
}

/**
 * Start a broker that lives as long as the test `t` (of node:test).
 *
 * `options` are those of POST /brokers: nodes, config, seed, profile, as_release. When the test fails, its report has
 * the broker's story: the last requests of each client, and why groups changed.
 */
export async function startBroker(t, options = {}) {
  const { broker_id: id, bootstrap } = await request('POST', '/brokers', options)
  const broker = new Broker(`/brokers/${id}`, bootstrap)
  t.after(() => broker.close(t))
  return broker
}

/** One broker: `bootstrap` for Kafka clients, and the control API below its own path. */
export class Broker {
  #path
  #cleanups = []

  constructor(path, bootstrap) {
    this.#path = path
    this.bootstrap = bootstrap
  }

  get(path) { return request('GET', this.#path + path) }
  put(path, body = {}) { return request('PUT', this.#path + path, body) }
  post(path, body = {}) { return request('POST', this.#path + path, body) }
  delete(path) { return request('DELETE', this.#path + path) }

  /** Call `cleanup` at the end of the test, while the broker still runs; the last one first. Clients disconnect so. */
  atEnd(cleanup) { this.#cleanups.unshift(cleanup) }

  async close(t) {
    if (!t.passed) console.log(await this.get('/story'))
    for (const cleanup of this.#cleanups) await cleanup()
    await request('DELETE', this.#path)
  }
}
