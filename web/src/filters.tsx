// The filters above a list.
import type { ComponentChildren } from 'preact';

// The key / moves the focus here.
export function SearchField(props: {
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <label>
      <span>search</span>
      <input
        type="search"
        data-key="/"
        placeholder={props.placeholder}
        value={props.value}
        onInput={(event) => props.onChange(event.currentTarget.value)}
      />
    </label>
  );
}

export function CheckField(props: {
  checked: boolean;
  onChange: (checked: boolean) => void;
  children: ComponentChildren;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      {props.children}
    </label>
  );
}
