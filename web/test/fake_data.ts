// Made-up answers of the API: the same for the same numbers.
import type {
  Cost,
  CostRow,
  Explanation,
  Fleet,
  Gpu,
  GpuHours,
  History,
  NodeDetail,
  Numbers,
  Row,
  Status,
  WhatIf,
} from '../src/api_types.ts';

export const STEP = 15;

// A linear congruential generator: 0 to 1.
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const WORKLOADS: [string, string, string, string, number][] = [
  ['chat', 'llama-70b', 'vllm-inference', 'keda_gpu_vllm_inference', 80],
  ['chat', 'mistral-small', 'vllm-inference', 'keda_gpu_vllm_inference', 80],
  ['chat', 'embeddings', 'triton-inference', 'keda_gpu_triton_inference', 75],
  ['search', 'reranker', 'tgi-inference', 'keda_gpu_tgi_inference', 80],
  ['search', 'query-encoder', '', 'keda_gpu_utilization', 70],
  ['vision', 'segmenter', 'triton-inference', 'keda_gpu_triton_inference', 75],
  ['vision', 'ocr', '', 'keda_gpu_memory_used_percent', 85],
  ['batch', 'transcribe', 'queue', 'keda_gpu_redis_list', 20],
  ['batch', 'video-tags', 'queue', 'keda_gpu_redis_stream', 50],
  ['research', 'sweeps', '', 'keda_gpu_utilization', 90],
];

function valueAt(index: number, at: number, target: number): number | null {
  const hour = (at % 86400) / 3600;
  if (index === 1 && hour % 2 > 1.7) return null;
  const noise = random(Math.floor(at / STEP) * 31 + index)();
  const wave = 1.6 + Math.sin((at / 1500) * (1 + index / 9)) + Math.sin(at / 420 + index) * 0.4;
  return Math.round(target * Math.max(0, wave + noise * 0.15) * 1000) / 1000;
}

function replicasAt(index: number, at: number, target: number): number {
  let most = 0;
  for (let back = 0; back <= 300; back += 60) {
    most = Math.max(most, Math.ceil((valueAt(index, at - 30 - back, target) ?? 0) / target));
  }
  return most;
}

export function rows(now: number, count = WORKLOADS.length, hasHistory = true): Row[] {
  return Array.from({ length: count }, (_, index): Row => {
    const [namespace, base, profile, metric, target] = WORKLOADS[index % WORKLOADS.length]!;
    const name = index < WORKLOADS.length ? base : `${base}-${Math.floor(index / 10)}`;
    const isLost = index === 6;
    const value = isLost ? null : valueAt(index, now, target);
    const replicas = replicasAt(index, now, target);
    return {
      namespace,
      name,
      trigger: `s0-${metric}`,
      metric: metric.replace('keda_gpu_', ''),
      profile,
      code: value === null ? 14 : 0,
      message: value === null ? 'no GPU of its pods can be read' : '',
      value,
      target,
      target_type: 'AverageValue',
      replicas,
      starting: index === 0 ? 1 : 0,
      unreadable: index === 3 ? 1 : 0,
      terminating: 0,
      active: value === null || value > 0,
      active_because: 'utilization above 0 within activationWindow',
      desired: value === null ? null : Math.ceil(value / target),
      trouble: isLost
        ? 'UNAVAILABLE for 4 min: no GPU of its pods can be read'
        : index === 3
          ? '1 replica is unreadable: gpu-0007 is disconnected for 32 s'
          : '',
      requested_at: now - 3,
      ...(hasHistory
        ? {
            spark: Array.from({ length: 60 }, (_, back) =>
              isLost && back > 43 ? null : valueAt(index, now - (59 - back) * STEP, target),
            ),
          }
        : {}),
    };
  });
}

function indexOf(name: string): number {
  return WORKLOADS.findIndex(([, base]) => base === name);
}

