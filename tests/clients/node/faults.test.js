// What goes wrong on purpose: an answer that is lost or late, a session that ends.

import assert from 'node:assert/strict'
import test from 'node:test'
import { startBroker } from './fakebroker.js'
import { allRead, produce, startReader } from './reading.js'

const billing = { groupId: 'billing', topic: 'orders' }

test('a commit whose answer is lost is repeated, and nothing is read twice', async (t) => {
  const broker = await startBroker(t)
  await broker.put('/topics/orders')
  await produce(broker, 'orders', ['a', 'b', 'c'])
  const lost = { api: 'OffsetCommit', group: 'billing', after: 'applied', action: 'disconnect', times: 1 }
  const fault = await broker.post('/faults', lost)

  const reader = await startReader(broker, 'consumer-1', billing)
  await broker.post(`/faults/${fault.fault_id}/wait`, { hits: 1, timeout_s: 5 })
  assert.deepEqual(await allRead([reader], 3), ['a', 'b', 'c'])

  assert.deepEqual((await broker.get('/groups/billing')).offsets, { orders: { 0: 3 } })
  const commits = await broker.get('/journal?api=OffsetCommit')
  assert.deepEqual(commits.map((commit) => commit.is_answered), [false, true, true, true])
})

test('kafkajs does not repeat a commit of its own that was lost: the next consumer reads everything again', async (t) => {
  const broker = await startBroker(t)
  await broker.put('/topics/orders')
  await produce(broker, 'orders', ['a', 'b', 'c'])
  const fault = await broker.post('/faults', { api: 'OffsetCommit', after: 'received', action: 'disconnect', times: 1 })

  const reader = await startReader(broker, 'consumer-1', { ...billing, autoCommit: true })
  await allRead([reader], 3)
  await broker.post(`/faults/${fault.fault_id}/wait`, { hits: 1, timeout_s: 5 })
  await reader.stop()

  const again = await startReader(broker, 'consumer-2', billing)
  assert.deepEqual(await allRead([again], 3), ['a', 'b', 'c'])
})

test('a member whose session has ended joins again and goes on where it was', async (t) => {
  const broker = await startBroker(t)
  await broker.put('/topics/orders')
  await produce(broker, 'orders', ['a', 'b'])
  const reader = await startReader(broker, 'consumer-1', billing)
  await allRead([reader], 2)
  const { generation } = await broker.get('/groups/billing')

  await broker.post('/groups/billing/evict', { member: 'consumer-1' })
  await broker.post('/groups/billing/wait', { state: 'Stable', generation: generation + 1, timeout_s: 20 })

  await produce(broker, 'orders', ['c'])
  assert.deepEqual(await allRead([reader], 3), ['a', 'b', 'c'])
})

test('a heartbeat that is answered late does not cost the membership', async (t) => {
  const broker = await startBroker(t)
  await broker.put('/topics/orders')
  const reader = await startReader(broker, 'consumer-1', billing)
  const slow = { api: 'Heartbeat', client_id: 'consumer-*', delay_s: 1, times: 1 }
  const fault = await broker.post('/faults', slow)
  await broker.post(`/faults/${fault.fault_id}/wait`, { hits: 1, timeout_s: 5 })

  await produce(broker, 'orders', ['a'])
  assert.deepEqual(await allRead([reader], 1), ['a'])
  assert.equal((await broker.get('/groups/billing')).generation, 1)
})
