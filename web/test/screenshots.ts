// Writes the pictures of README and docs: node screenshots.js OUT_DIR. GPUSCALER_WEB is a scaler's
// address. Without it the answers are made up, the pictures are made-up-*.png, and one of 5,000
// nodes is added.
import { mkdirSync } from 'node:fs';
import type { Row } from '../src/api_types.ts';
import { launch, open } from './browser.ts';
import { FakeApi } from './fake_api.ts';

const out = process.argv[2] ?? 'screenshots';
const real = process.env['GPUSCALER_WEB'];
const kind = real === undefined ? 'made-up' : 'web';
mkdirSync(out, { recursive: true });
const api = new FakeApi(process.env['GPUSCALER_WEB_DIST'] ?? 'dist');
if (real === undefined) await api.start();
const address = real ?? api.address;
const browser = await launch();

async function shoot(
  name: string,
  hash: string,
  ready: string,
  colorScheme: 'light' | 'dark',
  viewport = { width: 1280, height: 780 },
  prefix = kind,
): Promise<void> {
  const { page, close } = await open(browser, `${address}/${hash}`, {
    colorScheme,
    viewport,
    timezoneId: 'UTC',
  });
  await page.locator(ready).first().waitFor();
  await page.locator('.connection.live').waitFor();
  if (hash.startsWith('#/why')) {
    const over = page.locator('.chart .u-over').first();
    const box = (await over.boundingBox())!;
    await over.click({ position: { x: box.width * 0.72, y: box.height / 2 } });
    await page.locator('h2', { hasText: 'Explanation at' }).waitFor();
    await page.locator('[data-testid=explanation], .explanation .notice').first().waitFor();
  }
  await page.waitForTimeout(400); // fonts and charts are drawn
  await page.screenshot({ path: `${out}/${prefix}-${name}.png` });
  await close();
}

const answer = await fetch(`${address}/api/v1/workloads`);
const first = ((await answer.json()) as { workloads: Row[] }).workloads;
const shown = first.find((row) => row.name === 'llama-70b') ?? first[0];
const own = shown === undefined ? 'none/none' : `${shown.namespace}/${shown.name}`;
await shoot('workloads', '#/workloads', '.cards tbody tr', 'light');
await shoot('fleet', '#/fleet', '.grid-frame canvas', 'dark');
await shoot('why', `#/why/${own}`, '.chart .u-over', 'light', { width: 1280, height: 860 });
await shoot('what-if', `#/what-if/${own}?target=40`, '[data-testid=outcome], .notice', 'light');
await shoot('cost', '#/cost', '.cards tfoot, .notice', 'light');
if (real === undefined) {
  api.behaviour.nodes = 5000;
  await shoot('fleet-5000', '#/fleet', '.grid-frame canvas', 'dark', undefined, 'web');
  const phone = { width: 400, height: 800 };
  await shoot('phone', '#/workloads', '.cards tbody tr', 'light', phone);
  await shoot('why-dark', `#/why/${own}`, '.chart .u-over', 'dark', { width: 1280, height: 860 });
}
await browser.close();
await api.stop();
