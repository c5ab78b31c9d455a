// Measures the page over a fleet of 5,000 nodes and 500 workloads; prints JSON. tools/bench web.
import { statSync } from 'node:fs';
import type { CDPSession, Page } from 'playwright-core';
import { launch, measures, open } from './browser.ts';
import { FakeApi } from './fake_api.ts';

const FOLDER = process.env['GPUSCALER_WEB_DIST'] ?? 'dist';
const UPDATES = 10;
const FRAMES = 60; // that a scroll takes
const SCROLL_PX = 40; // a frame
const VIEWS: [string, string, string][] = [
  ['Fleet', '#/fleet', '.grid-frame canvas'],
  ['Workloads', '#/workloads', '.cards tbody tr'],
  ['Why', '#/why/chat/llama-70b?range=24h', '.chart .u-over'],
  ['What if', '#/what-if/chat/llama-70b?range=24h', '[data-testid=outcome]'],
  ['Cost', '#/cost', '.cards tfoot'],
];
const PAINT = new Set(['Paint', 'PrePaint', 'Layerize', 'Commit', 'UpdateLayoutTree', 'Layout']);

interface Spent {
  script_ms: number;
  paint_ms: number; // style, layout and paint
  bytes: number;
}

async function scriptMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return 1000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? 0);
}

const browser = await launch();
const api = new FakeApi(FOLDER);
api.behaviour.nodes = 5000;
api.behaviour.workloads = 500;
await api.start();

async function settled(page: Page): Promise<void> {
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
}

// Returns what `work` costs.
async function spent(page: Page, session: CDPSession, work: () => Promise<void>): Promise<Spent> {
  api.bytes = 0;
  const before = await scriptMs(session);
  await browser.startTracing(page, { categories: ['devtools.timeline'] });
  await work();
  await settled(page);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: { name: string; dur?: number }[];
  };
  const paint = traceEvents.filter(({ name }) => PAINT.has(name));
  return {
    script_ms: (await scriptMs(session)) - before,
    paint_ms: paint.reduce((sum, { dur }) => sum + (dur ?? 0), 0) / 1000,
    bytes: api.bytes,
  };
}

function each(all: Spent, count: number): Spent {
  return {
    script_ms: all.script_ms / count,
    paint_ms: all.paint_ms / count,
    bytes: all.bytes / count,
  };
}

// Returns what a frame of a scroll through the grid costs.
async function scrolled(page: Page, session: CDPSession): Promise<Spent> {
  await measures(page, 'fleet-draw');
  const all = await spent(page, session, () =>
    page.evaluate(
      async ([frames, pixels]) => {
        const grid = document.querySelector('.grid-frame')!;
        for (let frame = 0; frame < frames; frame++) {
          grid.scrollTop += pixels;
          await new Promise((resolve) => requestAnimationFrame(resolve));
        }
      },
      [FRAMES, SCROLL_PX] as const,
    ),
  );
  const draws = (await measures(page, 'fleet-draw')).length;
  if (draws < FRAMES * 0.9) throw new Error(`${draws} draws of ${FRAMES} frames`);
  return each(all, draws);
}

interface Result {
  first: Spent;
  update: Spent;
  scroll?: Spent; // the Fleet view alone
  dom_nodes: number;
}
const results: Record<string, Result> = {};
for (const [name, hash, ready] of VIEWS) {
  const { page, close } = await open(browser, 'about:blank');
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const first = await spent(page, session, async () => {
    await page.goto(`${api.address}/${hash}`);
    await page.locator(ready).first().waitFor();
    await page.locator('.connection.live').waitFor();
  });
  const update = await spent(page, session, async () => {
    for (let count = 0; count < UPDATES; count++) {
      const before = api.requests.length;
      api.push(50);
      if (name === 'Fleet') {
        while (api.requests.length === before) await page.waitForTimeout(10);
        await page.waitForTimeout(150);
      }
      await settled(page);
    }
  });
  results[name] = {
    first,
    update: each(update, UPDATES),
    ...(name === 'Fleet' ? { scroll: await scrolled(page, session) } : {}),
    dom_nodes: await page.evaluate(() => document.querySelectorAll('*').length),
  };
  await close();
}
await browser.close();
await api.stop();
const page_bytes = statSync(`${FOLDER}/index.html.gz`).size;
console.log(JSON.stringify({ page_bytes, views: results }));
