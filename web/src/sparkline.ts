// The path of a small line without axes. A gap in the values is a gap in the line.
import type { Numbers } from './api_types.ts';

export interface Spark {
  line: string;
  target: number | null; // y of the target; null: it is above the picture
}

// From 0 to the larger of the largest value and the target.
export function sparkOf(values: Numbers, target: number, width: number, height: number): Spark {
  const highest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), target);
  const scale = highest > 0 ? (height - 2) / highest : 0;
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const place = (value: number) => Math.round((height - 1 - value * scale) * 10) / 10;
  let line = '';
  let isDrawing = false;
  values.forEach((value, index) => {
    if (value === null) {
      isDrawing = false;
      return;
    }
    const x = Math.round(index * step * 10) / 10;
    // A lone value is a dot: a line of no length has round ends.
    line += `${isDrawing ? 'L' : 'M'}${x} ${place(value)}`;
    if (!isDrawing && (values[index + 1] ?? null) === null) line += 'h0';
    isDrawing = true;
  });
  return { line, target: target > 0 ? place(target) : null };
}
