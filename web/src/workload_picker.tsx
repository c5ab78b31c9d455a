// The choice of the workload and the trigger of a view.
import { inOrder, keyOf, type Live } from './live.ts';

export interface Chosen {
  namespace: string;
  name: string;
  trigger: string;
}

export function WorkloadPicker(props: {
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

// The trigger of the link, or the workload's first one: most have one.
export function triggerOf(live: Live, chosen: Chosen): string {
  if (chosen.trigger !== '') return chosen.trigger;
  const rows = inOrder(live.rows?.values() ?? []);
  return (
    rows.find((row) => row.namespace === chosen.namespace && row.name === chosen.name)?.trigger ?? ''
  );
}
