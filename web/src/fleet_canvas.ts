// Draws the part of the fleet that is in view. All cells of one colour are one path, so more GPUs
// need no more draw calls.
import type { Fleet } from './api_types.ts';
import { type Layout, type Measure, type ShownNode, shadeOf } from './fleet_model.ts';
import { colour } from './preferences.ts';

export const SHADES = 6;
export const HUES = 8; // owners and vendors beyond share the last one

export interface Picture {
  fleet: Fleet;
  shown: ShownNode[];
  layout: Layout;
  measure: Measure;
  selected: number; // index in `shown`; -1: none
  top: number; // scrolled, in pixels
  left: number; // the grid's, in the canvas
  width: number;
  height: number;
}

export interface Palette {
  shades: string[];
  hues: string[];
  unknown: string;
  free: string;
  warn: string;
  atZero: string;
  starting: string;
  quiet: string;
  accent: string;
}

export function palette(): Palette {
  return {
    shades: Array.from({ length: SHADES }, (_, index) => colour(`shade-${index}`)),
    hues: Array.from({ length: HUES }, (_, index) => colour(`hue-${index}`)),
    unknown: colour('line-strong'),
    free: colour('free'),
    warn: colour('warn'),
    atZero: colour('bar-idle'),
    starting: colour('bar-starting'),
    quiet: colour('quiet'),
    accent: colour('accent'),
  };
}

function fillOf(picture: Picture, gpu: number, state: string, colours: Palette): string {
  if (state === 'f') return colours.free;
  if (state === 'u') return colours.warn;
  const { fleet, measure } = picture;
  const { owner, vendor } = fleet.gpu;
  if (measure === 'owner') {
    const index = owner[gpu] ?? 0;
    return index === 0 ? colours.unknown : (colours.hues[(index - 1) % HUES] ?? colours.unknown);
  }
  // At 0 the shade would hide them, and both cost money.
  if (measure === 'utilization' && state === 'h') return colours.atZero;
  if (measure === 'utilization' && state === 's') return colours.starting;
  if (measure === 'vendor') return colours.hues[(vendor[gpu] ?? 0) % HUES] ?? colours.unknown;
  const shade = shadeOf(fleet.gpu[measure][gpu], SHADES);
  return colours.shades[shade] ?? colours.unknown;
}

// The shape of a cell shows the state, so that states differ without colours.
function addCell(path: Path2D, state: string, x: number, y: number, size: number): void {
  const rim = Math.max(1.5, size / 6);
  switch (state) {
    case 'h': // a ring
      path.rect(x, y, size, rim);
      path.rect(x, y + size - rim, size, rim);
      path.rect(x, y + rim, rim, size - 2 * rim);
      path.rect(x + size - rim, y + rim, rim, size - 2 * rim);
      break;
    case 's': // the lower half
      path.moveTo(x, y + size);
      path.lineTo(x + size, y + size);
      path.lineTo(x + size, y);
      path.closePath();
      break;
    case 'f': // a dot
      path.rect(x + size * 0.35, y + size * 0.35, size * 0.3, size * 0.3);
      break;
    case 'u': // a cross
      for (const [from, to] of [[0, 1], [1, 0]] as const) {
        path.moveTo(x + from * size, y);
        path.lineTo(x + from * size + (from === 0 ? rim : -rim), y);
        path.lineTo(x + to * size, y + size);
        path.lineTo(x + to * size + (to === 0 ? rim : -rim), y + size);
        path.closePath();
      }
      break;
    default:
      path.rect(x, y, size, size);
  }
}

// Returns the number of draw calls.
export function drawFleet(
  context: CanvasRenderingContext2D,
  picture: Picture,
  colours: Palette,
): number {
  const { fleet, shown, layout, top, left, width, height } = picture;
  const ratio = context.canvas.width / width;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  let calls = 1;

  const paths = new Map<string, Path2D>();
  const pathOf = (fill: string) => {
    let path = paths.get(fill);
    if (path === undefined) paths.set(fill, (path = new Path2D()));
    return path;
  };
  const firstRow = Math.max(0, Math.floor(top / layout.height));
  const begin = firstRow * layout.perRow;
  const end = Math.min(
    shown.length,
    Math.ceil((top + height) / layout.height) * layout.perRow,
  );
  const step = layout.cell + (layout.cell > 8 ? 2 : 1);
  for (let index = begin; index < end; index++) {
    const one = shown[index];
    if (one === undefined) break;
    const node = fleet.nodes[one.node];
    const x = left + (index % layout.perRow) * layout.width;
    const y = Math.floor(index / layout.perRow) * layout.height - top;
    for (let offset = 0; offset < one.gpus; offset++) {
      const gpu = one.first + offset;
      const state = fleet.gpu.state[gpu] ?? 'u';
      addCell(
        pathOf(fillOf(picture, gpu, state, colours)),
        state,
        x + (offset % layout.columns) * step,
        y + layout.label + Math.floor(offset / layout.columns) * step,
        layout.cell,
      );
    }
    if (node !== undefined && node.why !== '' && layout.label === 0) {
      pathOf(colours.warn).rect(x, y - 3, layout.columns * step - 1, 1.5);
    }
  }
  for (const [fill, path] of paths) {
    context.fillStyle = fill;
    context.fill(path);
    calls++;
  }

  if (layout.label > 0) {
    context.font = '11px ui-sans-serif, system-ui, sans-serif';
    context.textBaseline = 'alphabetic';
    for (let index = begin; index < end; index++) {
      const node = fleet.nodes[shown[index]?.node ?? -1];
      if (node === undefined) break;
      const x = left + (index % layout.perRow) * layout.width;
      const y = Math.floor(index / layout.perRow) * layout.height - top;
      context.fillStyle = node.why === '' ? colours.quiet : colours.warn;
      const linked = node.free_groups.filter((size) => size > 1);
      const free = linked.length === 0 ? '' : `  free ${linked.join('+')}`;
      context.fillText(node.name + free, x, y + 12, layout.width - 10);
      calls++;
    }
  }
  if (picture.selected >= begin && picture.selected < end) {
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect(
      left + (picture.selected % layout.perRow) * layout.width - 3,
      Math.floor(picture.selected / layout.perRow) * layout.height - top - 2,
      layout.width - (layout.label > 0 ? 6 : 1),
      layout.height - (layout.label > 0 ? 8 : 2),
    );
    calls++;
  }
  return calls;
}
