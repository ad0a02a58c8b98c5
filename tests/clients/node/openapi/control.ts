// The control API through a client whose types come from the OpenAPI document.
import createClient from 'openapi-fetch'
import type { paths } from './api.js'

declare const process: { env: Record<string, string | undefined> }
const url = process.env.FAKEBROKER_CONTROL_URL ?? 'http://127.0.0.1:8092'
const served = createClient<paths>({ baseUrl: url })

function expect(isTrue: boolean, what: unknown): asserts isTrue {
  if (!isTrue) throw new Error(JSON.stringify(what))
}

const made = await served.POST('/brokers', { body: { nodes: 3, as_release: '3.9' } })
expect(made.data !== undefined, made.error)
const broker = createClient<paths>({ baseUrl: `${url}/brokers/${made.data.broker_id}` })

const orders = { params: { path: { name: 'orders' } } }
await broker.PUT('/topics/{name}', { ...orders, body: { partitions: 2 } })
const produced = await broker.POST('/topics/{name}/records', { ...orders, body: { values: ['a', 'b'] } })
expect(produced.data?.offset === 0 && produced.data.records === 2, produced)

const fault = await broker.POST('/faults', { body: { api: 'OffsetCommit', action: 'disconnect', times: 1 } })
expect(fault.data?.is_exhausted === false, fault)
const wrong = await broker.POST('/topics/{name}/records', { params: { path: { name: 'ordrs' } }, body: { values: ['a'] } })
expect(wrong.error?.status === 404, wrong)

const elsewhere = await served.GET('/topics')
expect(elsewhere.data?.length === 0, elsewhere)
await served.DELETE('/brokers/{broker_id}', { params: { path: { broker_id: made.data.broker_id } } })
console.log('all as described')
