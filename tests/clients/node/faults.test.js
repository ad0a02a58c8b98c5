// What goes wrong on purpose: an answer that is lost, a member that is told to go, a rebalance that is held.

import assert from 'node:assert/strict'
import test from 'node:test'
import { startBroker } from './fakebroker.js'
import { allRead, committed, produce, startReader } from './reading.js'

const billing = { groupId: 'billing', topic: 'orders' }

test('a commit whose answer is lost is repeated, and nothing is read twice', async (t) => {
  const broker = await startBroker(t)
  await broker.put('/topics/orders')
  await produce(broker, 'orders', ['a', 'b', 'c'])
  const lost = { api: 'OffsetCommit', group: 'billing', after: 'applied', action: 'disconnect', times: 1 }
  const fault = await broker.post('/faults', lost)

  const reader = await startReader(broker, 'consumer-1', billing)
  await broker.post(`/faults/${fault.fault_id}/wait`, { hits: 1, timeout_s: 5 })
  await committed(broker, 'billing', { orders: { 0: 3 } })

  await produce(broker, 'orders', ['d'])
  assert.deepEqual(await allRead([reader], 4), ['a', 'b', 'c', 'd'])
  await committed(broker, 'billing', { orders: { 0: 4 } })
})

test('a member that is no longer known joins again and goes on where it was', async (t) => {
  const broker = await startBroker(t)
  await broker.put('/topics/orders')
  await produce(broker, 'orders', ['a', 'b'])
  const reader = await startReader(broker, 'consumer-1', billing)
  await committed(broker, 'billing', { orders: { 0: 2 } })
  const { generation } = await broker.get('/groups/billing')

  await broker.post('/faults', { api: 'Heartbeat', client_id: 'consumer-1', error: 'UNKNOWN_MEMBER_ID', times: 1 })
  await broker.post('/groups/billing/wait', { state: 'Stable', generation: generation + 1, timeout_s: 20 })

  await produce(broker, 'orders', ['c'])
  assert.deepEqual(await allRead([reader], 3), ['a', 'b', 'c'])
})
