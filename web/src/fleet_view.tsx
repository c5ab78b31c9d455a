// Nodes and GPUs as a grid.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Fleet, Gpu, NodeDetail } from './api_types.ts';
import { CheckField, SearchField } from './filters.tsx';
import { drawFleet, HUES, type Palette, palette, SHADES } from './fleet_canvas.ts';
import {
  countStates,
  type Filter,
  layoutOf,
  linkedGroups,
  type Measure,
  nodeAt,
  type ShownNode,
  shownNodes,
  STATES,
  type StateLetter,
} from './fleet_model.ts';
import type { Live } from './live.ts';
import { Loaded, Notice, PartialFleet } from './notices.tsx';
import { onPreferences, usePreferences } from './preferences.ts';
import { useJson } from './request.ts';
import { durationText, gibText, instantText, numberText, percentText, plural } from './text.ts';

const MEASURES: { value: Measure; name: string }[] = [
  { value: 'utilization', name: 'utilization' },
  { value: 'memory', name: 'memory' },
  { value: 'owner', name: 'owner' },
  { value: 'vendor', name: 'vendor' },
];
const ALL_NODES: Filter = { text: '', states: new Set(), linked: 0, staleOnly: false };
const TABLE_ROWS = 100; // added at a time
const MARGIN = 8; // around the grid, in pixels

function Grid(props: {
  fleet: Fleet;
  shown: ShownNode[];
  measure: Measure;
  selected: number;
  onSelect: (index: number) => void;
}) {
  const { fleet, shown, measure, selected, onSelect } = props;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = useRef<Palette | null>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const mostGpus = useMemo(
    () => shown.reduce((most, node) => Math.max(most, node.gpus), 1),
    [shown],
  );
  const layout = useMemo(
    () => layoutOf(shown.length, mostGpus, Math.max(1, size.width - MARGIN)),
    [shown.length, mostGpus, size.width],
  );

  const draw = () => {
    const context = canvas.current?.getContext('2d');
    if (!context || !frame.current || size.width === 0) return;
    colours.current ??= palette();
    performance.mark('fleet-draw');
    const calls = drawFleet(
      context,
      {
        fleet,
        shown,
        layout,
        measure,
        selected,
        top: frame.current.scrollTop - MARGIN,
        left: MARGIN,
        ...size,
      },
      colours.current,
    );
    performance.measure('fleet-draw', { start: 'fleet-draw', detail: calls });
  };
  const newest = useRef(draw);
  newest.current = draw;

  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    let waiting = 0;
    const later = () => {
      waiting ||= requestAnimationFrame(() => {
        waiting = 0;
        newest.current();
      });
    };
    const observer = new ResizeObserver(() => {
      setSize({ width: element.clientWidth, height: element.clientHeight });
    });
    observer.observe(element);
    element.addEventListener('scroll', later, { passive: true });
    const forget = onPreferences(() => {
      colours.current = null;
      later();
    });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', later);
      forget();
      cancelAnimationFrame(waiting);
    };
  }, []);
  useEffect(() => {
    const element = canvas.current;
    if (element === null || size.width === 0) return;
    const ratio = Math.min(2, devicePixelRatio);
    const width = Math.round(size.width * ratio);
    const height = Math.round(size.height * ratio);
    if (element.width !== width || element.height !== height) {
      element.width = width;
      element.height = height;
    }
    draw();
  }, [fleet, shown, layout, measure, selected, size]);

  const select = (index: number) => {
    onSelect(index);
    const element = frame.current;
    if (element === null || index < 0) return;
    const y = Math.floor(index / layout.perRow) * layout.height;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + layout.height > element.scrollTop + element.clientHeight) {
      element.scrollTop = y + layout.height - element.clientHeight + 12;
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: layout.perRow,
      ArrowUp: -layout.perRow,
      Home: -shown.length,
      End: shown.length,
      Enter: 0,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    select(Math.max(0, Math.min(shown.length - 1, Math.max(0, selected) + (selected < 0 ? 0 : step))));
  };
  const under = (event: MouseEvent): number => {
    if (frame.current === null) return -1;
    const box = frame.current.getBoundingClientRect();
    const x = event.clientX - box.left - MARGIN;
    const y = event.clientY - box.top + frame.current.scrollTop - MARGIN;
    return nodeAt(layout, shown.length, x, y);
  };
  const onMouseMove = (event: MouseEvent) => {
    const node = fleet.nodes[shown[under(event)]?.node ?? -1];
    const title =
      node === undefined ? '' : `${node.name}: ${node.free} of ${plural(node.gpus, 'GPU')} free`;
    if (frame.current !== null && frame.current.title !== title) frame.current.title = title;
  };
  const name = fleet.nodes[shown[selected]?.node ?? -1]?.name;
  return (
    <div
      ref={frame}
      class="grid-frame"
      tabIndex={0}
      role="application"
      aria-label={`Grid of ${plural(shown.length, 'node')}. Arrow keys and Enter choose a node. ${
        name === undefined ? '' : `Chosen: ${name}.`
      }`}
      onKeyDown={onKeyDown}
      onClick={(event) => select(under(event))}
      onMouseMove={onMouseMove}
    >
      <div aria-hidden="true" style={{ height: `${layout.rows * layout.height + 8}px` }}>
        <canvas ref={canvas} style={{ width: `${size.width}px`, height: `${size.height}px` }} />
      </div>
    </div>
  );
}