export function history(name: string, from: number, to: number, since: number): History | null {
  const index = indexOf(name);
  const workload = WORKLOADS[index];
  if (workload === undefined) return null;
  const [namespace, , , metric, target] = workload;
  const step = STEP * Math.max(1, Math.ceil((to - from) / STEP / 2000));
  const points: number[] = [];
  for (let at = Math.ceil(Math.max(from, since) / step) * step; at <= to; at += step) points.push(at);
  const gap = { from: to - 1500, to: to - 1200, because: 'no reading' };
  const isGap = (at: number) => at >= gap.from && at < gap.to;
  const column = (of: (at: number) => number | null): Numbers =>
    points.map((at) => (isGap(at) ? null : of(at)));
  const replicas = column((at) => replicasAt(index, at, target));
  const marks: History['marks'] = [];
  replicas.forEach((count, point) => {
    const before = replicas[point - 1];
    if (typeof before === 'number' && count !== null && before !== count && marks.length < 60) {
      marks.push({ at: points[point]!, kind: 'scale', text: `from ${before} to ${count} replicas` });
    }
  });
  marks.push({ at: to - 2100, kind: 'rollout', text: 'all 3 replicas were replaced' });
  marks.push({ at: gap.from, kind: 'gap', text: 'no reading for 5 min' });
  marks.push({ at: to - 700, kind: 'error', text: 'UNAVAILABLE: no GPU of its pods can be read' });
  marks.sort((a, b) => a.at - b.at);
  const starts = new Set(marks.filter((mark) => mark.kind === 'scale').map((mark) => mark.at));
  return {
    namespace,
    name,
    trigger: `s0-${metric}`,
    instance: INSTANCE,
    from,
    to,
    step_seconds: step,
    since,
    target_type: 'AverageValue',
    points,
    value: column((at) => valueAt(index, at, target)),
    target: column(() => target),
    replicas,
    starting: column((at) => ([0, 1, 2, 3].some((back) => starts.has(at + back * step)) ? 1 : 0)),
    unreadable: column((at) => (at > to - 760 && at < to - 640 ? 1 : 0)),
    terminating: column(() => 0),
    active: column(() => 1),
    limit: column(() => (index === 0 ? 11 : null)),
    capacity: column((at) => (index < 2 ? 2.6 + Math.sin(at / 4000) * 0.2 : null)),
    demand: column((at) => (index < 2 ? (valueAt(index, at, target) ?? 0) / target : null)),
    gaps: [gap],
    marks,
    explanations: points.filter((_, point) => point % 4 === 0),
  };
}

export const INSTANCE = 'keda-gpu-scaler-6d9f7c5b8-x2vqp';

// `requested` is null for this moment. Explanations of the past are kept once a minute.
export function explanation(name: string, now: number, requested: number | null): Explanation | null {
  const at = requested === null ? now : Math.floor(requested / 60) * 60;
  const index = indexOf(name);
  const workload = WORKLOADS[index];
  if (workload === undefined) return null;
  const [namespace, , profile, metric, target] = workload;
  const value = valueAt(index, at, target);
  const replicas = replicasAt(index, at, target);
  const lines = [
    `ScaledObject ${namespace}/${name}, trigger 0`,
    `  metric    ${metric}, target ${target} (AverageValue)`,
    `  value     ${value ?? 'unknown'}`,
    '  active    yes: utilization above 0 within activationWindow',
    `  replicas  ${replicas} of pods of Deployment/${name}`,
  ];
  for (let replica = 0; replica < replicas; replica++) {
    const load = value === null ? 'unreadable' : (value / replicas).toFixed(3);
    lines.push(`    ${name}-7c9d8f-${replica}  gpu-${String(replica + 3).padStart(4, '0')}/0  ${load}`);
  }
  lines.push(`note: demand: 2.68 replicas: 6.88 requests/s over 40 s <b>&amp; "quotes"</b>; profile ${profile}`);
  // As the API has it; Explanation is the part that the page shows.
  const complete = {
    namespace,
    name,
    trigger: `s0-${metric}`,
    instance: INSTANCE,
    at,
    text: lines.join('\n') + '\n',
    code: value === null ? 14 : 0,
    message: '',
    value,
    active: true,
    active_because: 'utilization above 0 within activationWindow',
    target,
    target_type: 'AverageValue',
    replicas,
    unreadable: 0,
    starting: 0,
    replicas_from: `pods of Deployment/${name}`,
    held_because: '',
    shares: [],
    notes: [],
  };
  return complete;
}

