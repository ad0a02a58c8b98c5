// The example of docs/how-to/testcontainers.md: node --test testcontainers.js
// @ts-check
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Kafka } from 'kafkajs'
import { GenericContainer, Wait } from 'testcontainers'

async function startContainer() {
  const container = await new GenericContainer('fakebroker')
    .withEnvironment({ FAKEBROKER_CONTROL_TOKEN: 'test' })
    .withExposedPorts(8092, 19092)
    .withWaitStrategy(Wait.forLogMessage('control on'))
    .start()
  const control = `http://${container.getHost()}:${container.getMappedPort(8092)}`
  /** @param {string} method @param {string} path @param {object} [body] */
  async function request(method, path, body) {
    const headers = { authorization: 'Bearer test', 'content-type': 'application/json' }
    const response = await fetch(control + path, { method, headers, body: body && JSON.stringify(body) })
    if (!response.ok) throw new Error(await response.text())
    return response.status === 204 ? undefined : response.json()
  }
  const advertise = `${container.getHost()}:${container.getMappedPort(19092)}`
  const { broker_id: id, bootstrap } = await request('POST', '/brokers', { listen: '0.0.0.0:19092', advertise })
  return { container, bootstrap, request, path: `/brokers/${id}` }
}

test('records expire', async () => {
  const { container, bootstrap, request, path } = await startContainer()
  const producer = new Kafka({ brokers: [bootstrap] }).producer()
  await producer.connect()
  await producer.send({ topic: 'orders', messages: [{ value: 'first', partition: 0 }] })
  await producer.disconnect()

  await request('POST', `${path}/clock/advance`, { days: 8 })
  assert.deepEqual(await request('GET', `${path}/topics/orders/records`), [])
  await container.stop()
})