function Legend(props: { fleet: Fleet; measure: Measure }) {
  const { fleet, measure } = props;
  if (measure === 'utilization' || measure === 'memory') {
    return (
      <p class="legend" aria-label={`Colours: ${measure} from 0 to 100 %`}>
        0 %
        {Array.from({ length: SHADES }, (_, index) => (
          <i key={index} class={`swatch shade-${index}`} />
        ))}
        100 %
      </p>
    );
  }
  const names = measure === 'owner' ? fleet.owners.slice(1) : fleet.vendors;
  return (
    <p class="legend">
      {names.slice(0, HUES).map((name, index) => (
        <span key={name}>
          <i class={`swatch hue-${index}`} /> {name}
        </span>
      ))}
      {names.length > HUES && <span>and {names.length - HUES} more, in the same colours</span>}
    </p>
  );
}

function NodePanel(props: { name: string; version: unknown; onClose: () => void }) {
  const { zone } = usePreferences();
  const request = useJson<NodeDetail>(`fleet/${encodeURIComponent(props.name)}`, props.version);
  return (
    <aside class="panel" aria-label={`Node ${props.name}`}>
      <header>
        <h2>{props.name}</h2>
        <button type="button" onClick={props.onClose} aria-label="Close the node">
          ×
        </button>
      </header>
      <Loaded what="node" request={request}>
        {({ node, gpus }) => (
          <>
            <p class="quiet">
              read {durationText(node.age_seconds)} ago, {node.free} of {plural(node.gpus, 'GPU')}{' '}
              free{node.free_groups.length > 0 && `, linked: ${node.free_groups.join(' + ')}`}
            </p>
            {node.why !== '' && <Notice kind="warn" title={node.why} />}
            <div class="scroll" tabIndex={0} role="region" aria-label="GPUs of the node">
              <table>
                <thead>
                  <tr>
                    <th>GPU</th>
                    <th>state</th>
                    <th class="number">utilization</th>
                    <th class="number">memory</th>
                    <th>owner</th>
                  </tr>
                </thead>
                {gpus.map((gpu) => (
                  <tbody key={gpu.uuid + gpu.index}>
                    <tr class="above">
                      <th scope="row">{gpu.index}</th>
                      <td>{stateName(gpu.state)}</td>
                      <td class="number">{percentText(gpu.utilization)}</td>
                      <td class="number">
                        {gibText(gpu.memory_used)} of {gibText(gpu.memory_total)}
                      </td>
                      <td>
                        {gpu.owner || UNHELD}
                        {gpu.since !== null && gpu.owner !== '' && (
                          <span class="quiet"> since {instantText(gpu.since, zone)}</span>
                        )}
                        {gpu.gap !== '' && <span class="warn-text"> {gpu.gap}</span>}
                      </td>
                    </tr>
                    <tr>
                      <td colSpan={5} class="quiet small">
                        {gpuFacts(gpu).map((fact) => (
                          <div key={fact}>{fact}</div>
                        ))}
                      </td>
                    </tr>
                  </tbody>
                ))}
              </table>
            </div>
          </>
        )}
      </Loaded>
    </aside>
  );
}

const UNHELD = 'none';

// The lines below a GPU of the panel. Numbers that are not known are left out.
function gpuFacts(gpu: Gpu): string[] {
  const device = [
    gpu.model,
    gpu.uuid,
    gpu.power === null ? '' : `${numberText(gpu.power, 0)} W`,
    gpu.temperature === null ? '' : `${numberText(gpu.temperature, 0)} °C`,
  ].filter((part) => part !== '');
  const lines = device.length > 0 ? [device.join(', ')] : [];
  if (gpu.pods.length > 0) lines.push(`pods: ${gpu.pods.join(', ')}`);
  return lines;
}

function stateName(state: string): string {
  return STATES.find((one) => one.letter === state || one.name === state)?.name ?? state;
}

function NodeTable(props: { fleet: Fleet; shown: ShownNode[]; onSelect: (index: number) => void }) {
  const [rows, setRows] = useState(TABLE_ROWS);
  const { fleet, shown } = props;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of nodes">
      <table>
        <thead>
          <tr>
            <th>node</th>
            <th class="number">GPUs</th>
            {STATES.map(({ letter, name }) => (
              <th key={letter} class="number">
                {name}
              </th>
            ))}
            <th>linked, free</th>
            <th>reading</th>
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, rows).map((one, index) => {
            const node = fleet.nodes[one.node];
            if (node === undefined) return null;
            const states = fleet.gpu.state.slice(one.first, one.first + one.gpus);
            return (
              <tr key={node.name}>
                <td>
                  <button type="button" class="link" onClick={() => props.onSelect(index)}>
                    {node.name}
                  </button>
                </td>
                <td class="number">{node.gpus}</td>
                {STATES.map(({ letter }) => (
                  <td key={letter} class="number">
                    {states.split(letter).length - 1 || ''}
                  </td>
                ))}
                <td>{node.free_groups.join(' + ')}</td>
                <td class={node.why === '' ? '' : 'warn-text'}>
                  {node.why || `${durationText(node.age_seconds)} ago`}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows < shown.length && (
        <button type="button" onClick={() => setRows(rows + TABLE_ROWS)}>
          {numberText(shown.length - rows)} more
        </button>
      )}
    </div>
  );
}