export function whatIf(past: History, query: URLSearchParams): WhatIf {
  const target = Number(query.get('target') ?? past.target.find((one) => one !== null) ?? 80);
  const low = Number(query.get('min') ?? 0);
  const high = Number(query.get('max') ?? 10);
  const would = past.value.map((value) =>
    value === null ? null : Math.min(high, Math.max(low, Math.ceil(value / target))),
  );
  const hours = (column: Numbers) =>
    Math.round(
      (column.reduce<number>((sum, one) => sum + (one ?? 0), 0) * past.step_seconds * 1000) / 3600,
    ) / 1000;
  const above = (column: Numbers) =>
    past.value.filter((value, point) => (value ?? 0) > target * (column[point] ?? 0)).length *
    past.step_seconds;
  return {
    from: past.from,
    to: past.to,
    step_seconds: past.step_seconds,
    points: past.points,
    happened: {
      replicas: past.replicas,
      gpu_hours: hours(past.replicas),
      seconds_above_target: above(past.replicas),
    },
    would: { replicas: would, gpu_hours: hours(would), seconds_above_target: above(would) },
    changes: { happened: 7, would: 12 },
    gpus_per_replica: 1,
    note: 'The load is taken as it was: other replicas would have changed queues and latencies, and so the recorded values.',
  };
}

const OWNERS = ['', ...WORKLOADS.map(([namespace, name]) => `${namespace}/${name}`)];
const MODELS = ['NVIDIA H100 80GB HBM3', 'NVIDIA L40S', 'AMD Instinct MI300X'];

export function fleet(nodes: number, now: number, tick = 0): Fleet {
  const next = random(7);
  const moving = random(tick + 1);
  const answer: Fleet = {
    now,
    instance: INSTANCE,
    models: MODELS,
    vendors: ['NVIDIA', 'AMD'],
    owners: OWNERS,
    nodes: [],
    gpu: { model: [], vendor: [], owner: [], state: '', utilization: [], memory: [], index: [] },
  };
  const states: string[] = [];
  for (let node = 0; node < nodes; node++) {
    const model = next() < 0.6 ? 0 : next() < 0.6 ? 1 : 2;
    const isStale = node % 211 === 7;
    const usual = next();
    let run = 0;
    const groups: number[] = [];
    let free = 0;
    let owner = 1 + Math.floor(next() * (OWNERS.length - 1));
    for (let gpu = 0; gpu < 8; gpu++) {
      if (next() < 0.3) owner = 1 + Math.floor(next() * (OWNERS.length - 1));
      const roll = next();
      const state = isStale
        ? 'u'
        : roll < 0.2 + (usual > 0.85 ? 0.6 : 0)
          ? 'f'
          : roll < 0.29
            ? 'h'
            : roll < 0.31
              ? 's'
              : 'b';
      states.push(state);
      answer.gpu.model.push(model);
      answer.gpu.vendor.push(model === 2 ? 1 : 0);
      answer.gpu.owner.push(state === 'f' ? 0 : owner);
      const load = state === 'b' ? Math.min(100, Math.round(25 + usual * 60 + moving() * 25)) : 0;
      answer.gpu.utilization.push(state === 'u' ? null : load);
      answer.gpu.memory.push(
        state === 'u' ? null : state === 'f' ? 0 : Math.round(45 + next() * 50),
      );
      answer.gpu.index.push(String(gpu));
      if (state === 'f') {
        free++;
        run++;
      }
      if (state !== 'f' || gpu === 7) {
        if (run > 0) groups.push(run);
        run = 0;
      }
    }
    answer.nodes.push({
      name: `gpu-${String(node).padStart(4, '0')}`,
      age_seconds: isStale ? 32 : 0.8,
      why: isStale ? 'its agent is disconnected for 32 s' : '',
      gpus: 8,
      free,
      free_groups: groups.sort((a, b) => b - a),
    });
  }
  answer.gpu.state = states.join('');
  return answer;
}

