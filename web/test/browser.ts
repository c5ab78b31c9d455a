// Chromium, and one page of it that records what must not happen.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  });
}

export interface Opened {
  page: Page;
  // Errors of scripts and violations of the Content-Security-Policy, with their texts.
  faults: string[];
  close: () => Promise<void>;
}

export async function open(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    timezoneId: 'Europe/Berlin',
    locale: 'en-US',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // An answer of 401, 404, 410 or 503 is a line of the browser's, and part of tests.
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAnswer) faults.push(message.text());
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  await page.goto(address);
  return { page, faults, close: () => context.close() };
}

// The serious and critical findings of axe-core, one a line.
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe: checker } = window as unknown as {
      axe: {
        run: (options: object) => Promise<{
          violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
        }>;
      };
    };
    const { violations } = await checker.run({ resultTypes: ['violations'] });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 120)} ${failureSummary}`),
      );
  });
}

// The times of performance.measure(NAME) since the last call, in milliseconds, with their details.
export async function measures(page: Page, name: string): Promise<{ ms: number; detail: unknown }[]> {
  return page.evaluate((one) => {
    const entries = performance.getEntriesByName(one, 'measure') as PerformanceMeasure[];
    performance.clearMeasures(one);
    return entries.map((entry) => ({ ms: entry.duration, detail: entry.detail as unknown }));
  }, name);
}
