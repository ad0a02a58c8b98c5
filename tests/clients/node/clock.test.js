// Time: eight days pass in a millisecond, under clients that stay connected.

import assert from 'node:assert/strict'
import test from 'node:test'
import { startBroker } from './fakebroker.js'
import { allRead, produce, startReader } from './reading.js'

const KEPT_FOR_EVER = { config: { 'retention.ms': '-1' } }
const billing = { groupId: 'billing', topic: 'orders' }

test('a connected consumer keeps its offsets for eight days; a stopped one loses them and is reset', async (t) => {
  const broker = await startBroker(t)
  await broker.put('/topics/orders', KEPT_FOR_EVER)
  await produce(broker, 'orders', ['a', 'b', 'c'])
  const reader = await startReader(broker, 'consumer-1', billing)
  await allRead([reader], 3)
  const { generation } = await broker.post('/groups/billing/wait', { state: 'Stable', members: 1, timeout_s: 5 })

  await broker.post('/clock/advance', { days: 8 })

  await produce(broker, 'orders', ['d'])
  assert.deepEqual(await allRead([reader], 4), ['a', 'b', 'c', 'd'])
  assert.equal((await broker.get('/groups/billing')).generation, generation, 'nobody had to rejoin')

  await reader.stop()
  await broker.post('/groups/billing/wait', { state: 'Empty', offsets: { orders: { 0: 4 } }, timeout_s: 5 })
  await broker.post('/clock/advance', { days: 8 })
  const [lost] = (await broker.get('/groups/billing/explain')).offsets
  assert.deepEqual([lost.offset, lost.expired, lost.rule], [4, true, 'EX-3'])
  await broker.post('/groups/billing/wait', { state: 'Dead', timeout_s: 5 })

  const again = await startReader(broker, 'consumer-2', billing)
  assert.deepEqual(await allRead([again], 4), ['a', 'b', 'c', 'd'], 'fromBeginning: everything once more')
})

test('before Kafka 2.1 a connected consumer lost its offsets, too: the next rebalance resets it', async (t) => {
  const broker = await startBroker(t, { config: { 'fakebroker.expiry.policy': '2.0' } })
  await broker.put('/topics/orders', { partitions: 2, ...KEPT_FOR_EVER })
  await produce(broker, 'orders', ['a', 'b'], 0)
  await produce(broker, 'orders', ['c'], 1)
  const first = await startReader(broker, 'consumer-1', billing)
  assert.deepEqual(await allRead([first], 3), ['a', 'b', 'c'])

  await broker.post('/clock/advance', { days: 8 })
  assert.deepEqual((await broker.get('/groups/billing')).offsets, {}, 'gone, though the group has a member')

  const second = await startReader(broker, 'consumer-2', billing)
  assert.deepEqual(await allRead([first, second], 6), ['a', 'a', 'b', 'b', 'c', 'c'], 'both begin from the beginning')
})