export function node(all: Fleet, name: string): NodeDetail | null {
  const at = all.nodes.findIndex((one) => one.name === name);
  const found = all.nodes[at];
  if (found === undefined) return null;
  const gpus = Array.from({ length: 8 }, (_, index): Gpu => {
    const gpu = at * 8 + index;
    const owner = all.owners[all.gpu.owner[gpu]!]!;
    const memory = all.gpu.memory[gpu] ?? null;
    return {
      index: String(index),
      uuid: `GPU-${at}-${index}`,
      model: all.models[all.gpu.model[gpu]!]!,
      pods: owner === '' ? [] : [`${owner}-7c9d8f-${index}`],
      owner,
      state: all.gpu.state[gpu]!,
      utilization: all.gpu.utilization[gpu] ?? null,
      memory_used: memory === null ? null : Math.round((memory / 100) * 80 * 2 ** 30),
      memory_total: 80 * 2 ** 30,
      power: memory === null ? null : 400.4,
      temperature: memory === null ? null : 51,
      since: owner === '' ? null : all.now - 5400,
      gap: found.why === '' ? '' : 'no reading for 32 s',
    };
  });
  return { now: all.now, node: found, gpus };
}

export function cost(by: string, hours: number, now: number, nodes: number): Cost {
  const keys: Record<string, string[]> = {
    namespace: [...new Set(WORKLOADS.map(([namespace]) => namespace)), ''],
    workload: [...OWNERS.slice(1), ''],
    model: MODELS,
    node: Array.from({ length: nodes }, (_, index) => `gpu-${String(index).padStart(4, '0')}`),
  };
  const next = random(by.length);
  const row = (key: string): CostRow => {
    const isFree = key === '' || by === 'model' || by === 'node';
    const gpu_hours: GpuHours = {
      busy: key === '' ? 0 : Math.round(next() * hours * 900) / 100,
      idle: key === '' ? 0 : Math.round(next() * hours * 200) / 100,
      starting: key === '' ? 0 : Math.round(next() * hours * 20) / 100,
      free: isFree ? Math.round(next() * hours * 500) / 100 : 0,
      unknown: Math.round(next() * hours * 10) / 100,
    };
    const total = Object.values(gpu_hours).reduce((sum, one) => sum + one, 0);
    return {
      key,
      gpu_hours,
      total,
      cost: Math.round(total * 298) / 100,
      idle_cost: Math.round(gpu_hours.idle * 298) / 100,
    };
  };
  const all = (keys[by] ?? []).map(row);
  const sum = (of: (one: CostRow) => number) => all.reduce((total, one) => total + of(one), 0);
  return {
    from: now - hours * 3600,
    to: now,
    instance: INSTANCE,
    by,
    currency: 'USD',
    priced: true,
    rows: all,
    total: {
      key: 'total',
      gpu_hours: {
        busy: sum((one) => one.gpu_hours.busy),
        idle: sum((one) => one.gpu_hours.idle),
        starting: sum((one) => one.gpu_hours.starting),
        free: sum((one) => one.gpu_hours.free),
        unknown: sum((one) => one.gpu_hours.unknown),
      },
      total: sum((one) => one.total),
      cost: sum((one) => one.cost ?? 0),
      idle_cost: sum((one) => one.idle_cost ?? 0),
    },
    note: '',
  };
}

export function status(started_at: number, now: number, nodes: number): Status {
  return {
    instance: INSTANCE,
    version: process.env['GPUSCALER_VERSION'] ?? '',
    commit: '1a2b3c4d5e6f',
    role: 'aggregator',
    started_at,
    now,
    history: { enabled: true, step_seconds: STEP, keep_seconds: 86400, since: started_at },
    fleet: { nodes, gpus: nodes * 8, partial: '' },
    cost: true,
  };
}
