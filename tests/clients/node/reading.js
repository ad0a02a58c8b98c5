// What the stories share about kafkajs: a client of a broker, and consumers whose records a test can wait for.

import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'

// Shorter than kafkajs's own, so that a story takes a second.
const QUICK = { heartbeatInterval: 500, sessionTimeout: 10_000, rebalanceTimeout: 10_000, maxWaitTimeInMs: 200 }

export function kafka(broker, clientId) {
  return new Kafka({
    clientId,
    brokers: broker.bootstrap.split(','),
    logLevel: logLevel[process.env.KAFKAJS_LOG_LEVEL ?? 'NOTHING'],
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 5 },
  })
}

/** Send `values` to one partition of a topic, a record each. */
export async function produce(broker, topic, values, partition = 0) {
  const producer = kafka(broker, 'producer').producer()
  await producer.connect()
  await producer.send({ topic, messages: values.map((value) => ({ value, partition })) })
  await producer.disconnect()
}

/**
 * A member of a group that reads `topic` and keeps the `values` whose offsets it has committed, one by one; with
 * `autoCommit` kafkajs commits after each batch. It leaves when the test is over, or by `stop`.
 *
 * `fromBeginning` is kafkajs's reset policy; other options are those of its consumers.
 */
export async function startReader(broker, clientId, options) {
  const { topic, groupId, fromBeginning = true, autoCommit = false, ...others } = options
  const consumer = kafka(broker, clientId).consumer({ groupId, ...QUICK, ...others })
  const values = []
  const stop = () => consumer.disconnect()
  broker.atEnd(stop)
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning })
  await consumer.run({
    autoCommit,
    eachMessage: async ({ partition, message }) => {
      const next = String(BigInt(message.offset) + 1n)
      if (!autoCommit) await consumer.commitOffsets([{ topic, partition, offset: next }])
      values.push(message.value.toString())
    },
  })
  return { values, stop }
}

/** Wait until the readers have read `count` values, all of them together; gives the values, sorted. */
export async function allRead(readers, count, timeoutMs = 20_000) {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const values = readers.flatMap((reader) => reader.values)
    if (values.length >= count) return values.sort()
    if (Date.now() > deadline) throw new Error(`read ${values.length} of ${count} records in ${timeoutMs} ms: ${values}`)
    await sleep(10)
  }
}
