// The coordinator of a group goes to another node: in the middle of a rebalance, or because its node stops.

import assert from 'node:assert/strict'
import test from 'node:test'
import { startBroker } from './fakebroker.js'
import { allRead, produce, startReader } from './reading.js'

const billing = { groupId: 'billing', topic: 'orders' }
const partitionsOf = (group) => group.members.flatMap((member) => member.assignment.orders).sort()

test('two consumers share all partitions after their coordinator moved in the middle of a rebalance', async (t) => {
  const broker = await startBroker(t, { nodes: 3 })
  await broker.put('/topics/orders', { partitions: 4 })
  const first = await startReader(broker, 'consumer-1', billing)
  await broker.post('/groups/billing/wait', { assigned: true, members: 1, timeout_s: 5 })
  const to = (await broker.get('/coordinators/billing')).node_id === 2 ? 3 : 2

  // The rebalance stays where it is, with both members waiting, until the coordinator has moved.
  const hold = await broker.post('/groups/billing/hold_joins')
  const starting = startReader(broker, 'consumer-2', billing)
  await broker.post('/groups/billing/wait', { joined: 2, timeout_s: 10 })
  await broker.post('/coordinators/billing/move', { to })
  await broker.post(`/groups/billing/holds/${hold.hold_id}/release`)
  const second = await starting

  const group = await broker.post('/groups/billing/wait', { assigned: true, members: 2, timeout_s: 20 })
  assert.equal((await broker.get('/coordinators/billing')).node_id, to)
  assert.deepEqual(partitionsOf(group), [0, 1, 2, 3])
  for (const partition of [0, 1, 2, 3]) await produce(broker, 'orders', [`to ${partition}`], partition)
  assert.deepEqual(await allRead([first, second], 4), ['to 0', 'to 1', 'to 2', 'to 3'])
})

test('consumers that start together get one rebalance, and the leader that the test wants', async (t) => {
  const broker = await startBroker(t)
  await broker.put('/topics/orders', { partitions: 4 })
  await broker.post('/groups/billing/hold_joins', { until_members: 2, leader: 'consumer-2' })

  await Promise.all(['consumer-1', 'consumer-2'].map((clientId) => startReader(broker, clientId, billing)))

  const group = await broker.post('/groups/billing/wait', { assigned: true, members: 2, timeout_s: 10 })
  assert.equal(group.generation, 1)
  assert.match(group.leader, /^consumer-2-/)
  assert.deepEqual(partitionsOf(group), [0, 1, 2, 3])
})

test('when the node of the coordinator stops, the consumers go on with another', async (t) => {
  const broker = await startBroker(t, { nodes: 3, config: { 'group.min.session.timeout.ms': '1000' } })
  await broker.put('/topics/orders', { partitions: 4, replication_factor: 3 })
  // kafkajs comes back as a new member: the group waits for the session of the old one.
  const quick = { ...billing, sessionTimeout: 2000 }
  const readers = await Promise.all([1, 2].map((n) => startReader(broker, `consumer-${n}`, quick)))
  await broker.post('/groups/billing/wait', { assigned: true, members: 2, timeout_s: 10 })
  const { node_id: stopped } = await broker.get('/coordinators/billing')

  await broker.post(`/nodes/${stopped}/stop`)
  for (const partition of [0, 1, 2, 3]) await produce(broker, 'orders', [`to ${partition}`], partition)

  assert.deepEqual(await allRead(readers, 4), ['to 0', 'to 1', 'to 2', 'to 3'])
  assert.notEqual((await broker.get('/coordinators/billing')).node_id, stopped)
})
