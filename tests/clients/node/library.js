// A client of kafkajs that produces, reads as a member of a group, asks for offsets and makes transactions as it is
// told: see tests/clients/programs.py for the lines in and out.

import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { CompressionTypes, Kafka, logLevel, Partitioners } from 'kafkajs'

const POLL_MS = 100
const POLL_RECORDS = 500
const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP }

let kafka, consumer, failure
const waiting = [] // records that no poll has taken
let polled = new Map() // partition -> offset behind what was polled since the last commit

const messages = (records) =>
  records.map(({ partition, key, value, headers, timestamp_ms }) => ({
    partition, key, value, headers: Object.fromEntries(headers), timestamp: String(timestamp_ms),
  }))

const orders = {
  async produce({ topic, codec, records }) {
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
    await producer.connect()
    await producer.send({ topic, compression: CODECS[codec], messages: messages(records) })
    await producer.disconnect()
  },

  async transaction({ topic, transactional_id, records, commit }) {
    const producer = kafka.producer({
      createPartitioner: Partitioners.DefaultPartitioner, transactionalId: transactional_id, maxInFlightRequests: 1, idempotent: true,
    })
    await producer.connect()
    const transaction = await producer.transaction()
    await transaction.send({ topic, messages: messages(records) })
    await (commit ? transaction.commit() : transaction.abort())
    await producer.disconnect()
  },

  /** Without a record at or after the time kafkajs gives the end of the log. */
  async offsets({ topic, timestamp_ms }) {
    const admin = kafka.admin()
    await admin.connect()
    const found = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp_ms)
    await admin.disconnect()
    return { offsets: found.sort((a, b) => a.partition - b.partition).map(({ offset }) => Number(offset)) }
  },

  async subscribe({ topic, group, settings }) {
    consumer = kafka.consumer({
      groupId: group,
      sessionTimeout: Number(settings['session.timeout.ms']),
      heartbeatInterval: Number(settings['heartbeat.interval.ms']),
      readUncommitted: settings['isolation.level'] !== 'read_committed',
      maxWaitTimeInMs: 100,
    })
    consumer.on(consumer.events.CRASH, ({ payload }) => (failure = payload.error))
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: settings['auto.offset.reset'] !== 'latest' })
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, isStale, isRunning, resolveOffset }) => {
        while (waiting.length >= POLL_RECORDS && isRunning() && !isStale()) await pause(5)
        if (!isRunning() || isStale()) return
        for (const message of batch.messages) {
          waiting.push({ topic, partition: batch.partition, message })
          resolveOffset(message.offset)
        }
      },
    })
  },

  async poll() {
    if (failure) throw failure
    if (waiting.length === 0) await pause(POLL_MS)
    const records = waiting.splice(0, POLL_RECORDS).map(({ partition, message }) => {
      polled.set(partition, String(BigInt(message.offset) + 1n))
      return {
        partition, key: String(message.key), value: String(message.value), timestamp_ms: Number(message.timestamp),
        headers: Object.entries(message.headers).map(([name, value]) => [name, String(value)]),
      }
    })
    return { records }
  },

  /** What a rebalance was faster with comes again. */
  async commit({ topic }) {
    const offsets = [...polled].map(([partition, offset]) => ({ topic, partition, offset }))
    polled = new Map()
    try {
      await consumer.commitOffsets(offsets)
    } catch (error) {
      if (!['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID'].includes(error.type)) throw error
    }
  },

  async close() {
    await consumer?.disconnect()
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line)
  if (order.login) kafka = new Kafka({ brokers: [order.login.bootstrap], logLevel: logLevel.ERROR })
  let answer
  try {
    answer = { outcome: '', ...(await orders[order.do](order)) }
  } catch (error) {
    answer = { outcome: `${error.name}: ${error.message}` }
  }
  console.log(JSON.stringify(answer))
}
process.exit(0)
