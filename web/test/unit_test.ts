import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row } from '../src/api_types.ts';
import {
  combined,
  explanationAt,
  gapAt,
  nearestPoint,
  stackOf,
  targetOf,
  thinned,
  unknownRuns,
} from '../src/chart_data.ts';
import { EventParser } from '../src/event_stream.ts';
import {
  countStates,
  type Filter,
  firstGpus,
  layoutOf,
  linkedGroups,
  nodeAt,
  shadeOf,
  shownNodes,
} from '../src/fleet_model.ts';
import { inOrder, keyOf, merged } from '../src/live.ts';
import { hashOf, parseRoute, workloadLink } from '../src/route.ts';
import { sparkOf } from '../src/sparkline.ts';
import { clockText, durationText, instantText, moneyText, numberText } from '../src/text.ts';
import { ApiDescription } from './api_description.ts';
import * as data from './fake_data.ts';

const NOW = 1_790_000_000;

test('a link opens what it was made of', () => {
  const link = workloadLink('why', { namespace: 'a b', name: 'x/y', trigger: 's0-m' }, 12.5);
  assert.equal(link, '#/why/a%20b/x%2Fy?trigger=s0-m&at=12.5');
  assert.deepEqual(parseRoute(link), {
    view: 'why',
    namespace: 'a b',
    name: 'x/y',
    query: { trigger: 's0-m', at: '12.5' },
  });
  assert.equal(hashOf(parseRoute(link)), link);
});

test('a link that names no view opens the workloads', () => {
  for (const hash of ['', '#', '#/', '#/nothing', '#/%E0%A4%A']) {
    assert.equal(parseRoute(hash).view, 'workloads', hash);
  }
});

test('events are the same however the stream is cut', () => {
  const text =
    ': keepalive\n\nevent: workloads\r\ndata: {"a":1}\r\n\r\ndata: one\ndata: two\n\nevent: fleet\n\n';
  const want = [
    { event: 'workloads', data: '{"a":1}' },
    { event: 'message', data: 'one\ntwo' },
  ];
  assert.deepEqual(new EventParser().push(text), want);
  for (let size = 1; size < 9; size++) {
    const parser = new EventParser();
    const got = [];
    for (let at = 0; at < text.length; at += size) got.push(...parser.push(text.slice(at, at + size)));
    assert.deepEqual(got, want, `pieces of ${size}`);
  }
});

test('an unknown number is no 0', () => {
  assert.equal(numberText(null), '–');
  assert.equal(numberText(Number.NaN), '–');
  assert.equal(numberText(0), '0');
  assert.equal(numberText(250.8254), '250.825');
  assert.equal(moneyText(null, 'USD'), '–');
  assert.equal(moneyText(1234.5, 'USD'), '1,234.50 USD');
});

test('durations have two units at most', () => {
  const cases: [number, string][] = [
    [0, '0 s'],
    [59.4, '59 s'],
    [300, '5 min'],
    [3600, '1 h'],
    [7800, '2 h 10 min'],
    [90_000, '1 d 1 h'],
  ];
  for (const [seconds, want] of cases) assert.equal(durationText(seconds), want);
});

test('times are shown in UTC if asked', () => {
  assert.equal(instantText(1_790_000_000, 'utc'), '2026-09-21 14:13:20');
  assert.equal(clockText(1_790_000_000, 'utc'), '14:13:20');
});

test('a gap breaks a sparkline, and a lone value is a dot', () => {
  const { line, target } = sparkOf([1, 2, null, 2, null, 1, 1], 2, 60, 22);
  assert.equal(line, 'M0 11L10 1M30 1h0M50 11L60 11');
  assert.equal(target, 1);
  assert.equal(sparkOf([null, null], 5, 60, 22).line, '');
});

test('a column is unknown where one of its parts is', () => {
  assert.deepEqual(combined([1, null, 3], [2, 2, null], (a, b) => a * b), [2, null, null]);
});

test('the stack is counted, unreadable and starting replicas', () => {
  const history = {
    ...data.history('llama-70b', NOW - 3600, NOW, NOW - 80_000)!,
    replicas: [3, null],
    unreadable: [1, null],
    starting: [2, null],
  };
  assert.deepEqual(stackOf(history), {
    counted: [2, null],
    unreadable: [3, null],
    starting: [5, null],
  });
});

