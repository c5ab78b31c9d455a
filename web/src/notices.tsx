// Notices in place of data, or above it: empty, loading, slow, partial, broken.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Status } from './api_types.ts';
import { type Request, SLOW_MS } from './request.ts';

export function Notice(props: {
  kind: 'plain' | 'warn' | 'error';
  title: string;
  children?: ComponentChildren;
}) {
  return (
    <div class={`notice ${props.kind}`} role={props.kind === 'error' ? 'alert' : 'status'}>
      <strong>{props.title}</strong>
      {props.children && <div>{props.children}</div>}
    </div>
  );
}

export function PartialFleet(props: { status: Status | null }) {
  const partial = props.status?.fleet.partial ?? '';
  if (partial === '') return null;
  return (
    <Notice kind="warn" title="Part of the fleet is unknown">
      {partial}
    </Notice>
  );
}

export function Loading(props: { what: string }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="loading" role="status">
      <div class="skeleton" aria-hidden="true" />
      <div class="skeleton short" aria-hidden="true" />
      <span>
        Loading {props.what}
        {isSlow ? ' … the scaler is slow, still waiting' : ' …'}
      </span>
    </div>
  );
}

// Shows `children` of the answer, with a line above them while it is not the newest one.
export function Loaded<Answer>(props: {
  what: string;
  request: Request<Answer>;
  onError?: (error: NonNullable<Request<Answer>['error']>) => ComponentChildren | null;
  children: (data: Answer) => ComponentChildren;
}) {
  const { data, error, isSlow } = props.request;
  const shown = error && props.onError?.(error);
  if (shown) return <>{shown}</>;
  if (data === null) {
    if (error === null) return <Loading what={props.what} />;
    return (
      <Notice kind="error" title={`No ${props.what}`}>
        {error.message}
      </Notice>
    );
  }
  return (
    <>
      {error && (
        <Notice kind="warn" title={`The ${props.what} shown may be old`}>
          {error.message}
        </Notice>
      )}
      {!error && isSlow && <p class="quiet">The scaler is slow, still waiting for newer data.</p>}
      {props.children(data)}
    </>
  );
}
