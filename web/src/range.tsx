// The time range of a view: the last hours, or two instants.
import { usePreferences } from './preferences.ts';
import { HoursPicker } from './segments.tsx';
import { instantText } from './text.ts';

export interface Range {
  seconds: number; // until now; 0: `from` and `to`
  from: number;
  to: number;
}

export const STEP_SECONDS = 15;

// Reads ?range=3h, or ?from= and ?to=. An hour otherwise.
export function rangeOf(query: Record<string, string>): Range {
  const from = Number(query['from']);
  const to = Number(query['to']);
  if (from > 0 && to > from) return { seconds: 0, from, to };
  const hours = Number(/^(\d+)h$/.exec(query['range'] ?? '')?.[1] ?? 1);
  return { seconds: Math.min(24, Math.max(1, hours)) * 3600, from: 0, to: 0 };
}

export function queryOf(range: Range): Record<string, string> {
  if (range.seconds > 0) return { range: `${range.seconds / 3600}h`, from: '', to: '' };
  return { range: '', from: String(Math.round(range.from)), to: String(Math.round(range.to)) };
}

// The instants to request. Those of a range until now move in steps, as new points come.
export function instantsOf(range: Range, now: number): { from: number; to: number } | null {
  if (range.seconds === 0) return { from: range.from, to: range.to };
  if (now === 0) return null;
  const to = Math.ceil(now / STEP_SECONDS) * STEP_SECONDS;
  return { from: to - range.seconds, to };
}

export function RangePicker(props: { range: Range; onChange: (range: Range) => void }) {
  const { zone } = usePreferences();
  const { range } = props;
  return (
    <HoursPicker
      hours={range.seconds === 0 ? null : range.seconds / 3600}
      onChange={(hours) => props.onChange({ seconds: hours * 3600, from: 0, to: 0 })}
    >
      {range.seconds === 0 && (
        <span class="picked">
          {instantText(range.from, zone)} to {instantText(range.to, zone)}
        </span>
      )}
    </HoursPicker>
  );
}
