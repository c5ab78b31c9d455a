// Buttons in a row, one of which is chosen.
import type { ComponentChildren } from 'preact';

export function Segments<Value extends string | number>(props: {
  label: string;
  values: readonly Value[];
  chosen: Value | null;
  text?: (value: Value) => string;
  onChange: (value: Value) => void;
  children?: ComponentChildren; // after the buttons
}) {
  const { values, chosen, text = String, onChange } = props;
  return (
    <div class="segments" role="group" aria-label={props.label}>
      {values.map((value) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          onClick={() => onChange(value)}
        >
          {text(value)}
        </button>
      ))}
      {props.children}
    </div>
  );
}

// The last hours. `hours` is null if another range is chosen.
export function HoursPicker(props: {
  hours: number | null;
  onChange: (hours: number) => void;
  children?: ComponentChildren;
}) {
  return (
    <Segments
      label="Time range"
      values={[1, 3, 6, 12, 24]}
      chosen={props.hours}
      text={(hours) => `${hours} h`}
      onChange={props.onChange}
    >
      {props.children}
    </Segments>
  );
}
