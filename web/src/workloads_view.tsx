// Every trigger of every ScaledObject that KEDA requests, trouble first.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { memo } from './memo.ts';
import type { Row } from './api_types.ts';
import { CheckField, SearchField } from './filters.tsx';
import { inOrder, keyOf, type Live, live } from './live.ts';
import { Loading, Notice, PartialFleet } from './notices.tsx';
import { workloadLink } from './route.ts';
import { sparkOf } from './sparkline.ts';
import { durationText, numberText, plural } from './text.ts';

const SPARKS_MS = 60_000; // events have no sparks
const SPARK = { width: 120, height: 26 };
const SHOWN = 200; // added at a time

function Sparkline(props: { row: Row }) {
  const { spark, target } = props.row;
  if (spark === undefined) return null;
  // The value is of all replicas, and the target of one.
  const line = sparkOf(spark, target, SPARK.width, SPARK.height);
  return (
    <svg
      width={SPARK.width}
      height={SPARK.height}
      role="img"
      aria-label={`value over the last 15 minutes, now ${numberText(props.row.value)}`}
    >
      {line.target !== null && (
        <line x1={0} x2={SPARK.width} y1={line.target} y2={line.target} class="spark-target" />
      )}
      <path d={line.line} class="spark" />
    </svg>
  );
}

export function replicasText(row: Row): string {
  const states = ['starting', 'unreadable', 'terminating'] as const;
  return states
    .filter((state) => row[state])
    .map((state) => `${row[state]} ${state}`)
    .join(', ');
}

const WorkloadRow = memo(function WorkloadRow(props: { row: Row; hasSparks: boolean }) {
  const { row } = props;
  const isKnown = row.code === 0;
  return (
    <tr class={row.trouble === '' ? '' : 'trouble'}>
      <td>
        <a href={workloadLink('why', row)}>
          <span class="quiet">{row.namespace}/</span>
          <b>{row.name}</b>
        </a>
        <div class="quiet small">{row.trigger}</div>
      </td>
      <td class="number big" data-label="value">
        {isKnown ? numberText(row.value) : <span class="warn-text">unknown</span>}
      </td>
      <td class="number" data-label="target">
        {numberText(row.target)}
        {row.target_type !== 'AverageValue' && <div class="quiet small">{row.target_type}</div>}
      </td>
      <td class="number" data-label="replicas">
        {numberText(row.replicas)}
        <div class="quiet small">{replicasText(row)}</div>
      </td>
      <td class="number" data-label="desired">
        {numberText(row.desired)}
      </td>
      <td class="reason" data-label="active">
        {isKnown ? (row.active ? 'yes' : 'no') : 'unknown'}
        {row.active_because !== '' && <div class="quiet small">{row.active_because}</div>}
      </td>
      {props.hasSparks && (
        <td class="spark-cell">
          <Sparkline row={row} />
        </td>
      )}
      <td class="words">
        {row.trouble === '' ? (
          <span class="quiet">{row.profile || row.metric}</span>
        ) : (
          <span class="warn-text">
            <span aria-hidden="true">▲ </span>
            {row.trouble}
          </span>
        )}
      </td>
    </tr>
  );
});

export function WorkloadsView(props: { live: Live }) {
  const { rows, status, now, connection, problem } = props.live;
  const [text, setText] = useState('');
  const [troubleOnly, setTroubleOnly] = useState(false);
  const [limit, setLimit] = useState(SHOWN);
  const hasSparks = status?.history.enabled === true;
  useEffect(() => {
    if (!hasSparks || connection !== 'live') return;
    const abort = new AbortController();
    const timer = setInterval(() => {
      // The event stream shows whether the scaler answers.
      live.refreshWorkloads(abort.signal).catch(() => undefined);
    }, SPARKS_MS);
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [hasSparks, connection]);

  const ordered = useMemo(() => (rows === null ? [] : inOrder(rows.values())), [rows]);
  const shown = ordered.filter(
    (row) =>
      (!troubleOnly || row.trouble !== '') &&
      `${row.namespace}/${row.name} ${row.trigger} ${row.profile} ${row.trouble}`
        .toLowerCase()
        .includes(text.trim().toLowerCase()),
  );
  const troubled = ordered.filter((row) => row.trouble !== '').length;
  const body = () => {
    if (rows === null) {
      if (connection === 'lost') {
        return (
          <Notice kind="error" title="No workloads">
            {problem}
          </Notice>
        );
      }
      return <Loading what="workloads" />;
    }
    if (ordered.length === 0) {
      return (
        <Notice kind="plain" title="KEDA has requested no ScaledObject yet">
          A ScaledObject appears here with its first request. If none does, see{' '}
          <code>kubectl describe scaledobject</code> and docs/troubleshooting.md.
          {status?.role === 'aggregator' && (
            <>
              {' '}
              KEDA may send its requests to the other aggregator: forward a port of its pod with{' '}
              <code>kubectl port-forward pod/NAME 8082</code>.
            </>
          )}
        </Notice>
      );
    }
    return (
      <>
        <div class="tools">
          <SearchField placeholder="namespace, name, trigger" value={text} onChange={setText} />
          <CheckField checked={troubleOnly} onChange={setTroubleOnly}>
            <span>with trouble only</span>
          </CheckField>
          <p class="quiet" aria-live="polite">
            {plural(shown.length, 'trigger')}
            {troubled > 0 && `, ${numberText(troubled)} with trouble`}
          </p>
        </div>
        {shown.length === 0 ? (
          <Notice kind="plain" title="No workload matches" />
        ) : (
          <div class="scroll wide" tabIndex={0} role="region" aria-label="Table of workloads">
            <table class="cards">
              <thead>
                <tr>
                  <th>ScaledObject</th>
                  <th class="number">value</th>
                  <th class="number">target</th>
                  <th class="number">replicas</th>
                  <th class="number" title="value divided by target, rounded up">
                    desired
                  </th>
                  <th>active</th>
                  {hasSparks && <th>last 15 min</th>}
                  <th>trouble or metric</th>
                </tr>
              </thead>
              <tbody>
                {shown.slice(0, limit).map((row) => (
                  <WorkloadRow key={keyOf(row)} row={row} hasSparks={hasSparks} />
                ))}
              </tbody>
            </table>
          </div>
        )}
        {limit < shown.length && (
          <button type="button" onClick={() => setLimit(limit + SHOWN)}>
            {numberText(shown.length - limit)} more
          </button>
        )}
      </>
    );
  };
  return (
    <section class="view">
      <h1>Workloads</h1>
      <PartialFleet status={status} />
      {body()}
      {status !== null && status.history.enabled && status.history.since !== null && now > 0 && (
        <p class="quiet small">
          This instance has recorded for {durationText(now - status.history.since)}.
        </p>
      )}
    </section>
  );
}
