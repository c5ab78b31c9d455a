// A server with the page and made-up answers. It can be slow, broken, restarted, and refuse what a
// real one refuses.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import * as data from './fake_data.ts';

export interface Behaviour {
  nodes: number;
  workloads: number;
  hasHistory: boolean;
  hasCost: boolean;
  partial: string;
  token: string; // empty: none is required
  isHolding: boolean; // requests wait for release()
  broken: boolean; // answers are cut
  failing: boolean; // answers are 503
  isGone: boolean; // explanations of the past are
}

export class FakeApi {
  readonly behaviour: Behaviour = {
    nodes: 24,
    workloads: 10,
    hasHistory: true,
    hasCost: true,
    partial: '',
    token: '',
    isHolding: false,
    broken: false,
    failing: false,
    isGone: false,
  };
  readonly requests: string[] = [];
  bytes = 0; // the sum of all bodies
  ahead = 0; // seconds that its clock is ahead of the one given
  startedAt: number;
  #tick = 0;
  #server: Server | null = null;
  #port = 0;
  #streams = new Set<ServerResponse>();
  #held: (() => void)[] = [];
  readonly #folder: string;
  readonly #now: () => number;

  // `folder` has index.html.gz and csp.txt.
  constructor(folder: string, now: () => number = () => Date.now() / 1000) {
    this.#folder = folder;
    this.#now = () => now() + this.ahead;
    this.startedAt = now() - 80_000;
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const answer = () => this.#answer(request, response);
      if (this.behaviour.isHolding && request.url?.startsWith('/api/')) this.#held.push(answer);
      else answer();
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  // Ends all connections. start() then serves on the same port.
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    this.#streams.clear();
    await closed;
  }

  // Sends the next events: some rows and a changed fleet.
  push(changed = 3): void {
    this.#tick++;
    const now = this.#now();
    const all = data.rows(now, this.behaviour.workloads, false).slice(0, changed);
    this.#send('workloads', { now, rows: all, removed: [] });
    const { nodes } = this.behaviour;
    this.#send('fleet', { now, version: this.#tick, nodes, gpus: nodes * 8 });
  }

  // Answers the requests that wait, and all later ones at once.
  release(): void {
    this.behaviour.isHolding = false;
    for (const answer of this.#held.splice(0)) answer();
  }

  get streams(): number {
    return this.#streams.size;
  }

  #send(event: string, body: unknown): void {
    for (const stream of this.#streams) {
      const text = `event: ${event}\ndata: ${JSON.stringify(body)}\n\n`;
      this.bytes += text.length;
      stream.write(text);
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', this.address);
    const [script = '', style = ''] = readFileSync(`${this.#folder}/csp.txt`, 'utf8').split('\n');
    response.setHeader(
      'Content-Security-Policy',
      `default-src 'none'; script-src 'sha256-${script}'; style-src 'sha256-${style}'; ` +
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; " +
        "frame-ancestors 'none'",
    );
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    response.setHeader('Cache-Control', 'no-store');
    if (url.pathname === '/' || url.pathname === '/index.html') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.setHeader('Content-Encoding', 'gzip');
      response.end(readFileSync(`${this.#folder}/index.html.gz`));
      return;
    }
    this.requests.push(url.pathname + url.search);
    const { token, failing } = this.behaviour;
    if (token !== '' && request.headers.authorization !== `Bearer ${token}`) {
      this.#json(response, 401, { error: 'a token is required: Authorization: Bearer' });
    } else if (failing) {
      this.#json(response, 503, { error: 'no snapshot of the fleet yet' });
    } else if (url.pathname === '/api/v1/events') {
      response.setHeader('Content-Type', 'text/event-stream');
      response.write(': keepalive\n\n');
      this.#streams.add(response);
      response.on('close', () => this.#streams.delete(response));
    } else {
      const { status, body } = this.#body(url);
      this.#json(response, status, body);
    }
  }

  #body(url: URL): { status: number; body: unknown } {
    const now = this.#now();
    const { behaviour } = this;
    const fine = (body: unknown) => ({ status: 200, body });
    const missing = (error: string) => ({ status: 404, body: { error } });
    const [what = '', ...names] = url.pathname.replace('/api/v1/', '').split('/').map(decodeURIComponent);
    const query = url.searchParams;
    switch (what) {
      case 'status': {
        const status = data.status(this.startedAt, now, behaviour.nodes);
        status.history.enabled = behaviour.hasHistory;
        status.cost = behaviour.hasCost;
        status.fleet.partial = behaviour.partial;
        return fine(status);
      }
      case 'workloads': {
        const [namespace = '', name = '', part = ''] = names;
        if (namespace === '') {
          const workloads = data.rows(now, behaviour.workloads, behaviour.hasHistory);
          return fine({ now, instance: data.INSTANCE, workloads });
        }
        const to = Number(query.get('to') ?? now);
        const past = data.history(name, Number(query.get('from') ?? to - 3600), to, this.startedAt);
        if (past === null) return missing(`no trigger of ${namespace}/${name} is requested`);
        if (part === 'history') return fine(past);
        if (part === 'what-if') return fine(data.whatIf(past, query));
        const at = query.get('at');
        if (at !== null && behaviour.isGone) {
          const error = `the explanation of ${at} is gone: the oldest one kept is of ${now - 60}`;
          return { status: 410, body: { error } };
        }
        return fine(data.explanation(name, now, at === null ? null : Number(at)));
      }
      case 'fleet': {
        const all = data.fleet(behaviour.nodes, now, this.#tick);
        if (names.length === 0) return fine(all);
        const one = data.node(all, names[0] ?? '');
        return one === null ? missing(`no node ${names[0]}`) : fine(one);
      }
      case 'cost':
        return fine(data.cost(query.get('by') ?? 'namespace', Number(query.get('hours') ?? 24), now, behaviour.nodes));
      default:
        return missing('no such path');
    }
  }

  #json(response: ServerResponse, status: number, body: unknown): void {
    let text = JSON.stringify(body);
    if (this.behaviour.broken) text = text.slice(0, text.length / 2);
    const bytes = gzipSync(text, { level: 1 });
    this.bytes += bytes.length;
    response.statusCode = status;
    response.setHeader('Content-Type', 'application/json');
    response.setHeader('Content-Encoding', 'gzip');
    response.end(bytes);
  }
}
