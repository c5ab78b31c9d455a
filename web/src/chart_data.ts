// The columns of the charts of one history. Pure.
import type { Gap, History, Numbers } from './api_types.ts';

// Element by element; null where one of them is not known.
export function combined(a: Numbers, b: Numbers, of: (a: number, b: number) => number): Numbers {
  return a.map((one, index) => {
    const other = b[index] ?? null;
    return one === null || other === null ? null : of(one, other);
  });
}

export interface Stack {
  counted: Numbers; // tops of the stack, lowest first
  unreadable: Numbers;
  starting: Numbers;
}

// `replicas` includes unreadable replicas and excludes starting ones.
export function stackOf(history: History): Stack {
  const counted = combined(history.replicas, history.unreadable, (all, lost) =>
    Math.max(0, all - lost),
  );
  return {
    counted,
    unreadable: history.replicas,
    starting: combined(history.replicas, history.starting, (all, more) => all + more),
  };
}

// Returns the numbers that the value is compared with: the target of one replica times their number,
// or the target alone with the target type Value, or if no number of replicas is known.
export function targetOf(history: History): { label: string; values: Numbers } {
  if (history.target_type === 'Value' || !hasAny(history.replicas)) {
    return { label: 'target', values: history.target };
  }
  return {
    label: 'target × replicas',
    values: combined(history.target, history.replicas, (target, replicas) => target * replicas),
  };
}

export function hasAny(column: Numbers): boolean {
  return column.some((value) => value !== null);
}

// The index of the point nearest to `at`, or -1 if there is none.
export function nearestPoint(points: number[], at: number): number {
  let low = 0;
  let high = points.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((points[middle] ?? 0) <= at) low = middle;
    else high = middle;
  }
  return Math.abs((points[low] ?? 0) - at) <= Math.abs((points[high] ?? 0) - at) ? low : high;
}

// The newest explanation at or before `at`; null: none is kept.
export function explanationAt(explanations: number[], at: number): number | null {
  let found: number | null = null;
  for (const one of explanations) {
    if (one <= at && (found === null || one > found)) found = one;
  }
  return found;
}

export function gapAt(gaps: Gap[], at: number): Gap | undefined {
  return gaps.find((gap) => gap.from <= at && at < gap.to);
}

// The runs of points at which `column` is not known, as gaps: each from its first point to `step`
// seconds after its last one, as those of the history.
export function unknownRuns(points: number[], column: Numbers, step: number): Gap[] {
  const gaps: Gap[] = [];
  points.forEach((at, index) => {
    if (column[index] !== null) return;
    const last = gaps.at(-1);
    if (last !== undefined && column[index - 1] === null) last.to = at + step;
    else gaps.push({ from: at, to: at + step, because: 'no reading' });
  });
  return gaps;
}

// At most `most` points, evenly spread, the last one among them.
export function thinned(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / most));
  const indexes: number[] = [];
  for (let index = count - 1; index >= 0; index -= step) indexes.unshift(index);
  return indexes;
}
