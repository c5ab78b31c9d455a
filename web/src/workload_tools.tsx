// The choice of the workload, the trigger and the time range of a view.
import type { ComponentChildren } from 'preact';
import { inOrder, keyOf, type Live } from './live.ts';
import { queryOf, type Range, RangePicker, rangeOf } from './range.tsx';
import type { Route } from './route.ts';

export interface Chosen {
  namespace: string;
  name: string;
  trigger: string;
}

function WorkloadPicker(props: {
  live: Live;
  chosen: Chosen;
  onChange: (chosen: Chosen) => void;
}) {
  const { chosen, live } = props;
  const rows = inOrder(live.rows?.values() ?? []);
  const objects = new Map(rows.map((row) => [`${row.namespace}/${row.name}`, row]));
  const triggers = rows.filter(
    (row) => row.namespace === chosen.namespace && row.name === chosen.name,
  );
  const own = `${chosen.namespace}/${chosen.name}`;
  return (
    <>
      <label>
        <span>ScaledObject</span>
        <select
          value={chosen.name === '' ? '' : own}
          onChange={(event) => {
            const row = objects.get(event.currentTarget.value);
            if (row) props.onChange({ namespace: row.namespace, name: row.name, trigger: '' });
          }}
        >
          {chosen.name === '' && <option value="">choose one</option>}
          {chosen.name !== '' && !objects.has(own) && <option value={own}>{own}</option>}
          {[...objects.keys()].map((key) => (
            <option key={key} value={key}>
              {key}
            </option>
          ))}
        </select>
      </label>
      {triggers.length > 1 && (
        <label>
          <span>trigger</span>
          <select
            value={chosen.trigger}
            onChange={(event) => props.onChange({ ...chosen, trigger: event.currentTarget.value })}
          >
            {triggers.map((row) => (
              <option key={keyOf(row)} value={row.trigger}>
                {row.trigger}
              </option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}

export function WorkloadTools(props: {
  live: Live;
  route: Route;
  go: (route: Route) => void;
  chosen: Chosen;
  range: Range; // as shown
  onRange: (range: Range) => void;
  children?: ComponentChildren;
}) {
  const { live, route, chosen } = props;
  return (
    <div class="tools">
      <WorkloadPicker
        live={live}
        chosen={chosen}
        onChange={({ namespace, name, trigger }) =>
          props.go({
            view: route.view,
            namespace,
            name,
            query: { ...queryOf(rangeOf(route.query)), trigger },
          })
        }
      />
      {hasHistory(live) && <RangePicker range={props.range} onChange={props.onRange} />}
      {props.children}
    </div>
  );
}

export function hasHistory(live: Live): boolean {
  return live.status?.history.enabled === true;
}

// The workload of the link, and its trigger: the link's, or the workload's first one. Most have one.
export function chosenOf(live: Live, route: Route): Chosen {
  const { namespace, name, query } = route;
  const rows = inOrder(live.rows?.values() ?? []);
  const first = rows.find((row) => row.namespace === namespace && row.name === name);
  return { namespace, name, trigger: query['trigger'] || (first?.trigger ?? '') };
}
