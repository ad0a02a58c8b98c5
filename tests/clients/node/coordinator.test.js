// The coordinator of a group moves to another node while the group rebalances.

import assert from 'node:assert/strict'
import test from 'node:test'
import { startBroker } from './fakebroker.js'
import { allRead, produce, startReader } from './reading.js'

const billing = { groupId: 'billing', topic: 'orders' }
const partitionsOf = (group) => group.members.flatMap((member) => member.assignment.orders).sort()

test('two consumers share all partitions after their coordinator moved in the middle of a rebalance', async (t) => {
  const broker = await startBroker(t, { nodes: 3 })
  await broker.put('/topics/orders', { partitions: 4 })
  const first = await startReader(broker, 'consumer-1', { ...billing, heartbeatInterval: 1000 })
  await broker.post('/groups/billing/wait', { state: 'Stable', members: 1, timeout_s: 5 })
  const before = await broker.get('/coordinators/billing')
  const to = before.node_id === 2 ? 3 : 2

  const starting = startReader(broker, 'consumer-2', billing)
  await broker.post('/groups/billing/wait', { state: 'PreparingRebalance', timeout_s: 5 })
  await broker.post('/coordinators/billing/move', { to })
  const second = await starting

  const group = await broker.post('/groups/billing/wait', { state: 'Stable', members: 2, timeout_s: 20 })
  assert.equal((await broker.get('/coordinators/billing')).node_id, to)
  assert.deepEqual(partitionsOf(group), [0, 1, 2, 3])
  for (const partition of [0, 1, 2, 3]) await produce(broker, 'orders', [`to ${partition}`], partition)
  assert.deepEqual(await allRead([first, second], 4), ['to 0', 'to 1', 'to 2', 'to 3'])
})