test('a mean is compared with the target, and a total with the target of all replicas', () => {
  const history = {
    ...data.history('llama-70b', NOW - 3600, NOW, NOW - 80_000)!,
    target: [80, 80],
    replicas: [3, null],
  };
  const total = targetOf(history);
  assert.deepEqual(total, { label: 'target × replicas', values: [240, null] });
  const mean = targetOf({ ...history, target_type: 'Value' });
  assert.deepEqual(mean, { label: 'target', values: [80, 80] });
  const queue = targetOf({ ...history, replicas: [null, null] });
  assert.deepEqual(queue, { label: 'target', values: [80, 80] }, 'the replicas are not known');
});

test('the nearest point and the newest explanation before an instant', () => {
  assert.equal(nearestPoint([], 5), -1);
  assert.equal(nearestPoint([10, 20, 30], 24), 1);
  assert.equal(nearestPoint([10, 20, 30], 26), 2);
  assert.equal(nearestPoint([10, 20, 30], -5), 0);
  assert.equal(explanationAt([10, 30, 20], 25), 20);
  assert.equal(explanationAt([10], 5), null);
  assert.equal(gapAt([{ from: 1, to: 2, because: 'no reading' }], 1)?.because, 'no reading');
  assert.equal(gapAt([{ from: 1, to: 2, because: 'no reading' }], 2), undefined);
});

test('points without a value are gaps', () => {
  const points = [0, 15, 30, 45, 60];
  const because = 'no reading';
  const gaps = unknownRuns(points, [1, null, null, 2, null], 15);
  assert.deepEqual(gaps, [
    { from: 15, to: 45, because },
    { from: 60, to: 75, because },
  ]);
  const isInGap = points.map((at) => gapAt(gaps, at) !== undefined);
  assert.deepEqual(isInGap, [false, true, true, false, true], 'no known point is in a gap');
  assert.deepEqual(unknownRuns(points, [1, 2, 3, 4, 5], 15), []);
});

test('a table of many points has the last one', () => {
  const indexes = thinned(1000, 240);
  assert.ok(indexes.length <= 240);
  assert.equal(indexes.at(-1), 999);
  assert.deepEqual(thinned(3, 240), [0, 1, 2]);
});

const ALL: Filter = { text: '', states: new Set(), linked: 0, staleOnly: false };

test('the filter of the fleet finds nodes, owners, models and states', () => {
  const fleet = data.fleet(300, NOW);
  assert.equal(shownNodes(fleet, ALL).length, 300);
  assert.deepEqual(
    shownNodes(fleet, { ...ALL, text: 'GPU-0042' }).map((one) => fleet.nodes[one.node]!.name),
    ['gpu-0042'],
  );
  const owned = shownNodes(fleet, { ...ALL, text: 'chat/llama' });
  assert.ok(owned.length > 0 && owned.length < 300);
  for (const one of owned) {
    const owners = fleet.gpu.owner.slice(one.first, one.first + one.gpus);
    assert.ok(owners.some((owner) => fleet.owners[owner] === 'chat/llama-70b'));
  }
  const stale = shownNodes(fleet, { ...ALL, staleOnly: true });
  assert.deepEqual(stale.map((one) => one.node), [7, 218]);
  const unreadable = shownNodes(fleet, { ...ALL, states: new Set(['u' as const]) });
  assert.deepEqual(unreadable.map((one) => one.node), [7, 218]);
  for (const one of shownNodes(fleet, { ...ALL, linked: 4 })) {
    assert.ok(Math.max(...fleet.nodes[one.node]!.free_groups) >= 4);
  }
});

test('GPUs of nodes with different numbers of them are where the columns have them', () => {
  const fleet = data.fleet(3, NOW);
  fleet.nodes[0]!.gpus = 2;
  assert.deepEqual(firstGpus(fleet), [0, 2, 10, 18]);
});

test('states add up to all GPUs, and single free GPUs are no linked group', () => {
  const fleet = data.fleet(100, NOW);
  const counts = countStates(fleet);
  assert.equal(counts.b + counts.h + counts.s + counts.f + counts.u, 800);
  assert.ok(linkedGroups(fleet).every(({ size }) => size > 1));
});

