// The answers of /api/v1, as docs/api.yaml describes them. Times are Unix seconds; null is a number
// that is not known, never 0.

export interface Status {
  instance: string;
  version: string;
  commit: string;
  role: string;
  started_at: number;
  now: number;
  history: { enabled: boolean; step_seconds: number; keep_seconds: number; since: number | null };
  fleet: { nodes: number | null; gpus: number | null; partial: string };
  cost: boolean;
}

// One trigger of a ScaledObject.
export interface Row {
  namespace: string;
  name: string;
  trigger: string;
  metric: string;
  profile: string;
  code: number;
  message: string;
  value: number | null;
  target: number;
  target_type: string;
  replicas: number | null; // null, as the next three: the metric belongs to no replica
  starting: number | null;
  unreadable: number | null;
  terminating: number | null;
  active: boolean;
  active_because: string;
  desired: number | null;
  trouble: string;
  requested_at: number;
  spark?: (number | null)[];
}

export interface Workloads {
  now: number;
  instance: string;
  workloads: Row[];
}

export interface Triggers {
  now: number;
  instance: string;
  triggers: Row[];
}

export type Numbers = (number | null)[];

export interface Gap {
  from: number; // its first point
  to: number; // one step after its last point
  because: string;
}

export interface Mark {
  at: number;
  kind: 'scale' | 'rollout' | 'gap' | 'error';
  text: string;
}

export interface History {
  namespace: string;
  name: string;
  trigger: string;
  instance: string;
  from: number;
  to: number;
  step_seconds: number;
  since: number;
  target_type: string; // AverageValue or Value
  points: number[];
  value: Numbers;
  target: Numbers;
  replicas: Numbers;
  starting: Numbers;
  unreadable: Numbers;
  terminating: Numbers;
  active: Numbers;
  limit: Numbers;
  capacity: Numbers;
  demand: Numbers;
  gaps: Gap[];
  marks: Mark[];
  explanations: number[];
}

// The part that the page shows.
export interface Explanation {
  namespace: string;
  name: string;
  trigger: string;
  instance: string;
  at: number;
  text: string;
  code: number;
  message: string;
  value: number | null;
  active: boolean;
}

export interface Replay {
  replicas: Numbers;
  gpu_hours: number | null;
  seconds_above_target: number | null;
}

export interface WhatIf {
  from: number | null; // null: there are no points
  to: number | null;
  step_seconds: number;
  points: number[];
  happened: Replay;
  would: Replay;
  changes: { happened: number | null; would: number | null };
  gpus_per_replica: number;
  note: string;
}

export interface FleetNode {
  name: string;
  age_seconds: number;
  why: string;
  gpus: number;
  free: number;
  free_groups: number[];
}

// The GPUs are columns, in the order of `nodes`.
export interface Fleet {
  now: number;
  instance: string;
  models: string[];
  vendors: string[];
  owners: string[];
  nodes: FleetNode[];
  gpu: {
    model: number[];
    vendor: number[];
    owner: number[];
    state: string;
    utilization: Numbers;
    memory: Numbers;
    index: string[];
  };
}

export interface Gpu {
  index: string;
  uuid: string;
  model: string;
  pods: string[];
  owner: string;
  state: string;
  utilization: number | null;
  memory_used: number | null;
  memory_total: number | null;
  power: number | null;
  temperature: number | null;
  since: number | null;
  gap: string;
}

export interface NodeDetail {
  now: number;
  node: FleetNode;
  gpus: Gpu[];
}

export interface GpuHours {
  busy: number;
  idle: number;
  starting: number;
  free: number;
  unknown: number;
}

export interface CostRow {
  key: string;
  gpu_hours: GpuHours;
  total: number;
  cost: number | null;
  idle_cost: number | null;
}

export interface Cost {
  from: number;
  to: number;
  instance: string;
  by: string;
  currency: string;
  priced: boolean;
  rows: CostRow[];
  total: CostRow;
  note: string;
}

export interface WorkloadsEvent {
  now: number;
  rows: Row[];
  removed: [string, string, string][];
}

export interface FleetEvent {
  now: number;
  version: number;
  nodes: number | null;
  gpus: number | null;
}
