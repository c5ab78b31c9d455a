// One request of a view, and its states.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, getJson } from './api_client.ts';
import { live } from './live.ts';

export interface Request<Answer> {
  data: Answer | null; // stays while it is requested again
  error: ApiError | null; // the newest request's
  isSlow: boolean; // a request has taken SLOW_MS and has no answer yet
}

export const SLOW_MS = 3000;

// Requests `path` now and whenever `path` or `version` changes. `key` names what is shown: while it
// stays the same, the former answer is shown until the next one comes, and only one request runs at
// a time, because a slow scaler must not get requests in vain. null: nothing is requested.
export function useJson<Answer>(
  path: string | null,
  version: unknown = 0,
  key: string | null = path,
): Request<Answer> {
  const [state, setState] = useState<Request<Answer> & { key: string | null }>({
    key: null,
    data: null,
    error: null,
    isSlow: false,
  });
  const newestPath = useRef(path);
  newestPath.current = path;
  const running = useRef<{ key: string; abort: AbortController; again: boolean } | null>(null);

  useEffect(() => {
    if (path === null || key === null) return;
    if (running.current?.key === key) {
      running.current.again = true;
      return;
    }
    running.current?.abort.abort();
    const send = async () => {
      const mine = { key, abort: new AbortController(), again: false };
      running.current = mine;
      const change = (next: Partial<Request<Answer>>) => {
        if (running.current !== mine) return;
        setState((was) => ({
          ...(was.key === key ? was : { data: null, error: null, isSlow: false }),
          key,
          ...next,
        }));
      };
      const slow = setTimeout(() => change({ isSlow: true }), SLOW_MS);
      try {
        const data = await getJson<Answer>(newestPath.current ?? path, mine.abort.signal);
        change({ data, error: null, isSlow: false });
      } catch (error) {
        const known =
          error instanceof ApiError ? error : new ApiError(0, 'The connection is lost.');
        if (known.status === 401 && running.current === mine) live.reconnect();
        change({ error: known, isSlow: false });
      } finally {
        clearTimeout(slow);
        if (running.current === mine) {
          running.current = null;
          if (mine.again) void send();
        }
      }
    };
    void send();
  }, [path, version, key]);
  useEffect(
    () => () => {
      running.current?.abort.abort();
      running.current = null;
    },
    [],
  );
  return state.key === key ? state : { data: null, error: null, isSlow: false };
}
