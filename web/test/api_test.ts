// The answers of a real scaler, compared with docs/api.yaml (GPUSCALER_API). GPUSCALER_WEB is the
// scaler's address, GPUSCALER_CLI the program.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Explanation, Fleet, FleetEvent, Row, Status, Workloads } from '../src/api_types.ts';
import { EventParser } from '../src/event_stream.ts';
import { ApiDescription } from './api_description.ts';

const address = process.env['GPUSCALER_WEB'] ?? '';
const program = process.env['GPUSCALER_CLI'] ?? '';
const api = new ApiDescription(process.env['GPUSCALER_API'] ?? '');

const STATUS = '/api/v1/status';
const WORKLOADS = '/api/v1/workloads';
const WORKLOAD = '/api/v1/workloads/{namespace}/{name}';
const HISTORY = `${WORKLOAD}/history`;
const EXPLANATION = `${WORKLOAD}/explanation`;
const WHAT_IF = `${WORKLOAD}/what-if`;
const FLEET = '/api/v1/fleet';
const NODE = '/api/v1/fleet/{node}';
const COST = '/api/v1/cost';
const EVENTS = '/api/v1/events';

const MOST_STREAMS = 16;
// Takes 24 MiB of explanations. web/trigger_history_test.cc has it.
const NOT_MADE_HERE = [`${EXPLANATION} 410`];
const TOKEN = 'a-token-of-this-test';
const DEADLINE_MS = 60_000;

interface RequestParts {
  server?: string;
  method?: string;
  headers?: Record<string, string>;
  values?: Record<string, string>; // the path's
  query?: Record<string, string | number>;
}

const seen = new Set<string>(); // "PATH STATUS"

