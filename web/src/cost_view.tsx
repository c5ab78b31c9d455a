// GPU-hours and money by namespace, workload, model or node.
import { useState } from 'preact/hooks';
import { pathOf } from './api_client.ts';
import type { Cost, CostRow, GpuHours } from './api_types.ts';
import type { Live } from './live.ts';
import { Loaded, Notice } from './notices.tsx';
import { usePreferences } from './preferences.ts';
import { useJson } from './request.ts';
import { HoursPicker, Segments } from './segments.tsx';
import { instantText, moneyText, numberText } from './text.ts';

const BY = ['namespace', 'workload', 'model', 'node'];
const STATES: (keyof GpuHours)[] = ['busy', 'idle', 'starting', 'free', 'unknown'];
const SHOWN = 200;

// The part of each state of the largest row.
function Bar(props: { hours: GpuHours; most: number }) {
  return (
    <div class="bar" aria-hidden="true">
      {STATES.map((state) => (
        <i
          key={state}
          class={`bar-${state}`}
          style={{ width: `${props.most > 0 ? (100 * props.hours[state]) / props.most : 0}%` }}
        />
      ))}
    </div>
  );
}

function CostTable(props: { cost: Cost }) {
  const { cost } = props;
  const { zone } = usePreferences();
  const [limit, setLimit] = useState(SHOWN);
  const rows = [...cost.rows].sort((a, b) => (b.cost ?? b.total) - (a.cost ?? a.total));
  const most = rows.reduce((highest, row) => Math.max(highest, row.total), 0);
  const cells = (row: CostRow) => (
    <>
      {STATES.map((state) => (
        <td key={state} class="number" data-label={state}>
          {numberText(row.gpu_hours[state], 2)}
        </td>
      ))}
      <td class="number big" data-label="total">
        {numberText(row.total, 2)}
      </td>
      {cost.priced && (
        <>
          <td class="number big" data-label="cost">
            {moneyText(row.cost, cost.currency)}
          </td>
          <td class="number big" data-label="idle cost">
            {moneyText(row.idle_cost, cost.currency)}
          </td>
        </>
      )}
    </>
  );
  if (rows.length === 0) {
    return (
      <Notice kind="plain" title="No GPU-hours are counted yet">
        This instance counts them from its start, every 15 s.
      </Notice>
    );
  }
  return (
    <>
      <p class="quiet">
        GPU-hours from {instantText(cost.from, zone)} to {instantText(cost.to, zone)}, by{' '}
        {cost.instance}
      </p>
      {cost.note !== '' && <p class="note">{cost.note}</p>}
      <div class="scroll wide" tabIndex={0} role="region" aria-label="Table of GPU-hours">
        <table class="cards">
          <thead>
            <tr>
              <th>{cost.by}</th>
              <th class="bar-cell">GPU-hours</th>
              {STATES.map((state) => (
                <th key={state} class="number">
                  <i class={`swatch bar-${state}`} aria-hidden="true" /> {state}
                </th>
              ))}
              <th class="number">total</th>
              {cost.priced && <th class="number">cost</th>}
              {cost.priced && <th class="number">idle cost</th>}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((row) => (
              <tr key={row.key}>
                <th scope="row">{row.key || 'held by none'}</th>
                <td class="bar-cell">
                  <Bar hours={row.gpu_hours} most={most} />
                </td>
                {cells(row)}
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">total</th>
              <td class="bar-cell" />
              {cells(cost.total)}
            </tr>
          </tfoot>
        </table>
      </div>
      {limit < rows.length && (
        <button type="button" onClick={() => setLimit(limit + SHOWN)}>
          {numberText(rows.length - limit)} more
        </button>
      )}
    </>
  );
}

export function CostView(props: { live: Live }) {
  const [by, setBy] = useState('namespace');
  const [hours, setHours] = useState(24);
  const isOff = props.live.status?.cost === false;
  const minute = Math.floor(props.live.now / 60);
  const request = useJson<Cost>(isOff ? null : pathOf('cost', { by, hours }), minute);
  return (
    <section class="view">
      <h1>Cost</h1>
      {isOff ? (
        <Notice kind="plain" title="Costs are not counted">
          This instance counts no GPU time.
        </Notice>
      ) : (
        <>
          <div class="tools">
            <Segments label="By" values={BY} chosen={by} onChange={setBy} />
            <HoursPicker hours={hours} onChange={setHours} />
          </div>
          <Loaded what="cost" request={request}>
            {(cost) => <CostTable cost={cost} />}
          </Loaded>
        </>
      )}
    </section>
  );
}