function FleetBody(props: { fleet: Fleet; version: unknown }) {
  const { fleet } = props;
  const [measure, setMeasure] = useState<Measure>('utilization');
  const [filter, setFilter] = useState(ALL_NODES);
  const [selected, setSelected] = useState<string | null>(null);
  const [asTable, setAsTable] = useState(false);
  const shown = useMemo(() => shownNodes(fleet, filter), [fleet, filter]);
  const counts = useMemo(() => countStates(fleet), [fleet]);
  const groups = useMemo(() => linkedGroups(fleet), [fleet]);
  const stale = useMemo(() => fleet.nodes.filter((node) => node.why !== '').length, [fleet]);
  const index =
    selected === null ? -1 : shown.findIndex((one) => fleet.nodes[one.node]?.name === selected);
  const select = (at: number) => setSelected(fleet.nodes[shown[at]?.node ?? -1]?.name ?? null);
  const toggle = (letter: StateLetter) => {
    const states = new Set(filter.states);
    if (!states.delete(letter)) states.add(letter);
    setFilter({ ...filter, states });
  };
  if (fleet.nodes.length === 0) {
    return (
      <Notice kind="plain" title="No GPU node is known">
        Agents report a node when they have connected. DNS lists none, or none has GPUs.
      </Notice>
    );
  }
  return (
    <>
      <div class="tools">
        <SearchField
          placeholder="node, owner, model"
          value={filter.text}
          onChange={(text) => setFilter({ ...filter, text })}
        />
        <label>
          <span>colour</span>
          <select
            value={measure}
            onChange={(event) => setMeasure(event.currentTarget.value as Measure)}
          >
            {MEASURES.map(({ value, name }) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>linked, free</span>
          <select
            value={filter.linked}
            onChange={(event) => setFilter({ ...filter, linked: Number(event.currentTarget.value) })}
          >
            <option value={0}>any</option>
            {groups.map(({ size, nodes }) => (
              <option key={size} value={size}>
                {size} GPUs ({plural(nodes, 'node')})
              </option>
            ))}
          </select>
        </label>
        {stale > 0 && (
          <CheckField
            checked={filter.staleOnly}
            onChange={(staleOnly) => setFilter({ ...filter, staleOnly })}
          >
            <span class="warn-text">{plural(stale, 'node')} stale</span>
          </CheckField>
        )}
        <button type="button" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          table
        </button>
      </div>
      <div class="chips" role="group" aria-label="States">
        {STATES.map(({ letter, name, meaning }) => (
          <button
            key={letter}
            type="button"
            class="chip"
            title={meaning}
            aria-pressed={filter.states.has(letter)}
            onClick={() => toggle(letter)}
          >
            <i class={`state state-${letter}`} aria-hidden="true" /> {name}{' '}
            <b>{numberText(counts[letter])}</b>
          </button>
        ))}
        <Legend fleet={fleet} measure={measure} />
      </div>
      <p class="quiet" aria-live="polite">
        {shown.length === fleet.nodes.length
          ? plural(fleet.nodes.length, 'node')
          : `${numberText(shown.length)} of ${plural(fleet.nodes.length, 'node')}`}
        , {plural(fleet.gpu.state.length, 'GPU')}
      </p>
      {shown.length === 0 ? (
        <Notice kind="plain" title="No node matches">
          <button type="button" onClick={() => setFilter(ALL_NODES)}>
            Show all nodes
          </button>
        </Notice>
      ) : (
        <div class="beside">
          {asTable ? (
            <NodeTable fleet={fleet} shown={shown} onSelect={select} />
          ) : (
            <Grid
              fleet={fleet}
              shown={shown}
              measure={measure}
              selected={index}
              onSelect={select}
            />
          )}
          {selected !== null && (
            <NodePanel
              name={selected}
              version={props.version}
              onClose={() => setSelected(null)}
            />
          )}
        </div>
      )}
    </>
  );
}

export function FleetView(props: { live: Live }) {
  const { fleetVersion, status } = props.live;
  const request = useJson<Fleet>('fleet', fleetVersion);
  return (
    <section class="view">
      <h1>Fleet</h1>
      <PartialFleet status={status} />
      <Loaded what="fleet" request={request}>
        {(fleet) => <FleetBody fleet={fleet} version={fleetVersion} />}
      </Loaded>
    </section>
  );
}
