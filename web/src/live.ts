// State that all views share: the scaler's status, the workloads, and whether the event stream is open.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, getJson, readEvents } from './api_client.ts';
import type { FleetEvent, Row, Status, Workloads, WorkloadsEvent } from './api_types.ts';

export type Connection = 'connecting' | 'live' | 'lost' | 'token';

export interface Live {
  connection: Connection;
  problem: string; // why it is lost, or why a token is required
  status: Status | null;
  rows: ReadonlyMap<string, Row> | null; // null: not loaded yet
  now: number; // the scaler's time at the newest answer; 0: none yet
  fleetVersion: number; // counts up when the fleet has changed
  restartedAt: number | null; // when the scaler started anew while this page was open
}

const SILENCE_MS = 40_000; // the scaler sends a comment every 15 s
const LONGEST_WAIT_MS = 15_000;

export function keyOf(row: { namespace: string; name: string; trigger: string }): string {
  return JSON.stringify([row.namespace, row.name, row.trigger]);
}

// Returns `rows` after an event. Rows of events have no spark: the former one stays.
export function merged(
  rows: ReadonlyMap<string, Row>,
  event: WorkloadsEvent,
): ReadonlyMap<string, Row> {
  const next = new Map(rows);
  for (const [namespace, name, trigger] of event.removed) {
    next.delete(keyOf({ namespace, name, trigger }));
  }
  for (const row of event.rows) {
    const spark = row.spark ?? next.get(keyOf(row))?.spark;
    next.set(keyOf(row), spark === undefined ? row : { ...row, spark });
  }
  return next;
}

// Trouble first, then namespace, name and trigger.
export function inOrder(rows: Iterable<Row>): Row[] {
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...rows].sort(
    (a, b) =>
      Number(b.trouble !== '') - Number(a.trouble !== '') ||
      order(a.namespace, b.namespace) ||
      order(a.name, b.name) ||
      order(a.trigger, b.trigger),
  );
}

class LiveStore {
  #state: Live = {
    connection: 'connecting',
    problem: '',
    status: null,
    rows: null,
    now: 0,
    fleetVersion: 0,
    restartedAt: null,
  };
  #listeners = new Set<() => void>();
  #wake: (() => void) | null = null;
  #attempt: AbortController | null = null;

  get state(): Live {
    return this.#state;
  }

  #set(change: Partial<Live>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // Connects at once instead of at the end of the wait, with the token that is set now.
  reconnect(): void {
    this.#attempt?.abort();
    this.#wake?.();
  }

  // Fetches the sparks again, which events lack.
  async refreshWorkloads(signal: AbortSignal): Promise<void> {
    const workloads = await getJson<Workloads>('workloads', signal);
    this.#set({ rows: new Map(workloads.workloads.map((row) => [keyOf(row), row])) });
  }

  // Runs as long as the page.
  async run(): Promise<never> {
    for (let failures = 0; ; failures++) {
      const attempt = new AbortController();
      this.#attempt = attempt;
      try {
        await this.#connect(attempt, () => (failures = 0));
        this.#set({ connection: 'lost', problem: 'The scaler has ended the event stream.' });
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) {
          this.#set({ connection: 'token', problem: error.message });
          await this.#wait(Infinity);
          continue;
        }
        const problem = error instanceof ApiError ? error.message : 'The connection is lost.';
        this.#set({ connection: 'lost', problem });
      }
      await this.#wait(Math.min(LONGEST_WAIT_MS, 1000 * 2 ** failures));
    }
  }

  async #connect(attempt: AbortController, onOpen: () => void): Promise<void> {
    const status = await getJson<Status>('status', attempt.signal);
    const before = this.#state.status;
    const isRestarted = before !== null && before.started_at !== status.started_at;
    this.#set({
      status,
      now: status.now,
      ...(isRestarted ? { restartedAt: status.started_at } : {}),
    });
    await this.refreshWorkloads(attempt.signal);
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const onBytes = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => attempt.abort(), SILENCE_MS);
      if (this.#state.connection !== 'live') this.#set({ connection: 'live', problem: '' });
      onOpen();
    };
    try {
      await readEvents(attempt.signal, onBytes, ({ event, data }) => this.#take(event, data));
    } finally {
      clearTimeout(watchdog);
    }
  }

  #take(event: string, data: string): void {
    let body: unknown;
    try {
      body = JSON.parse(data);
    } catch {
      throw new ApiError(0, 'The event stream is broken.');
    }
    if (event === 'workloads') {
      const change = body as WorkloadsEvent;
      const rows = merged(this.#state.rows ?? new Map<string, Row>(), change);
      this.#set({ now: change.now, rows });
    } else if (event === 'fleet') {
      const change = body as FleetEvent;
      const { status } = this.#state;
      this.#set({
        now: change.now,
        fleetVersion: change.version,
        status: status && {
          ...status,
          fleet: { ...status.fleet, nodes: change.nodes, gpus: change.gpus },
        },
      });
    }
  }

  // Returns after `milliseconds`, or earlier when reconnect() is called.
  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer =
        milliseconds === Infinity ? undefined : setTimeout(() => this.#wake?.(), milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
    });
  }
}

export const live = new LiveStore();

export function useLive(): Live {
  const [state, setState] = useState(live.state);
  useEffect(() => {
    setState(live.state);
    return live.listen(() => setState(live.state));
  }, []);
  return state;
}
