// The numbers of charts as a table, for screen readers and for reading them exactly.
import { useState } from 'preact/hooks';
import type { Gap } from './api_types.ts';
import { gapAt, thinned } from './chart_data.ts';
import { usePreferences } from './preferences.ts';
import { instantText, numberText } from './text.ts';
import type { Line } from './time_chart.tsx';

const TABLE_ROWS = 300; // an hour has 241 points

export function PointTable(props: { points: number[]; gaps: Gap[]; lines: Line[] }) {
  const [isOpen, setOpen] = useState(false);
  const { zone } = usePreferences();
  const { points, gaps, lines } = props;
  const rows = isOpen ? thinned(points.length, TABLE_ROWS).reverse() : [];
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>Table of these charts</summary>
      {isOpen && (
        <div class="scroll tall" tabIndex={0} role="region" aria-label="Table of the charts">
          <table>
            <thead>
              <tr>
                <th>time</th>
                {lines.map((line) => (
                  <th key={line.label} class="number">
                    {line.label}
                  </th>
                ))}
                <th>gap</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((index) => {
                const at = points[index] ?? 0;
                return (
                  <tr key={at}>
                    <td>{instantText(at, zone)}</td>
                    {lines.map((line) => (
                      <td key={line.label} class="number">
                        {numberText((line.total ?? line.values)[index])}
                      </td>
                    ))}
                    <td class="quiet">{gapAt(gaps, at)?.because ?? ''}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
