// What goes wrong on purpose: an answer that is lost, a session that ends.

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
  await broker.post('/groups/billing/wait', { offsets: { orders: { 0: 3 } }, timeout_s: 10 })

  await produce(broker, 'orders', ['d'])
  assert.deepEqual(await allRead([reader], 4), ['a', 'b', 'c', 'd'])
  await broker.post('/groups/billing/wait', { offsets: { orders: { 0: 4 } }, timeout_s: 10 })
})

test('a member whose session has ended joins again and goes on where it was', async (t) => {
  const broker = await startBroker(t)
  await broker.put('/topics/orders')
  await produce(broker, 'orders', ['a', 'b'])
  const reader = await startReader(broker, 'consumer-1', billing)
  await broker.post('/groups/billing/wait', { offsets: { orders: { 0: 2 } }, timeout_s: 10 })
  const { generation } = await broker.get('/groups/billing')

  await broker.post('/groups/billing/evict', { member: 'consumer-1' })
  await broker.post('/groups/billing/wait', { state: 'Stable', generation: generation + 1, timeout_s: 20 })

  await produce(broker, 'orders', ['c'])
  assert.deepEqual(await allRead([reader], 3), ['a', 'b', 'c'])
})
