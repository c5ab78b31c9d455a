// One chart over time: uPlot with our colours, gaps, marks and a chosen instant.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Gap, Mark, Numbers } from './api_types.ts';
import { nearestPoint } from './chart_data.ts';
import { colour, onPreferences, usePreferences } from './preferences.ts';
import { clockText, instantText, numberText } from './text.ts';

export interface Line {
  label: string;
  values: Numbers;
  colour: string; // a name of style.css
  isStep?: boolean;
  isDashed?: boolean;
  isFilled?: boolean; // down to the line before it, or to 0
  isRight?: boolean; // on the right axis
  total?: Numbers; // shown in the legend instead of `values`, which are a stack's
}

const STEP = { align: 1 as const };
const RIGHT = 44; // width of the right axis, in pixels
const MARK_COLOURS: Record<Mark['kind'], string> = {
  scale: 'accent',
  rollout: 'rollout',
  gap: 'quiet',
  error: 'warn',
};
const MARK_SIGNS: Record<Mark['kind'], string> = { scale: '▲', rollout: '◆', gap: '…', error: '✕' };

export function markSign(kind: Mark['kind']): string {
  return MARK_SIGNS[kind] ?? '•';
}

// Drawn below the lines: gaps as hatched bands, marks and the chosen instant as vertical lines.
function overlay(state: { gaps: Gap[]; marks: Mark[]; at: number | null; signs: boolean }) {
  const draw = (plot: uPlot) => {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    const place = (at: number) => Math.round(plot.valToPos(at, 'x', true));
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top - 14 * ratio, bbox.width, bbox.height + 14 * ratio);
    ctx.clip();
    ctx.strokeStyle = colour('hatch');
    ctx.lineWidth = ratio;
    ctx.beginPath();
    for (const gap of state.gaps) {
      const left = Math.max(bbox.left, place(gap.from));
      const right = Math.min(bbox.left + bbox.width, place(gap.to));
      if (right <= left) continue;
      ctx.save();
      const band = new Path2D();
      band.rect(left, bbox.top, right - left, bbox.height);
      ctx.clip(band);
      ctx.beginPath();
      const space = 6 * ratio;
      for (let x = left - bbox.height; x < right; x += space) {
        ctx.moveTo(x, bbox.top + bbox.height);
        ctx.lineTo(x + bbox.height, bbox.top);
      }
      ctx.stroke();
      ctx.restore();
    }
    ctx.font = `${10 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = 'center';
    for (const mark of state.marks) {
      const x = place(mark.at);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      const shade = colour(MARK_COLOURS[mark.kind] ?? 'quiet');
      ctx.strokeStyle = shade;
      ctx.globalAlpha = 0.45;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.fillStyle = shade;
      if (state.signs) ctx.fillText(markSign(mark.kind), x, bbox.top - 3 * ratio);
    }
    if (state.at !== null) {
      const x = place(state.at);
      ctx.strokeStyle = colour('text');
      ctx.lineWidth = 1.5 * ratio;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  };
  return { hooks: { drawAxes: draw } };
}

// The instant that a click or the keyboard chooses goes to `onPick`, a dragged range to `onZoom`.
export function TimeChart(props: {
  title: string;
  points: number[];
  lines: Line[];
  gaps?: Gap[];
  marks?: Mark[];
  at?: number | null;
  height?: number;
  showsSigns?: boolean;
  hasRightSpace?: boolean; // as wide as a chart with a right axis
  onPick?: (at: number) => void;
  onZoom?: (from: number, to: number) => void;
}) {
  const { title, points, lines } = props;
  const { zone, isDark } = usePreferences();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const state = useRef({ gaps: props.gaps ?? [], marks: props.marks ?? [], at: props.at ?? null, signs: false });
  state.current.gaps = props.gaps ?? [];
  state.current.marks = props.marks ?? [];
  state.current.at = props.at ?? null;
  state.current.signs = props.showsSigns ?? false;
  const calls = useRef({ onPick: props.onPick, onZoom: props.onZoom });
  calls.current = { onPick: props.onPick, onZoom: props.onZoom };
  const newestLines = useRef(lines);
  newestLines.current = lines;
  const data = useMemo(
    () => [points, ...lines.map((line) => line.values)] as uPlot.AlignedData,
    [points, lines],
  );
  const newestData = useRef(data);
  newestData.current = data;
  const shape = lines.map((line) => [line.label, line.colour, line.isStep, line.isRight]).join();
  const height = props.height ?? 180;
  const hasRightSpace = props.hasRightSpace === true;

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const build = () => {
      plot.current?.destroy();
      const axis = {
        stroke: colour('quiet'),
        grid: { stroke: colour('line'), width: 1 },
        ticks: { stroke: colour('line'), width: 1, size: 4 },
        font: '11px ui-sans-serif, system-ui, sans-serif',
      };
      const hasRight = newestLines.current.some((line) => line.isRight);
      const series = newestLines.current.map((line, index): uPlot.Series => ({
        label: line.label,
        scale: line.isRight ? 'right' : 'y',
        stroke: colour(line.colour),
        width: line.isFilled ? (index > 0 ? 0 : 1) : 1.5, // only the lowest of a stack has a line
        spanGaps: false,
        points: { show: false },
        value: (_plot, value: number | null, _series, at) => {
          const total = newestLines.current[index]?.total;
          return numberText(total && at !== null ? (total[at] ?? null) : value);
        },
        ...(line.isDashed ? { dash: [5, 4] } : {}),
        ...(line.isStep && uPlot.paths.stepped ? { paths: uPlot.paths.stepped(STEP) } : {}),
      }));
      const shades = newestLines.current.map((line) =>
        colour(line.isFilled ? `${line.colour}-fill` : line.colour),
      );
      const filled = newestLines.current.map((line) => line.isFilled === true);
      const bands: uPlot.Band[] = [];
      filled.forEach((isFilled, index) => {
        const line = newestLines.current[index];
        const one = series[index];
        if (!isFilled || line === undefined || one === undefined) return;
        const fill = colour(`${line.colour}-fill`);
        if (index > 0 && filled[index - 1]) bands.push({ series: [index + 1, index], fill });
        else one.fill = fill;
      });
      plot.current = new uPlot(
        {
          width: Math.max(200, element.clientWidth),
          height,
          padding: [16, hasRight ? 0 : hasRightSpace ? RIGHT : 12, 0, 0],
          series: [
            { label: 'time', value: (_plot, at: number | null) => (at === null ? '' : instantText(at, zone)) },
            ...series,
          ],
          bands,
          scales: {
            x: { time: true },
            y: { range: (_plot, _low, high) => [0, Math.max(1, (high ?? 1) * 1.08)] },
            right: { range: (_plot, _low, high) => [0, Math.max(0.1, (high ?? 1) * 1.08)] },
          },
          axes: [
            {
              ...axis,
              size: 28,
              space: 80,
              values: (_plot, ticks) => ticks.map((at) => clockText(at, zone).slice(0, 5)),
            },
            { ...axis, size: 48, values: (_plot, ticks) => ticks.map((tick) => numberText(tick)) },
            ...(hasRight
              ? [
                  {
                    ...axis,
                    scale: 'right',
                    side: 1 as const,
                    size: RIGHT,
                    grid: { show: false },
                    values: (_plot: uPlot, ticks: number[]) => ticks.map((tick) => numberText(tick)),
                  },
                ]
              : []),
          ],
          cursor: {
            y: false,
            sync: { key: 'time' },
            drag: { x: true, y: false, setScale: false, dist: 6 },
            points: { size: 6 },
          },
          select: { show: true, left: 0, top: 0, width: 0, height: 0 },
          legend: {
            live: true,
            markers: { fill: (_plot, index) => shades[index - 1] ?? '' },
          },
          plugins: [overlay(state.current)],
          hooks: {
            setSelect: [
              (self) => {
                if (self.select.width < 6) return;
                const from = self.posToVal(self.select.left, 'x');
                const to = self.posToVal(self.select.left + self.select.width, 'x');
                self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
                calls.current.onZoom?.(from, to);
              },
            ],
          },
        },
        newestData.current,
        element,
      );
      let pressed = 0;
      plot.current.over.addEventListener('mousedown', (event) => (pressed = event.clientX));
      plot.current.over.addEventListener('click', (event) => {
        const self = plot.current;
        if (self === null || Math.abs(event.clientX - pressed) > 6) return;
        const left = event.clientX - self.over.getBoundingClientRect().left;
        calls.current.onPick?.(self.posToVal(left, 'x'));
      });
    };
    build();
    const observer = new ResizeObserver(() => {
      const width = Math.max(200, element.clientWidth);
      if (plot.current !== null && plot.current.width !== width) {
        plot.current.setSize({ width, height });
      }
    });
    observer.observe(element);
    const forget = onPreferences(build);
    return () => {
      forget();
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, height, hasRightSpace, zone, isDark]);
  useEffect(() => {
    performance.mark('chart-draw');
    plot.current?.setData(data);
    performance.measure('chart-draw', 'chart-draw');
  }, [data]);
  useEffect(() => {
    plot.current?.redraw(false);
  }, [props.at, props.marks, props.gaps]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (!props.onPick || points.length === 0) return;
    const last = points.length - 1;
    const now = props.at === null || props.at === undefined ? last : nearestPoint(points, props.at);
    const steps: Record<string, number> = {
      ArrowLeft: now - (event.shiftKey ? 20 : 1),
      ArrowRight: now + (event.shiftKey ? 20 : 1),
      Home: 0,
      End: last,
      Enter: now,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const picked = points[Math.max(0, Math.min(last, next))];
    if (picked !== undefined) props.onPick(picked);
  };
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <div
        ref={place}
        tabIndex={props.onPick ? 0 : undefined}
        role={props.onPick ? 'application' : 'img'}
        aria-label={`Chart: ${title}.${
          props.onPick ? ' Left and right arrow keys choose an instant.' : ''
        } The same numbers are in the table below.`}
        onKeyDown={onKeyDown}
      />
    </figure>
  );
}
