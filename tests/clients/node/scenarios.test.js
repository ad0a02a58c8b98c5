// An incident that stands in a file: the scenario does things to the broker, and says what must come of them.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { startBroker } from './fakebroker.js'
import { allRead, startReader } from './reading.js'

const billing = { groupId: 'billing', topic: 'orders' }

async function play(broker, name) {
  const scenario = await readFile(new URL(name, import.meta.url), 'utf8')
  return broker.post('/scenarios', { scenario, name })
}

test('a consumer keeps what it has read through maintenance', async (t) => {
  const broker = await startBroker(t)
  const { scenario_id: id } = await play(broker, 'maintenance.yaml')

  const reader = await startReader(broker, 'consumer-1', billing)
  assert.deepEqual(await allRead([reader], 3), ['a', 'b', 'c'])
  await reader.stop()

  const played = await broker.post(`/scenarios/${id}/wait`, { timeout_s: 20 })
  assert.deepEqual(played.problems, [], played.transcript)
})
