// Which nodes of the fleet are shown, in which order, and where each GPU is drawn. Pure.
import type { Fleet } from './api_types.ts';

export type Measure = 'utilization' | 'memory' | 'owner' | 'vendor';
export type StateLetter = 'b' | 'h' | 's' | 'f' | 'u';

export const STATES: { letter: StateLetter; name: string; meaning: string }[] = [
  { letter: 'b', name: 'busy', meaning: 'held by a pod and in use' },
  { letter: 'h', name: 'held, at 0', meaning: 'held by a pod, utilization 0' },
  { letter: 's', name: 'starting', meaning: 'held by a pod that starts' },
  { letter: 'f', name: 'free', meaning: 'held by no pod' },
  { letter: 'u', name: 'unreadable', meaning: 'no reading' },
];

export interface Filter {
  text: string; // in the node's name, an owner or a model
  states: ReadonlySet<StateLetter>; // empty: all
  linked: number; // nodes with that many linked free GPUs; 0: all
  staleOnly: boolean;
}

export interface ShownNode {
  node: number; // index in fleet.nodes
  first: number; // its first GPU, an index into the columns
  gpus: number;
}

// The first GPU of each node in the columns, and one more at the end.
export function firstGpus(fleet: Fleet): number[] {
  const first = [0];
  for (const node of fleet.nodes) first.push((first.at(-1) ?? 0) + node.gpus);
  return first;
}

export function shownNodes(fleet: Fleet, filter: Filter): ShownNode[] {
  const text = filter.text.trim().toLowerCase();
  const owners = fleet.owners.map((name) => name.toLowerCase().includes(text));
  const models = fleet.models.map((name) => name.toLowerCase().includes(text));
  const first = firstGpus(fleet);
  const shown: ShownNode[] = [];
  fleet.nodes.forEach((node, index) => {
    const begin = first[index] ?? 0;
    if (filter.staleOnly && node.why === '') return;
    if (filter.linked > 0 && Math.max(0, ...node.free_groups) < filter.linked) return;
    let isNamed = text === '' || node.name.toLowerCase().includes(text);
    let hasState = filter.states.size === 0;
    for (let gpu = begin; gpu < begin + node.gpus && !(isNamed && hasState); gpu++) {
      const owner = fleet.gpu.owner[gpu] ?? 0;
      isNamed ||= (owner !== 0 && owners[owner] === true) || models[fleet.gpu.model[gpu] ?? 0] === true;
      hasState ||= filter.states.has(fleet.gpu.state[gpu] as StateLetter);
    }
    if (isNamed && hasState) shown.push({ node: index, first: begin, gpus: node.gpus });
  });
  return shown;
}

export function countStates(fleet: Fleet): Record<StateLetter, number> {
  const counts = { b: 0, h: 0, s: 0, f: 0, u: 0 };
  for (const letter of fleet.gpu.state) counts[letter as StateLetter]++;
  return counts;
}

// How many nodes have a free linked group of each size, largest size first. Single GPUs are none.
export function linkedGroups(fleet: Fleet): { size: number; nodes: number }[] {
  const nodes = new Map<number, number>();
  for (const node of fleet.nodes) {
    for (const size of new Set(node.free_groups)) {
      if (size > 1) nodes.set(size, (nodes.get(size) ?? 0) + 1);
    }
  }
  return [...nodes].map(([size, count]) => ({ size, nodes: count })).sort((a, b) => b.size - a.size);
}

// Cells in pixels. Few nodes are large and named, many are small.
export interface Layout {
  cell: number;
  columns: number; // cells of a node in a row
  label: number; // height of the node's name; 0: not drawn
  width: number; // a node's, with the space to the next
  height: number;
  perRow: number; // nodes
  rows: number;
}

export function layoutOf(nodes: number, mostGpus: number, width: number): Layout {
  const isNamed = nodes <= 300;
  const cell = nodes <= 24 ? 24 : isNamed ? 14 : 8;
  const columns = Math.min(mostGpus, isNamed ? 8 : 4) || 1;
  const gap = cell > 8 ? 2 : 1;
  const label = isNamed ? 18 : 0;
  const space = isNamed ? 14 : 6;
  const least = isNamed ? 116 : 0;
  const nodeWidth = Math.max(least, columns * (cell + gap)) + space;
  const height = label + Math.ceil(Math.max(1, mostGpus) / columns) * (cell + gap) + space;
  const perRow = Math.max(1, Math.floor((width + space) / nodeWidth));
  return {
    cell,
    columns,
    label,
    width: nodeWidth,
    height,
    perRow,
    rows: Math.ceil(nodes / perRow),
  };
}

// The index of the shown node at a point of the grid, or -1.
export function nodeAt(layout: Layout, nodes: number, x: number, y: number): number {
  const column = Math.floor(x / layout.width);
  if (x < 0 || y < 0 || column >= layout.perRow) return -1;
  const index = Math.floor(y / layout.height) * layout.perRow + column;
  return index < nodes ? index : -1;
}

// One of `shades` for 0 to 100; -1: not known.
export function shadeOf(percent: number | null | undefined, shades: number): number {
  if (percent === null || percent === undefined) return -1;
  return Math.min(shades - 1, Math.max(0, Math.floor((percent / 100) * shades)));
}