test('a point of the grid is the node that is drawn there', () => {
  for (const [nodes, width] of [[3, 1200], [100, 380], [5000, 1200]] as const) {
    const layout = layoutOf(nodes, 8, width);
    assert.ok(layout.perRow * layout.width <= width + 14);
    for (const index of [0, nodes - 1, Math.floor(nodes / 2)]) {
      const x = (index % layout.perRow) * layout.width + 1;
      const y = Math.floor(index / layout.perRow) * layout.height + 1;
      assert.equal(nodeAt(layout, nodes, x, y), index);
    }
    assert.equal(nodeAt(layout, nodes, layout.perRow * layout.width, 1), -1);
    assert.equal(nodeAt(layout, nodes, 1, layout.rows * layout.height), -1);
  }
});

test('shades span 0 to 100', () => {
  assert.equal(shadeOf(0, 6), 0);
  assert.equal(shadeOf(100, 6), 5);
  assert.equal(shadeOf(null, 6), -1);
});

test('an event changes its rows alone and keeps their sparks', () => {
  const rows = data.rows(NOW, 3);
  const before = new Map(rows.map((row) => [keyOf(row), row]));
  const { spark: _, ...changed } = { ...rows[1]!, value: 7 };
  const { namespace, name, trigger } = rows[2]!;
  const after = merged(before, {
    now: NOW,
    rows: [changed],
    removed: [[namespace, name, trigger]],
  });
  assert.equal(after.size, 2);
  assert.equal(after.get(keyOf(rows[0]!)), rows[0]);
  assert.equal(after.get(keyOf(changed))?.value, 7);
  assert.equal(after.get(keyOf(changed))?.spark, rows[1]!.spark);
});

test('trouble comes first, then namespace and name', () => {
  const row = (namespace: string, name: string, trouble: string): Row => ({
    ...data.rows(NOW, 1)[0]!,
    namespace,
    name,
    trouble,
  });
  const ordered = inOrder([row('b', 'a', ''), row('a', 'b', ''), row('z', 'z', 'stale'), row('a', 'a', '')]);
  assert.deepEqual(ordered.map((one) => one.namespace + one.name), ['zz', 'aa', 'ab', 'ba']);
});

test('made-up answers are as docs/api.yaml describes them', () => {
  const api = new ApiDescription(process.env['GPUSCALER_API'] ?? '');
  const rows = data.rows(NOW, 10, true);
  const history = data.history('llama-70b', NOW - 3600, NOW, NOW - 80_000)!;
  const fleet = data.fleet(24, NOW, 0);
  const { instance } = data.status(0, NOW, 24);
  const workload = '/api/v1/workloads/{namespace}/{name}';
  const answers: Record<string, unknown> = {
    '/api/v1/status': data.status(NOW - 80_000, NOW, 24),
    '/api/v1/workloads': { now: NOW, instance, workloads: rows },
    [`${workload}/history`]: history,
    [`${workload}/explanation`]: data.explanation('llama-70b', NOW, null),
    [`${workload}/what-if`]: data.whatIf(history, new URLSearchParams()),
    '/api/v1/fleet': fleet,
    '/api/v1/fleet/{node}': data.node(fleet, fleet.nodes[0]!.name),
    '/api/v1/cost': data.cost('workload', 24, NOW, 24),
  };
  for (const [path, answer] of Object.entries(answers)) {
    assert.deepEqual(api.faultsOf(path, 200, 'application/json', answer), [], path);
  }
  const event = { now: NOW, rows: data.rows(NOW, 10, false), removed: [['a', 'b', 'c']] };
  assert.deepEqual(api.faultsOfEvent('/api/v1/events', 'workloads', event), []);
});

test('an answer with another property, without one or of another type is a fault', () => {
  const api = new ApiDescription(process.env['GPUSCALER_API'] ?? '');
  const faults = (body: unknown, status = 200) =>
    api.faultsOf('/api/v1/status', status, 'application/json', body);
  const status = data.status(NOW - 80_000, NOW, 24);
  assert.deepEqual(faults(status), []);
  assert.match(faults({ ...status, fleet: { ...status.fleet, colour: 1 } }).join(), /fleet.*colour/);
  assert.match(faults({ ...status, now: undefined }).join(), /now/);
  assert.match(faults({ ...status, role: 'agent' }).join(), /role/);
  assert.match(faults(status, 418).join(), /418/);
  assert.deepEqual(faults({ error: 'a token is required' }, 401), []);
});
