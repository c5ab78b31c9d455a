// The HPA model of the scaler, replayed on the recorded values with other settings.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { pathOf, workloadPath } from './api_client.ts';
import type { WhatIf } from './api_types.ts';
import { unknownRuns } from './chart_data.ts';
import type { Live } from './live.ts';
import { Loaded, Notice } from './notices.tsx';
import { PointTable } from './point_table.tsx';
import { instantsOf, queryOf, rangeOf } from './range.tsx';
import { useJson } from './request.ts';
import type { Route } from './route.ts';
import { durationText, numberText, plural, UNKNOWN } from './text.ts';
import { TimeChart } from './time_chart.tsx';
import { chosenOf, hasHistory, WorkloadTools } from './workload_tools.tsx';

const SETTINGS: { key: string; name: string; unit: string; hint: string; min: number; step: string }[] = [
  { key: 'target', name: 'target', unit: '', hint: 'as recorded', min: 0, step: 'any' },
  { key: 'min', name: 'minimum', unit: 'replicas', hint: '0', min: 0, step: '1' },
  { key: 'max', name: 'maximum', unit: 'replicas', hint: 'as recorded', min: 1, step: '1' },
  { key: 'scale_down_window', name: 'scale-down window', unit: 's', hint: '300', min: 0, step: '1' },
  { key: 'pods_per_minute', name: 'pods per minute', unit: '', hint: 'as the HPA', min: 1, step: '1' },
];
const TYPING_MS = 400;

function difference(happened: number | null, would: number | null, text: (value: number) => string) {
  if (happened === null || would === null) return UNKNOWN;
  const change = would - happened;
  if (change === 0) return 'the same';
  return `${change > 0 ? '+' : '−'}${text(Math.abs(change))}`;
}

function Outcome(props: { result: WhatIf }) {
  const { happened, would, changes } = props.result;
  const rows: { name: string; was: number | null; is: number | null; text: (n: number) => string }[] =
    [
      {
        name: 'GPU-hours',
        was: happened.gpu_hours,
        is: would.gpu_hours,
        text: (value) => numberText(value),
      },
      {
        name: 'time above target',
        was: happened.seconds_above_target,
        is: would.seconds_above_target,
        text: durationText,
      },
      {
        name: 'direction changes',
        was: changes.happened,
        is: changes.would,
        text: (value) => numberText(value),
      },
    ];
  const text = (value: number | null, as: (n: number) => string) =>
    value === null ? UNKNOWN : as(value);
  return (
    <table class="outcome" data-testid="outcome">
      <thead>
        <tr>
          <th />
          <th class="number">happened</th>
          <th class="number">would have been</th>
          <th class="number">difference</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <th scope="row">{row.name}</th>
            <td class="number">{text(row.was, row.text)}</td>
            <td class="number big">{text(row.is, row.text)}</td>
            <td class="number quiet">{difference(row.was, row.is, row.text)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function WhatIfView(props: { live: Live; route: Route; go: (route: Route) => void }) {
  const { live, route, go } = props;
  const chosen = chosenOf(live, route);
  const range = rangeOf(route.query);
  const typed = SETTINGS.map(({ key }) => route.query[key] ?? '');
  const [values, setValues] = useState(typed);
  useEffect(() => setValues(typed), [typed.join()]);
  useEffect(() => {
    if (values.join() === typed.join()) return;
    const timer = setTimeout(() => {
      const query = { ...route.query };
      SETTINGS.forEach(({ key }, index) => (query[key] = values[index] ?? ''));
      go({ ...route, query });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [values.join()]);

  // The range until now stays the one of the first request: a replay is not repeated as time goes.
  const [began, setBegan] = useState(0);
  useEffect(() => {
    if (began === 0 && live.now > 0) setBegan(live.now);
  }, [live.now]);
  const instants = instantsOf(range, began);
  const path =
    chosen.name !== '' && hasHistory(live) && instants !== null
      ? pathOf(workloadPath(chosen.namespace, chosen.name, 'what-if'), {
          trigger: chosen.trigger || undefined,
          ...instants,
          ...Object.fromEntries(SETTINGS.map(({ key }) => [key, route.query[key]])),
        })
      : null;
  const request = useJson<WhatIf>(path);
  const result = request.data;
  const lines = useMemo(
    () =>
      result === null
        ? []
        : [
            {
              label: 'happened',
              values: result.happened.replicas,
              colour: 'quiet',
              isStep: true,
              isDashed: true,
            },
            { label: 'would have been', values: result.would.replicas, colour: 'accent', isStep: true },
          ],
    [result],
  );
  const gaps = useMemo(
    () =>
      result === null
        ? []
        : unknownRuns(result.points, result.would.replicas, result.step_seconds),
    [result],
  );
  return (
    <section class="view">
      <h1>What if</h1>
      <WorkloadTools
        live={live}
        route={route}
        go={go}
        chosen={chosen}
        range={range}
        onRange={(next) => {
          setBegan(live.now);
          go({ ...route, query: { ...route.query, ...queryOf(next) } });
        }}
      />
      {live.status !== null && !hasHistory(live) ? (
        <Notice kind="plain" title="History is off">
          What if replays recorded values. This instance was started with <code>--history 0</code>.
        </Notice>
      ) : chosen.name === '' ? (
        <Notice kind="plain" title="Choose a ScaledObject">
          Its recorded values are replayed with the settings that you give.
        </Notice>
      ) : (
        <>
          <form class="tools settings" onSubmit={(event) => event.preventDefault()}>
            {SETTINGS.map(({ key, name, unit, hint, min, step }, index) => (
              <label key={key}>
                <span>
                  {name}
                  {unit !== '' && <span class="quiet"> {unit}</span>}
                </span>
                <input
                  type="number"
                  name={key}
                  min={min}
                  step={step}
                  placeholder={hint}
                  value={values[index]}
                  onInput={(event) => {
                    const text = event.currentTarget.value;
                    setValues((was) => was.map((one, at) => (at === index ? text : one)));
                  }}
                />
              </label>
            ))}
          </form>
          <Loaded what="replay" request={request}>
            {(data) => (
              <>
                <p class="note">{data.note}</p>
                <Outcome result={data} />
                <p class="quiet small">
                  One replica counts as {plural(data.gpus_per_replica, 'GPU')}. Points are{' '}
                  {durationText(data.step_seconds)} apart.
                </p>
                {data.points.length === 0 && (
                  <Notice kind="plain" title="Nothing is recorded in this time" />
                )}
                <TimeChart
                  title="replicas"
                  points={data.points}
                  lines={lines}
                  gaps={gaps}
                  height={220}
                />
                <PointTable points={data.points} gaps={gaps} lines={lines} />
              </>
            )}
          </Loaded>
        </>
      )}
    </section>
  );
}
