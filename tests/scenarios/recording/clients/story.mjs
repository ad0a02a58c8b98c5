// What is recorded of kafkajs: a topic, some records, a group of one and then two members, commits.

import { createRequire } from 'node:module'

const { Kafka, logLevel } = createRequire(process.argv[3])('kafkajs')
const [topic, groupId] = ['orders-node', 'billing-node']
const kafka = (clientId) => new Kafka({ clientId, brokers: [process.argv[2]], logLevel: logLevel.ERROR })

/** Wait until something is so. */
async function until(isSo) {
  const deadline = Date.now() + 60_000
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error('the story takes too long')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** A running consumer, what it read, and how often it joined. */
async function startConsumer(clientId) {
  const consumer = kafka(clientId).consumer({ groupId, heartbeatInterval: 500 })
  const seen = { consumer, values: [], joined: [] }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => seen.joined.push(payload.memberAssignment[topic] ?? []))
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => seen.values.push(String(message.value)) })
  return seen
}

const admin = kafka('admin').admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }] })
const producer = kafka('producer').producer()
await producer.connect()
const messages = [0, 1, 2, 3, 4, 5].map((n) => ({ key: `key ${n}`, value: `order ${n}`, partition: n % 2 }))
await producer.send({ topic, messages })
const first = await startConsumer('consumer-1')
await until(() => first.values.length === 6)
const second = await startConsumer('consumer-2')
await until(() => first.joined.at(-1).length === 1 && second.joined.length > 0)
await producer.send({ topic, messages: [{ key: 'key 6', value: 'order 6', partition: 0 }] })
await until(() => first.values.length + second.values.length === 7)
await admin.describeGroups([groupId])
await second.consumer.disconnect()
await until(() => first.joined.at(-1).length === 2)
await admin.fetchOffsets({ groupId, topics: [topic] })
await first.consumer.disconnect()
await producer.disconnect()
await admin.disconnect()