function open(path: string, parts: RequestParts = {}): Promise<IncomingMessage> {
  const { server = address, method = 'GET', headers = {}, values = {}, query = {} } = parts;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? 'none-of-that-name'),
  );
  const search = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, `${value}`]));
  return new Promise((resolve, reject) => {
    request(`${server}${filled}?${search}`, { method, headers, agent: false }, resolve)
      .on('error', reject)
      .end();
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += piece;
  return text;
}

// Reads the events of a stream, and compares each with the description, until `isEnough` is true.
async function readEvents(
  stream: IncomingMessage,
  isEnough: (event: string, data: unknown) => boolean,
): Promise<void> {
  const parser = new EventParser();
  const silence = setTimeout(() => stream.destroy(new Error('no such event')), DEADLINE_MS);
  try {
    for await (const piece of stream.setEncoding('utf8')) {
      for (const { event, data } of parser.push(piece as string)) {
        const body: unknown = JSON.parse(data);
        assert.deepEqual(api.faultsOfEvent(EVENTS, event, body), [], `${event}: ${data}`);
        if (isEnough(event, body)) return;
      }
    }
    assert.fail('the stream ended');
  } finally {
    clearTimeout(silence);
    stream.destroy();
  }
}

// Requests the path, and compares the answer with the status and with the description.
async function check<Answer>(path: string, status: number, parts: RequestParts = {}): Promise<Answer> {
  const response = await open(path, parts);
  const text = await textOf(response);
  const what = `${path} ${JSON.stringify(parts)}: ${response.statusCode} ${text.slice(0, 500)}`;
  assert.equal(response.statusCode, status, what);
  const body = JSON.parse(text) as Answer;
  assert.deepEqual(api.faultsOf(path, status, response.headers['content-type'] ?? '', body), [], what);
  seen.add(`${path} ${status}`);
  return body;
}

async function eventually<Found>(what: string, find: () => Promise<Found | null>): Promise<Found> {
  for (const deadline = Date.now() + DEADLINE_MS; ; ) {
    const found = await find();
    if (found !== null) return found;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${DEADLINE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

let row: Row; // the scaler's at `address`
let values: Record<string, string>;
let past: Explanation; // one that is recorded
before(async () => {
  row = await eventually('a trigger is requested', async () => {
    const { workloads } = await check<Workloads>(WORKLOADS, 200);
    return workloads[0] ?? null;
  });
  values = { namespace: row.namespace, name: row.name };
  past = await eventually('an explanation is recorded', async () => {
    const { now } = await check<Status>(STATUS, 200);
    const response = await open(EXPLANATION, { values, query: { trigger: row.trigger, at: now } });
    const text = await textOf(response);
    return response.statusCode === 200 ? (JSON.parse(text) as Explanation) : null;
  });
});

test('workloads, and the parts of one', async () => {
  const trigger = { trigger: row.trigger };
  const ancient = { ...trigger, from: 0, to: 1 };
  const { started_at } = await check<Status>(STATUS, 200);
  const beforeStart = { ...trigger, from: started_at - 7200, to: started_at - 3600 };
  await check(WORKLOAD, 200, { values });
  await check(WORKLOAD, 404);
  for (const path of [HISTORY, WHAT_IF]) {
    await check(path, 200, { values, query: trigger });
    await check(path, 200, { values, query: beforeStart });
    await check(path, 400, { values, query: { ...trigger, from: 2, to: 1 } });
    await check(path, 404);
    await check(path, 410, { values, query: ancient });
  }
  const settings = { target: 3, min: 1, max: 4, scale_down_window: 60, pods_per_minute: 2 };
  await check(WHAT_IF, 200, { values, query: { ...trigger, ...settings } });
  await check(EXPLANATION, 200, { values, query: trigger });
  await check(EXPLANATION, 200, { values, query: { ...trigger, at: past.at + 0.001 } });
  await check(EXPLANATION, 400, { values, query: { ...trigger, at: 'noon' } });
  await check(EXPLANATION, 404);
});

test('the fleet and its cost', async () => {
  const { nodes } = await check<Fleet>(FLEET, 200);
  for (const { name } of nodes) await check(NODE, 200, { values: { node: name } });
  await check(NODE, 404);
  for (const by of ['namespace', 'workload', 'model', 'node']) {
    await check(COST, 200, { query: { by, hours: 1 } });
  }
  await check(COST, 400, { query: { by: 'colour' } });
});

test('events: the first ones, and a change', async () => {
  const streams: IncomingMessage[] = [];
  try {
    for (let index = 0; index < MOST_STREAMS; index++) streams.push(await open(EVENTS));
    await check(EVENTS, 503);
    const [stream] = streams;
    assert.ok(stream !== undefined);
    const type = stream.headers['content-type'] ?? '';
    assert.deepEqual(api.faultsOf(EVENTS, stream.statusCode ?? 0, type, ''), []);
    seen.add(`${EVENTS} ${stream.statusCode}`);
    const counts = new Map<string, number>();
    await readEvents(stream, (event) => {
      counts.set(event, (counts.get(event) ?? 0) + 1);
      // The demo's fleet changes with each reading, and its triggers with each request.
      return (counts.get('workloads') ?? 0) > 1 && counts.has('fleet');
    });
  } finally {
    for (const stream of streams) stream.destroy();
  }
});

// An aggregator without an agent, so it has no fleet. It has a token and prices, and no history.
interface Blind {
  web: string;
  grpc: string;
  stop: () => void;
}

async function startBlind(): Promise<Blind> {
  const folder = mkdtempSync(join(tmpdir(), 'api_test-'));
  writeFileSync(join(folder, 'token'), TOKEN);
  writeFileSync(join(folder, 'prices.csv'), 'GPU model,price per hour\nNVIDIA L4,0.7\n');
  const flags = ['--role=aggregator', '--agents=static:127.0.0.1:1', '--bind-address=127.0.0.1'];
  const ports = ['--port=any', '--metrics-port=any', '--probe-port=any', '--web-port=any'];
  const web = [`--web-token-file=${folder}/token`, `--prices=${folder}/prices.csv`, '--history=0'];
  const scaler = spawn(program, ['serve', ...flags, ...ports, ...web, '--currency=EUR']);
  const stop = () => {
    scaler.kill();
    rmSync(folder, { recursive: true });
  };
  let log = '';
  for (const output of [scaler.stdout, scaler.stderr]) output.on('data', (text) => (log += text));
  try {
    return await eventually('the scaler serves', async () => {
      if (scaler.exitCode !== null) throw new Error(log);
      const ports = /event=serving.* grpc_port=(\d+).* web_port=(\d+)/.exec(log);
      return ports && { grpc: `127.0.0.1:${ports[1]}`, web: `http://127.0.0.1:${ports[2]}`, stop };
    });
  } catch (error) {
    stop();
    throw error;
  }
}

let blind: Blind;
before(async () => {
  blind = await startBlind();
});
after(() => blind.stop());

test('every path has the errors of all', async () => {
  const server = blind.web;
  const headers = { authorization: `Bearer ${TOKEN}` };
  for (const path of api.paths) {
    await check(path, 401, { server });
    await check(path, 401, { server, headers: { authorization: 'Bearer another-token-than-it' } });
    await check(path, 403, { server, headers: { ...headers, host: 'gpus.example.com' } });
    await check(path, 405, { server, headers, method: 'POST' });
  }
});

test('what is unknown', async () => {
  const parts = { server: blind.web, headers: { authorization: `Bearer ${TOKEN}` } };
  const requested = { 'unknown-fleet': 'gpu_utilization', 'wrong-metadata': 'none-such' };
  for (const [name, metric] of Object.entries(requested)) {
    spawnSync(program, ['query', blind.grpc, `--name=${name}`, `metricType=${metric}`, 'targetValue=80']);
  }
  const { workloads } = await check<Workloads>(WORKLOADS, 200, parts);
  assert.deepEqual(workloads.map(({ name }) => name).sort(), Object.keys(requested));
  for (const { namespace, name, trigger, value } of workloads) {
    assert.equal(value, null);
    const own = { ...parts, values: { namespace, name }, query: { trigger } };
    await check(WORKLOAD, 200, own);
    await check(EXPLANATION, 200, own);
    await check(HISTORY, 404, own);
  }
  const { fleet, history } = await check<Status>(STATUS, 200, parts);
  assert.deepEqual([fleet.nodes, fleet.gpus, history.since], [null, null, null]);
  const stream = await open(EVENTS, parts);
  assert.equal(stream.statusCode, 200);
  await readEvents(stream, (event, data) => {
    if (event !== 'fleet') return false;
    const { nodes, gpus } = data as FleetEvent;
    assert.deepEqual([nodes, gpus], [null, null]);
    return true;
  });
  await check(FLEET, 503, parts);
  await check(NODE, 503, parts);
  await check(COST, 200, parts);
});

test('nothing that is described was left out', () => {
  const left = api.responses.filter((one) => !seen.has(one));
  assert.deepEqual(left, NOT_MADE_HERE);
});
