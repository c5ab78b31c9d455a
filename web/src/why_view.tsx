// One workload over time, and the explanation of an instant.
import { useMemo, useState } from 'preact/hooks';
import { pathOf, workloadPath } from './api_client.ts';
import type { Explanation, History, Numbers } from './api_types.ts';
import { hasAny, nearestPoint, stackOf, targetOf } from './chart_data.ts';
import type { Live } from './live.ts';
import { Loaded, Notice } from './notices.tsx';
import { PointTable } from './point_table.tsx';
import { usePreferences } from './preferences.ts';
import { instantsOf, queryOf, rangeOf } from './range.tsx';
import { useJson } from './request.ts';
import { hashOf, type Route, workloadLink } from './route.ts';
import { clockText, durationText, instantText, numberText, UNKNOWN } from './text.ts';
import { type Line, markSign, TimeChart } from './time_chart.tsx';
import { type Chosen, chosenOf, hasHistory, WorkloadTools } from './workload_tools.tsx';

const KEPT_SECONDS = 300; // an explanation that stays the same is recorded this often

function ExplanationPanel(props: {
  chosen: Chosen;
  at: number | null; // null: now
  version: number;
  onNow: () => void;
}) {
  const { chosen, at } = props;
  const { zone } = usePreferences();
  const [copied, setCopied] = useState('');
  const path = pathOf(workloadPath(chosen.namespace, chosen.name, 'explanation'), {
    trigger: chosen.trigger,
    at: at ?? undefined,
  });
  const request = useJson<Explanation>(path, at === null ? props.version : 0);
  // The API rounds times to milliseconds, so this moment's own might be before its explanation.
  const link = (explanation: Explanation) =>
    workloadLink('why', chosen, at ?? Math.ceil(explanation.at * 1000 + 1) / 1000);
  const copy = async (text: string, what: string) => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(`${what} copied`);
    } catch {
      setCopied('The browser does not allow copying here.');
    }
  };
  return (
    <section class="explanation" aria-label="Explanation">
      <header>
        <h2 aria-live="polite">Explanation {at === null ? 'now' : `at ${instantText(at, zone)}`}</h2>
        {at !== null && (
          <button type="button" onClick={props.onNow}>
            now
          </button>
        )}
      </header>
      <Loaded
        what="explanation"
        request={request}
        onError={(error) =>
          error.status === 410 ? (
            <Notice kind="plain" title="This explanation is gone">
              {error.message}
            </Notice>
          ) : null
        }
      >
        {(explanation) => (
          <>
            <p class="quiet">
              {at === null ? 'evaluated at' : 'the newest one at or before that instant, of'}{' '}
              <time>{instantText(explanation.at, zone)}</time>
              {at !== null &&
                at - explanation.at >= 1 &&
                `, ${durationText(at - explanation.at)} earlier`}
              , by {explanation.instance}
            </p>
            <pre tabIndex={0} data-testid="explanation">
              {explanation.text}
            </pre>
            <p class="tools">
              <button type="button" onClick={() => void copy(explanation.text, 'text')}>
                copy text
              </button>
              <a
                class="button"
                href={link(explanation)}
                onClick={() =>
                  void copy(location.href.replace(/#.*$/, '') + link(explanation), 'link')
                }
              >
                link to this instant
              </a>
              <span class="quiet" role="status">
                {copied}
              </span>
            </p>
          </>
        )}
      </Loaded>
    </section>
  );
}

interface Lines {
  value: Line[];
  replicas: Line[];
  demand: Line[];
  others: Line[]; // in the table alone
}

function linesOf(history: History): Lines {
  const stack = stackOf(history);
  const counted: Numbers = stack.counted;
  const target = targetOf(history);
  const value: Line[] = [
    { label: 'value', values: history.value, colour: 'accent' },
    { ...target, colour: 'quiet', isStep: true, isDashed: true },
  ];
  const replicas: Line[] = [
    { label: 'counted', values: counted, colour: 'counted', isStep: true, isFilled: true },
    {
      label: 'unreadable',
      values: stack.unreadable,
      total: history.unreadable,
      colour: 'unreadable',
      isStep: true,
      isFilled: true,
    },
    {
      label: 'starting',
      values: stack.starting,
      total: history.starting,
      colour: 'starting',
      isStep: true,
      isFilled: true,
    },
  ];
  const demand: Line[] = [];
  if (hasAny(history.demand)) {
    demand.push({ label: 'demand, replicas', values: history.demand, colour: 'accent' });
    demand.push({
      label: 'replicas',
      values: history.replicas,
      colour: 'quiet',
      isStep: true,
      isDashed: true,
    });
  }
  if (hasAny(history.capacity)) {
    demand.push({
      label: 'capacity, requests/s of one replica',
      values: history.capacity,
      colour: 'capacity',
      isRight: true,
    });
  }
  const others: Line[] = [
    ...(target.values === history.target
      ? []
      : [{ label: 'target', values: history.target, colour: 'quiet' }]),
    { label: 'terminating', values: history.terminating, colour: 'quiet' },
    { label: 'batch limit', values: history.limit, colour: 'quiet' },
  ].filter((line) => hasAny(line.values));
  return { value, replicas: hasAny(history.replicas) ? replicas : [], demand, others };
}

function HistoryCharts(props: {
  history: History;
  at: number | null;
  onPick: (at: number) => void;
  onZoom: (from: number, to: number) => void;
}) {
  const { history, at, onPick, onZoom } = props;
  const { zone } = usePreferences();
  const lines = useMemo(() => linesOf(history), [history]);
  const pick = (instant: number) => {
    const nearest = history.points[nearestPoint(history.points, instant)];
    if (nearest !== undefined) onPick(nearest);
  };
  if (!hasAny(history.value)) {
    return (
      <Notice kind="plain" title="Nothing is recorded in this time">
        This instance records this trigger since {instantText(history.since, zone)}. Longer pasts
        are in Prometheus.
      </Notice>
    );
  }
  const common = {
    points: history.points,
    gaps: history.gaps,
    at,
    onPick: pick,
    onZoom,
    hasRightSpace: lines.demand.some((line) => line.isRight),
  };
  const replicas = lines.replicas;
  const oldest = history.explanations[0];
  return (
    <>
      {history.since > history.from + 1 && (
        <p class="quiet">
          Recording of this trigger began at {instantText(history.since, zone)}, by{' '}
          {history.instance}.
        </p>
      )}
      {oldest !== undefined && oldest > history.from + KEPT_SECONDS && (
        <p class="quiet">explanations since {instantText(oldest, zone)}</p>
      )}
      <TimeChart
        title={`value against ${targetOf(history).label}`}
        lines={lines.value}
        marks={history.marks}
        showsSigns
        height={210}
        {...common}
      />
      {replicas.length > 0 ? (
        <TimeChart
          title="replicas"
          lines={replicas}
          marks={history.marks}
          height={150}
          {...common}
        />
      ) : (
        <p class="quiet">The metric belongs to no replica, so replicas are unknown.</p>
      )}
      {lines.demand.length > 0 && (
        <TimeChart
          title="demand and capacity"
          lines={lines.demand}
          marks={history.marks}
          height={150}
          {...common}
        />
      )}
      <p class="quiet small">
        Click an instant for its explanation, drag to zoom.{' '}
        {history.gaps.length > 0 && 'Hatched: a gap, no value is known.'}
      </p>
      {history.marks.length > 0 && (
        <details>
          <summary>
            Events <span class="quiet">{history.marks.length}</span>
          </summary>
          <ul class="marks">
            {history.marks.slice(-200).reverse().map((mark) => (
              <li key={`${mark.at}${mark.kind}${mark.text}`}>
                <button type="button" class="link" onClick={() => pick(mark.at)}>
                  {clockText(mark.at, zone)}
                </button>{' '}
                <span class={`mark-${mark.kind}`} aria-hidden="true">
                  {markSign(mark.kind)}
                </span>{' '}
                {mark.kind}: {mark.text}
              </li>
            ))}
          </ul>
        </details>
      )}
      <PointTable
        points={history.points}
        gaps={history.gaps}
        lines={[...lines.value, ...replicas, ...lines.demand, ...lines.others]}
      />
    </>
  );
}

function Facts(props: { live: Live; chosen: Chosen }) {
  const row = [...(props.live.rows?.values() ?? [])].find(
    (one) =>
      one.namespace === props.chosen.namespace &&
      one.name === props.chosen.name &&
      one.trigger === props.chosen.trigger,
  );
  if (row === undefined) return null;
  const facts: [string, string][] = [
    ['value', row.code === 0 ? numberText(row.value) : 'unknown'],
    ['target', `${numberText(row.target)} (${row.target_type})`],
    ['replicas', numberText(row.replicas)],
    ['starting', numberText(row.starting)],
    ['unreadable', numberText(row.unreadable)],
    ['desired', numberText(row.desired)],
    ['active', row.code === 0 ? (row.active ? 'yes' : 'no') : UNKNOWN],
  ];
  return (
    <>
      {row.trouble !== '' && <Notice kind="warn" title={row.trouble} />}
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

export function WhyView(props: { live: Live; route: Route; go: (route: Route) => void }) {
  const { live, route, go } = props;
  const chosen = chosenOf(live, route);
  const at = Number(route.query['at']) > 0 ? Number(route.query['at']) : null;
  const range = rangeOf(route.query);
  // A link to an instant of long ago shows the hour around it.
  const shownRange =
    at !== null && range.seconds > 0 && live.now > 0 && at < live.now - range.seconds
      ? { seconds: 0, from: at - 1800, to: at + 1800 }
      : range;
  const instants = instantsOf(shownRange, live.now);
  const isChosen = chosen.name !== '';
  const path = workloadPath(chosen.namespace, chosen.name, 'history');
  const query = { trigger: chosen.trigger || undefined };
  // The range until now moves, and its former charts stay until the next answer.
  const request = useJson<History>(
    isChosen && hasHistory(live) && instants !== null ? pathOf(path, { ...query, ...instants }) : null,
    live.restartedAt,
    pathOf(path, { ...query, ...queryOf(shownRange) }),
  );
  const change = (query: Record<string, string>) =>
    go({ ...route, query: { ...route.query, ...query } });
  return (
    <section class="view">
      <h1>Why</h1>
      <WorkloadTools
        live={live}
        route={route}
        go={go}
        chosen={chosen}
        range={shownRange}
        onRange={(next) => change(queryOf(next))}
      >
        {isChosen && (
          <a class="button" href={hashOf({ ...route, view: 'what-if' })}>
            What if
          </a>
        )}
      </WorkloadTools>
      {!isChosen ? (
        <Notice kind="plain" title="Choose a ScaledObject">
          Its value, its replicas and the reasons are shown over time.
        </Notice>
      ) : (
        <div class="why">
          <div>
            <Facts live={live} chosen={chosen} />
            {live.status !== null && !hasHistory(live) ? (
              <Notice kind="plain" title="History is off">
                This instance was started with <code>--history 0</code>, so only the explanation of
                this moment is shown.
              </Notice>
            ) : (
              <Loaded
                what="history"
                request={request}
                onError={(error) =>
                  error.status === 404 ? (
                    <Notice kind="plain" title="Nothing is recorded of this ScaledObject">
                      {error.message}
                    </Notice>
                  ) : null
                }
              >
                {(history) => (
                  <HistoryCharts
                    history={history}
                    at={at}
                    onPick={(instant) => change({ at: String(instant) })}
                    onZoom={(from, to) =>
                      change(queryOf({ seconds: 0, from, to }))
                    }
                  />
                )}
              </Loaded>
            )}
          </div>
          <ExplanationPanel
            chosen={chosen}
            at={at}
            version={Math.floor(live.now / 15)}
            onNow={() => change({ at: '' })}
          />
        </div>
      )}
    </section>
  );
}
