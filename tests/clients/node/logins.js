// kafkajs clients that log in and do what they are told: see tests/clients/programs.py for the lines in and out.

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Kafka, logLevel } from 'kafkajs'

const PATIENCE_MS = 20_000
const clients = new Map()

const sasl = ({ mechanism, user, password, token }) =>
  mechanism === 'OAUTHBEARER'
    ? { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: token }) }
    : { mechanism: mechanism.toLowerCase(), username: user, password }

const ssl = ({ authority, certificate, key }) => ({
  ...(authority && { ca: [readFileSync(authority)] }),
  ...(certificate && { cert: readFileSync(certificate), key: readFileSync(key) }),
})

const within = (promise) =>
  Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error('nothing')), PATIENCE_MS).unref())])

class Client {
  #waiting // for the reader: resolve and reject of the call that waits
  #early = [] // outcomes that nobody has waited for yet

  constructor(login) {
    this.kafka = new Kafka({
      brokers: [login.bootstrap],
      reauthenticationThreshold: 2_000, // 10 s would be more than the sessions of the stories last
      logLevel: logLevel.NOTHING,
      retry: { retries: 1, initialRetryTime: 100 },
      ...(login.protocol.endsWith('SSL') && { ssl: ssl(login) }),
      ...(login.mechanism && { sasl: sasl(login) }),
    })
  }

  async send(topic) {
    if (!this.producer) {
      const producer = this.kafka.producer()
      await producer.connect()
      this.producer = producer
    }
    await this.producer.send({ topic, messages: [{ value: 'x' }] })
  }

  /** A reader that ended with an error is made anew. */
  async read(topic, groupId) {
    if (!this.consumer) {
      const consumer = this.kafka.consumer({ groupId, retry: { retries: 1, initialRetryTime: 100, restartOnFailure: async () => false } })
      await consumer.connect()
      this.consumer = consumer
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        this.consumer = undefined
        this.#news(payload.error)
      })
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({ eachMessage: async () => this.#news(null) })
    }
    if (this.#early.length === 0) await new Promise((resolve) => (this.#waiting = resolve))
    const error = this.#early.shift()
    if (error) throw error
  }

  #news(error) {
    this.#early.push(error)
    this.#waiting?.()
  }

  async close() {
    await this.consumer?.disconnect()
    await this.producer?.disconnect()
  }
}

/** The name of what was wrong: that of the protocol's error, if the broker said one, else that of kafkajs's error. */
const named = (error) => error.type ?? (error.cause?.type ?? (error.name === 'Error' ? error.message : (error.cause?.name ?? error.name)))

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line)
  if (order.login) clients.set(order.client, new Client(order.login))
  const client = clients.get(order.client)
  let outcome = ''
  try {
    await within(client[order.do](order.topic, order.group))
  } catch (error) {
    outcome = named(error)
  }
  console.log(JSON.stringify({ outcome }))
}
process.exit(0)
