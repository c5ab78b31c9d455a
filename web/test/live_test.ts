// The page over a real scaler: GPUSCALER_WEB is its address, GPUSCALER_CLI the program.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { Explanation, Fleet, Row, WhatIf } from '../src/api_types.ts';
import { workloadLink } from '../src/route.ts';
import { axeFindings, launch, open } from './browser.ts';

const address = process.env['GPUSCALER_WEB'] ?? '';
const program = process.env['GPUSCALER_CLI'] ?? '';

let browser: Browser;
let row: Row;
before(async () => {
  browser = await launch();
  // KEDA, or the demo in its place, sends requests every few seconds.
  for (const deadline = Date.now() + 30_000; ; ) {
    const { workloads } = await get<{ workloads: Row[] }>('workloads');
    if (workloads[0] !== undefined) {
      row = workloads[0];
      return;
    }
    if (Date.now() > deadline) throw new Error('no ScaledObject is requested');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
});
after(() => browser.close());

async function get<Answer>(path: string): Promise<Answer> {
  const response = await fetch(`${address}/api/v1/${path}`);
  assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`);
  return (await response.json()) as Answer;
}

const own = () => `workloads/${row.namespace}/${row.name}`;

test('every view of the scaler is shown, accessible and without a fault', async () => {
  const views: [string, string][] = [
    ['#/workloads', '.cards tbody tr'],
    ['#/fleet', '.grid-frame canvas'],
    [workloadLink('why', row), '[data-testid=explanation]'],
    [workloadLink('what-if', row), '[data-testid=outcome]'],
    ['#/cost', '.cards tfoot, .notice'],
  ];
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [hash, ready] of views) {
      const { page, faults, close } = await open(browser, `${address}/${hash}`, { colorScheme });
      await page.locator(ready).first().waitFor();
      await page.locator('.connection.live').waitFor();
      assert.deepEqual(await axeFindings(page), [], hash);
      assert.deepEqual(faults, [], hash);
      await close();
    }
  }
});

test('the page has the fleet of the API', async () => {
  const fleet = await get<Fleet>('fleet');
  const { page, close } = await open(browser, `${address}/#/fleet`);
  const gpus = fleet.gpu.state.length;
  const nodes = fleet.nodes.length;
  await page
    .locator('p', { hasText: `${nodes} node${nodes === 1 ? '' : 's'}, ${gpus} GPU` })
    .waitFor();
  await close();
});

// Answers once the first step is recorded: 15 s after KEDA's, or the demo's, first request.
async function pastExplanation(): Promise<Explanation> {
  const path = `${own()}/explanation?trigger=${encodeURIComponent(row.trigger)}`;
  for (const deadline = Date.now() + 60_000; ; ) {
    const { at } = await get<Explanation>(path);
    const response = await fetch(`${address}/api/v1/${path}&at=${at}`);
    if (response.status === 200) return (await response.json()) as Explanation;
    if (Date.now() > deadline) throw new Error(await response.text());
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

test('the explanation of an instant is the API’s and the CLI’s, byte by byte', async () => {
  const past = await pastExplanation();
  const at = Math.ceil(past.at * 1000 + 1); // in milliseconds; the API rounds to them
  const { page, close } = await open(browser, `${address}/${workloadLink('why', row, at / 1000)}`);
  await page.locator('[data-testid=explanation]').waitFor();
  assert.equal(await page.locator('[data-testid=explanation]').textContent(), past.text);
  if (program !== '') {
    // The status that the CLI reads is up to a second old, which is minutes of the demo's clock.
    while ((await get<{ now: number }>('status')).now * 1000 < at) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const flags = ['--server', address, '--trigger', row.trigger, '--at', new Date(at).toISOString()];
    const printed = execFileSync(program, ['explain', `${row.namespace}/${row.name}`, ...flags], {
      encoding: 'utf8',
    });
    assert.ok(printed.includes(past.text.trimEnd()), `${printed}\nlacks\n${past.text}`);
  }
  await close();
});

test('What if shows the GPU-hours of the API', async () => {
  await pastExplanation();
  const { page, close } = await open(browser, 'about:blank');
  const answered = page.waitForResponse((one) => one.url().includes('/what-if?'));
  await page.goto(`${address}/${workloadLink('what-if', row)}&target=${row.target / 2}`);
  const answer = (await (await answered).json()) as WhatIf;
  await page.locator('[data-testid=outcome]').waitFor();
  const text = (value: number | null) =>
    value === null ? '–' : value.toLocaleString('en-US', { maximumFractionDigits: 3 });
  const cells = page.locator('[data-testid=outcome] tbody tr').first().locator('td');
  const shown = (await cells.allTextContents()).slice(0, 2);
  assert.deepEqual(shown, [text(answer.happened.gpu_hours), text(answer.would.gpu_hours)]);
  assert.ok((answer.happened.gpu_hours ?? 0) > 0, 'the replicas of the record hold GPUs');
  await close();
});
