// Requests to the scaler's API, and its event stream.
import { EventParser, type StreamEvent } from './event_stream.ts';

// An answer other than 200, or none at all: `status` is 0 then.
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

// Kept in the tab alone: sessionStorage ends with it, and no cookie is ever sent.
const TOKEN_KEY = 'token';

export function token(): string {
  return sessionStorage.getItem(TOKEN_KEY) ?? '';
}

export function setToken(text: string): void {
  if (text === '') sessionStorage.removeItem(TOKEN_KEY);
  else sessionStorage.setItem(TOKEN_KEY, text);
}

function headers(): Record<string, string> {
  const text = token();
  return text === '' ? {} : { Authorization: `Bearer ${text}` };
}

// The path is relative, so the page works behind a proxy with a prefix.
async function answered(path: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api/v1/${path}`, { headers: headers(), signal, credentials: 'omit' });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError(0, 'The scaler does not answer.');
  }
  if (response.ok) return response;
  let message = `HTTP ${response.status}`;
  try {
    const body = (await response.json()) as { error?: unknown };
    if (typeof body.error === 'string') message = body.error;
  } catch {
    // a proxy's page: its status is all there is
  }
  throw new ApiError(response.status, message);
}

export type Query = Record<string, string | number | undefined>;

export function pathOf(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}

export function workloadPath(namespace: string, name: string, what: string): string {
  return `workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/${what}`;
}

// Throws an ApiError, also if the answer is no JSON.
export async function getJson<Answer>(path: string, signal: AbortSignal): Promise<Answer> {
  const response = await answered(path, signal);
  try {
    return (await response.json()) as Answer;
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError(0, 'The answer of the scaler is broken.');
  }
}

// Calls `onBytes` when the stream opens and for each piece of it, `onEvent` for each event. Returns
// when the stream ends; throws if `signal` aborts it or the connection is lost.
export async function readEvents(
  signal: AbortSignal,
  onBytes: () => void,
  onEvent: (event: StreamEvent) => void,
): Promise<void> {
  const response = await answered('events', signal);
  if (response.body === null) throw new ApiError(0, 'The event stream is empty.');
  onBytes();
  const parser = new EventParser();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes();
    for (const event of parser.push(decoder.decode(value, { stream: true }))) onEvent(event);
  }
}
