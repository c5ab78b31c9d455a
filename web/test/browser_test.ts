// The page in Chromium over made-up answers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { Explanation, Fleet, History, NodeDetail, WhatIf, Workloads } from '../src/api_types.ts';
import { type Measure, shadeOf } from '../src/fleet_model.ts';
import { durationText, numberText } from '../src/text.ts';
import { axeFindings, launch, measures, open, type Opened } from './browser.ts';
import { FakeApi } from './fake_api.ts';

const FOLDER = process.env['GPUSCALER_WEB_DIST'] ?? 'dist';
const WHY = '#/why/chat/llama-70b';
const SHADES = 6; // colours of utilization and memory
const HUES = 8; // colours of owners and vendors
const MARKED_AT = Date.UTC(2026, 10, 30, 3, 0, 1) / 1000;
const VIEWS: [string, string][] = [
  ['#/workloads', '.cards tbody tr'],
  ['#/fleet', '.grid-frame canvas'],
  [WHY, '.explanation pre'],
  ['#/what-if/chat/llama-70b', '[data-testid=outcome]'],
  ['#/cost', '.cards tfoot'],
];

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

// Runs `body` with a server of its own; fails on errors of scripts and on CSP violations.
function pageTest(
  name: string,
  body: (api: FakeApi, open: (hash: string, options?: object) => Promise<Page>) => Promise<void>,
): void {
  test(name, async () => {
    const api = new FakeApi(FOLDER);
    await api.start();
    const opened: Opened[] = [];
    try {
      await body(api, async (hash, options = {}) => {
        const one = await open(browser, `${api.address}/${hash}`, options);
        opened.push(one);
        return one.page;
      });
      for (const { faults } of opened) assert.deepEqual(faults, []);
    } finally {
      for (const one of opened) await one.close();
      await api.stop();
    }
  });
}

async function streamOpen(api: FakeApi, page: Page): Promise<void> {
  await page.locator('.connection.live').waitFor();
  assert.ok(api.streams > 0);
}

for (const colorScheme of ['light', 'dark'] as const) {
  pageTest(`every view is accessible, ${colorScheme}`, async (_api, load) => {
    for (const [hash, ready] of VIEWS) {
      const page = await load(hash, { colorScheme });
      await page.locator(ready).first().waitFor();
      assert.deepEqual(await axeFindings(page), [], hash);
      await page.context().close();
    }
  });
}

pageTest('trouble is first, and an event changes the row', async (api, load) => {
  const page = await load('#/workloads');
  const rows = page.locator('.cards tbody tr');
  await rows.first().waitFor();
  assert.equal(await rows.count(), 10);
  assert.match((await rows.nth(0).textContent()) ?? '', /reranker.*1 replica is unreadable/s);
  assert.match((await rows.nth(1).textContent()) ?? '', /ocr.*unknown.*UNAVAILABLE/s);
  await streamOpen(api, page);
  const cell = page.locator('tr', { hasText: 'llama-70b' }).locator('[data-label=value]');
  const shown = await cell.textContent();
  const other = setInterval(() => api.push(), 100);
  try {
    await page.waitForFunction(
      ([was]) =>
        [...document.querySelectorAll('tr')]
          .find((row) => row.textContent?.includes('llama-70b'))
          ?.querySelector('[data-label=value]')?.textContent !== was,
      [shown],
    );
  } finally {
    clearInterval(other);
  }
});

pageTest('an instant shows the explanation word for word, and its link does too', async (api, load) => {
  const page = await load(WHY);
  await page.locator('.chart .u-over').first().waitFor();
  const over = page.locator('.chart .u-over').first();
  const box = (await over.boundingBox())!;
  await over.click({ position: { x: box.width * 0.3, y: box.height / 2 } });
  await page.locator('h2', { hasText: 'Explanation at' }).waitFor();
  const at = new URL(page.url()).hash.match(/at=([\d.]+)/)?.[1];
  assert.ok(at !== undefined, page.url());
  const answer = (await (
    await fetch(`${api.address}/api/v1/workloads/chat/llama-70b/explanation?at=${at}`)
  ).json()) as Explanation;
  const text = page.locator('[data-testid=explanation]');
  await page.waitForFunction(
    (want) => document.querySelector('[data-testid=explanation]')?.textContent === want,
    answer.text,
  );
  const link = await page.locator('a', { hasText: 'link to this instant' }).getAttribute('href');
  const again = await load(link!);
  await again.locator('[data-testid=explanation]').waitFor();
  assert.equal(await again.locator('[data-testid=explanation]').textContent(), answer.text);
  assert.equal(await text.textContent(), answer.text);
});

pageTest('the keyboard chooses instants, views and nodes', async (_api, load) => {
  const page = await load(WHY);
  const chart = page.locator('.chart [role=application]').first();
  await chart.waitFor();
  await page.locator('.chart .u-over').first().waitFor();
  await chart.focus();
  await page.keyboard.press('ArrowLeft');
  await page.locator('h2', { hasText: 'Explanation at' }).waitFor();
  await page.keyboard.press('2');
  const grid = page.locator('.grid-frame');
  await grid.waitFor();
  await grid.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.locator('.panel h2', { hasText: 'gpu-0001' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('gpu-0005');
  await page.locator('text=1 of 24 nodes').waitFor();
});

async function answerOf<Answer>(api: FakeApi, path: string): Promise<Answer> {
  return (await (await fetch(`${api.address}/api/v1/${path}`)).json()) as Answer;
}

pageTest('the panel of a node has all that the API has of its GPUs, without a mouse', async (api, load) => {
  const page = await load('#/fleet');
  await page.locator('.grid-frame canvas').waitFor();
  await page.locator('.grid-frame').focus();
  const shown = async (name: string) => {
    await page.locator('.panel h2', { hasText: name }).waitFor();
    await page.locator('.panel tbody').first().waitFor();
    const texts = await page.locator('.panel tbody').allInnerTexts();
    const { gpus } = await answerOf<NodeDetail>(api, `fleet/${name}`);
    assert.equal(texts.length, gpus.length);
    gpus.forEach((gpu, index) => {
      for (const part of [gpu.model, gpu.uuid, ...gpu.pods, gpu.gap]) {
        assert.ok(texts[index]!.includes(part), `${texts[index]} lacks ${part}`);
      }
    });
    return { texts, gpus };
  };
  await page.keyboard.press('Enter');
  const first = await shown('gpu-0000');
  assert.ok(first.gpus.some((gpu) => gpu.pods.length > 0));
  for (const text of first.texts) assert.match(text, /, 400 W, 51 °C/);
  // No GPU of this node is read.
  for (let step = 0; step < 7; step++) await page.keyboard.press('ArrowRight');
  const stale = await shown('gpu-0007');
  for (const { gap } of stale.gpus) assert.equal(gap, 'no reading for 32 s');
  for (const text of stale.texts) assert.doesNotMatch(text, /W,|°C/);
  assert.equal(await page.locator('.panel [title]').count(), 0);
  assert.deepEqual(await axeFindings(page), []);
});

pageTest('a held GPU at 0 is named as such, and its filter shows the nodes with one', async (api, load) => {
  const page = await load('#/fleet');
  const chip = page.locator('.chip', { hasText: 'held, at 0' });
  await chip.waitFor();
  const { nodes, gpu } = await answerOf<Fleet>(api, 'fleet');
  let first = 0;
  const held = nodes.filter(({ gpus }) => gpu.state.slice(first, (first += gpus)).includes('h'));
  assert.ok(held.length > 0 && held.length < nodes.length);
  assert.equal(await chip.locator('b').textContent(), String(gpu.state.split('h').length - 1));
  await chip.click();
  await page.locator('p', { hasText: `${held.length} of ${nodes.length} nodes` }).waitFor();
  await page.locator('button', { hasText: /^table$/ }).click();
  await page.locator('th', { hasText: 'held, at 0' }).waitFor();
});

// The pixels of the grid, how many of them have the colours `--NAME-0` and so on, and the colours of
// the legend's swatches as indices of these.
async function drawnGrid(page: Page, name: string, colours: number) {
  return page.evaluate(
    ([prefix, length]) => {
      const canvas = document.querySelector<HTMLCanvasElement>('.grid-frame canvas')!;
      const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
      const counts = new Map<string, number>();
      const pixels: string[] = [];
      for (let at = 0; at < data.length; at += 4) {
        const colour = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
        if (at % 16 === 0) pixels.push(colour);
      }
      const style = getComputedStyle(document.documentElement);
      const palette = Array.from({ length }, (_, index) => {
        const hex = style.getPropertyValue(`--${prefix}-${index}`).trim();
        const channels = [1, 3, 5].map((from) => Number.parseInt(hex.slice(from, from + 2), 16));
        return `rgb(${channels.join(', ')})`;
      });
      return {
        pixels: pixels.join(),
        drawn: palette.map((colour) => counts.get(colour) ?? 0),
        legend: [...document.querySelectorAll('.legend .swatch')].map((one) =>
          palette.indexOf(getComputedStyle(one).backgroundColor),
        ),
      };
    },
    [name, colours] as const,
  );
}

pageTest('each colour of Fleet draws the grid anew, in the colours of its legend', async (api, load) => {
  const page = await load('#/fleet');
  await page.locator('.grid-frame canvas').waitFor();
  const { gpu, owners, vendors } = await answerOf<Fleet>(api, 'fleet');
  // The colours that the GPUs of these states need.
  const used = (states: string, of: (index: number) => number) =>
    [...new Set([...gpu.state].flatMap((state, index) => (states.includes(state) ? [of(index)] : [])))]
      .sort((a, b) => a - b);
  const hidden = owners.length - 1 - HUES;
  assert.ok(hidden > 0, 'some owners share a colour');
  const wanted: [Measure, string, number[]][] = [
    ['utilization', '0 %100 %', used('b', (index) => shadeOf(gpu.utilization[index], SHADES))],
    ['memory', '0 %100 %', used('bhs', (index) => shadeOf(gpu.memory[index], SHADES))],
    [
      'owner',
      `${owners.slice(1, HUES + 1).map((name) => ` ${name}`).join('')}and ${hidden} more, in the same colours`,
      used('bhs', (index) => (gpu.owner[index]! - 1) % HUES),
    ],
    ['vendor', vendors.map((name) => ` ${name}`).join(''), used('bhs', (index) => gpu.vendor[index]!)],
  ];
  const pictures = new Set<string>();
  const colour = page.locator('label', { hasText: /^colour/ }).locator('select');
  for (const [measure, legend, colours] of wanted) {
    const isShade = measure === 'utilization' || measure === 'memory';
    if ((await colour.inputValue()) !== measure) {
      await measures(page, 'fleet-draw'); // forgets the former ones
      await colour.selectOption(measure);
    }
    await page.waitForFunction(() => performance.getEntriesByName('fleet-draw', 'measure').length > 0);
    const shown = page.locator('.legend');
    assert.equal(await shown.textContent(), legend, measure);
    if (isShade) {
      assert.equal(await shown.getAttribute('aria-label'), `Colours: ${measure} from 0 to 100 %`);
    }
    const grid = isShade ? await drawnGrid(page, 'shade', SHADES) : await drawnGrid(page, 'hue', HUES);
    const names = isShade ? SHADES : measure === 'owner' ? HUES : vendors.length;
    assert.deepEqual(grid.legend, Array.from({ length: names }, (_, index) => index), measure);
    const drawn = grid.drawn.flatMap((pixels, index) => (pixels > 0 ? [index] : []));
    assert.ok(colours.length > 1, measure);
    assert.deepEqual(drawn, colours, `${measure}: ${grid.drawn.join()}`);
    pictures.add(grid.pixels);
  }
  assert.equal(pictures.size, wanted.length, 'no picture equals another');
});

pageTest('a row of Workloads has why it is active, without a mouse', async (api, load) => {
  const page = await load('#/workloads');
  const { workloads } = await answerOf<Workloads>(api, 'workloads');
  await page.locator('.cards tbody tr').first().waitFor();
  for (const { name, active, active_because } of workloads) {
    const row = page.locator('.cards tbody tr', { has: page.locator(`b:text-is("${name}")`) });
    const cell = row.locator('[data-label=active]');
    assert.match(await cell.innerText(), new RegExp(`^(unknown|${active ? 'yes' : 'no'})\\s+${active_because}$`));
  }
});

pageTest('a gap is drawn as a gap', async (_api, load) => {
  const page = await load(WHY);
  await page.locator('.chart .u-over').first().waitFor();
  const found = await page.evaluate(() => {
    // The line of the value, in the columns of its gap: no pixel has its colour.
    const canvas = document.querySelector<HTMLCanvasElement>('.chart canvas')!;
    const context = canvas.getContext('2d')!;
    const over = document.querySelector<HTMLElement>('.chart .u-over')!;
    const left = Number.parseFloat(over.style.left) * devicePixelRatio;
    const width = Number.parseFloat(over.style.width) * devicePixelRatio;
    const columns = (from: number, to: number) => {
      const x = Math.round(left + width * from);
      const { data } = context.getImageData(x, 20, Math.round(width * (to - from)), canvas.height - 60);
      let accent = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (data[at]! < 60 && Math.abs(data[at + 1]! - 110) < 12 && data[at + 2]! > 100) accent++;
      }
      return accent;
    };
    // The gap is 25 to 20 minutes before the end of the hour.
    return { gap: columns(0.6, 0.65), before: columns(0.5, 0.55) };
  });
  assert.ok(found.before > 20, JSON.stringify(found));
  assert.equal(found.gap, 0, JSON.stringify(found));
});

pageTest('Why marks rollouts and scale events, in the chart and in its list', async (api, load) => {
  // A fixed time, so that no mark hides another.
  api.ahead = MARKED_AT - Date.now() / 1000;
  api.startedAt = MARKED_AT - 80_000;
  const page = await load('#/workloads');
  await page.locator('.cards tbody tr').first().waitFor();
  const answered = page.waitForResponse((one) => one.url().includes('/history?'));
  await page.goto(`${api.address}/${WHY}`);
  const { marks, points } = (await (await answered).json()) as History;
  const texts = (kind: string) =>
    marks.filter((mark) => mark.kind === kind).map((mark) => `${kind}: ${mark.text}`);
  assert.equal(texts('rollout').length, 1);
  assert.ok(texts('scale').length > 0);

  await page.locator('summary', { hasText: 'Events' }).click();
  const items = page.locator('.marks li');
  await items.first().waitFor();
  const listed = (await items.allTextContents()).reverse(); // the newest one is first
  const signs = { scale: '▲', rollout: '◆' };
  for (const [kind, sign] of Object.entries(signs)) {
    const own = listed.filter((text) => text.includes(`${kind}:`));
    assert.deepEqual(own.map((text) => text.replace(/^[\d:]+ \S /, '')), texts(kind));
    for (const text of own) assert.match(text, new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${sign} `));
  }

  // The signs are above the lines of the first chart, each in the colour of its item.
  const first = points[0]!;
  const length = points.at(-1)! - first;
  await page.locator('.chart .u-over').first().waitFor();
  const pixels = await page.evaluate(
    (instants) => {
      const canvas = document.querySelector<HTMLCanvasElement>('.chart canvas')!;
      const over = document.querySelector<HTMLElement>('.chart .u-over')!;
      const px = (text: string) => Number.parseFloat(text) * devicePixelRatio;
      const [left, width, top] = [px(over.style.left), px(over.style.width), px(over.style.top)];
      const ground = canvas.getContext('2d')!;
      return instants.map(({ kind, part }) => {
        const sample = document.querySelector(`.mark-${kind}`)!;
        const colour = getComputedStyle(sample).color.match(/\d+/g)!.map(Number);
        const x = Math.round(left + width * part) - 4;
        const { data } = ground.getImageData(x, top - 12, 9, 11);
        let found = 0;
        for (let at = 0; at < data.length; at += 4) {
          const isSame = colour.every((value, channel) => Math.abs(value - data[at + channel]!) < 24);
          if (data[at + 3]! > 200 && isSame) found++;
        }
        return found;
      });
    },
    [
      ...marks
        .filter(({ kind }) => kind === 'rollout' || kind === 'scale')
        .map(({ kind, at }) => ({ kind, part: (at - first) / length })),
      { kind: 'rollout', part: (marks.find(({ kind }) => kind === 'scale')!.at - first) / length },
    ],
  );
  assert.equal(pixels.pop(), 0, 'a scale event has no sign of a rollout');
  for (const count of pixels) assert.ok(count > 5, pixels.join());
});

pageTest('tables have what charts and the grid show', async (_api, load) => {
  const page = await load(WHY);
  await page.locator('summary', { hasText: 'Table of these charts' }).click();
  const rows = page.locator('details .tall tbody tr');
  await rows.first().waitFor();
  assert.ok((await rows.count()) > 100);
  assert.ok((await rows.filter({ hasText: 'no reading' }).count()) > 10);
  await page.keyboard.press('2');
  await page.locator('button', { hasText: /^table$/ }).click();
  await page.locator('button', { hasText: 'gpu-0003' }).click();
  await page.locator('.panel td', { hasText: 'GiB' }).first().waitFor();
  assert.equal(await page.locator('.beside > .scroll tbody tr').count(), 24);
  assert.deepEqual(await axeFindings(page), []);
});

pageTest('What if shows the numbers of the API', async (api, load) => {
  const page = await load('#/what-if/chat/llama-70b');
  await page.locator('[data-testid=outcome]').waitFor();
  const answered = page.waitForResponse((response) => response.url().includes('target=40'));
  await page.locator('input[name=target]').fill('40');
  const answer = (await (await answered).json()) as WhatIf;
  assert.ok(answer.would.gpu_hours !== answer.happened.gpu_hours);
  const { happened, would, changes } = answer;
  const row = (name: string, was: number, is: number, text: (value: number) => string) => {
    const change = is === was ? 'the same' : `${is > was ? '+' : '−'}${text(Math.abs(is - was))}`;
    return [name, text(was), text(is), change].join(' | ');
  };
  const above = [happened.seconds_above_target!, would.seconds_above_target!] as const;
  assert.ok(above[0] !== above[1] && changes.happened !== changes.would);
  const want = [
    row('GPU-hours', happened.gpu_hours!, would.gpu_hours!, numberText),
    row('time above target', ...above, durationText),
    row('direction changes', changes.happened!, changes.would!, numberText),
  ];
  await page.waitForFunction(
    ([wanted]) => {
      const rows = [...document.querySelectorAll('[data-testid=outcome] tbody tr')];
      const text = rows.map((one) => [...one.children].map((cell) => cell.textContent).join(' | '));
      return text.join('\n') === wanted;
    },
    [want.join('\n')],
  );
  assert.equal(await page.locator('p.note').textContent(), answer.note);
  assert.ok(api.requests.some((request) => request.includes('what-if') && request.includes('target=40')));
});

pageTest('without history the page states it, and explains this moment', async (api, load) => {
  api.behaviour.hasHistory = false;
  const page = await load(WHY);
  await page.locator('text=History is off').waitFor();
  assert.match((await page.locator('[data-testid=explanation]').textContent()) ?? '', /ScaledObject chat\/llama-70b/);
  const whatIf = await load('#/what-if/chat/llama-70b');
  await whatIf.locator('text=History is off').waitFor();
  assert.ok(!api.requests.some((request) => request.includes('history')));
});

pageTest('a gone explanation is no error', async (api, load) => {
  api.behaviour.isGone = true;
  const at = Math.floor(Date.now() / 1000) - 600;
  const page = await load(`${WHY}?at=${at}`);
  await page.locator('text=This explanation is gone').waitFor();
  await page.locator('text=the oldest one kept is').waitFor();
  await page.locator('button', { hasText: /^now$/ }).click();
  await page.locator('[data-testid=explanation]').waitFor();
});

pageTest('a token is requested, sent, and kept in this tab', async (api, load) => {
  api.behaviour.token = 'secret';
  const page = await load('#/fleet');
  await page.locator('h1', { hasText: 'Token needed' }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.locator('input[type=password]').fill('wrong');
  await page.keyboard.press('Enter');
  await page.locator('text=The token was refused').waitFor();
  await page.locator('input[type=password]').fill('secret');
  await page.keyboard.press('Enter');
  await page.locator('.grid-frame').waitFor();
  await streamOpen(api, page);
  await page.reload();
  await page.locator('.grid-frame').waitFor();
  assert.deepEqual(await page.context().cookies(), []);
});

pageTest('a scaler that stops and restarts is noticed', async (api, load) => {
  const page = await load('#/workloads');
  await streamOpen(api, page);
  await api.stop();
  await page.locator('.connection.lost').waitFor();
  await page.locator('text=Shown is the state of').waitFor();
  assert.equal(await page.locator('.cards tbody tr').count(), 10);
  api.startedAt = Date.now() / 1000 - 1;
  await api.start();
  await page.locator('button', { hasText: 'Try now' }).click();
  await page.locator('.connection.live').waitFor();
  await page.locator('text=The scaler restarted at').waitFor();
});

pageTest('a broken answer is an error and no empty page', async (api, load) => {
  api.behaviour.broken = true;
  const page = await load('#/workloads');
  await page.locator('.notice.error', { hasText: 'The answer of the scaler is broken.' }).first().waitFor();
  api.behaviour.broken = false;
  await page.locator('.cards tbody tr').first().waitFor();
});

pageTest('an unavailable scaler shows its own words', async (api, load) => {
  api.behaviour.failing = true;
  const page = await load('#/cost');
  await page.locator('.notice.error', { hasText: 'no snapshot of the fleet yet' }).first().waitFor();
});

pageTest('a slow scaler is waited for', async (api, load) => {
  const page = await load('#/workloads');
  await streamOpen(api, page);
  api.behaviour.isHolding = true;
  await page.keyboard.press('5');
  await page.locator('text=Loading cost …').waitFor();
  await page.locator('text=the scaler is slow, still waiting').waitFor();
  api.release();
  await page.locator('.cards tfoot').waitFor();
});

pageTest('empty and partial fleets have words of their own', async (api, load) => {
  api.behaviour.nodes = 0;
  api.behaviour.workloads = 0;
  api.behaviour.hasCost = false;
  api.behaviour.partial = 'the agent at 10.0.0.7 has never connected';
  const page = await load('#/fleet');
  await page.locator('text=No GPU node is known').waitFor();
  await page.locator('text=the agent at 10.0.0.7 has never connected').waitFor();
  await page.keyboard.press('1');
  await page.locator('text=KEDA has requested no ScaledObject yet').waitFor();
  await page.keyboard.press('5');
  await page.locator('text=Costs are not counted').waitFor();
});

pageTest('nothing is wider than 400 px', async (_api, load) => {
  for (const [hash, ready] of VIEWS) {
    const page = await load(hash, { viewport: { width: 400, height: 800 } });
    await page.locator(ready).first().waitFor();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 400, `${hash}: ${width} px`);
    await page.context().close();
  }
});

pageTest('times are the browser’s, or UTC', async (_api, load) => {
  const page = await load('#/workloads');
  const clock = page.locator('.clock');
  await clock.waitFor();
  const minutes = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));
  const local = minutes((await clock.textContent())!);
  await page.locator('button', { hasText: 'local' }).click();
  await page.locator('button', { hasText: 'UTC' }).waitFor();
  const utc = minutes((await clock.textContent())!);
  assert.ok([60, 61, 120, 121].includes((local - utc + 1440) % 1440), `${local} ${utc}`);
});

pageTest('the switch of the theme stays after a reload', async (_api, load) => {
  const page = await load('#/workloads', { colorScheme: 'light' });
  const ground = () =>
    page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  const button = page.locator('button[aria-label$="theme: change"]');
  await button.click();
  await button.click();
  assert.notEqual(await ground(), light);
  await page.reload();
  await button.waitFor();
  assert.notEqual(await ground(), light);
});

pageTest('the theme of the system is followed until one is chosen', async (_api, load) => {
  const page = await load('#/workloads', { colorScheme: 'light' });
  const theme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
  const button = page.locator('button[aria-label$="theme: change"]');
  await button.waitFor();
  assert.equal(await theme(), 'light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.waitForFunction(() => document.documentElement.dataset['theme'] === 'dark');
  assert.equal(await theme(), 'dark');
  await button.click();
  await page.locator('button', { hasText: /^light$/ }).waitFor();
  assert.equal(await theme(), 'light');
});

pageTest('40,000 GPUs take few draw calls and DOM nodes, and an update few bytes', async (api, load) => {
  api.behaviour.nodes = 5000;
  api.behaviour.workloads = 500;
  const page = await load('#/fleet');
  await page.locator('.grid-frame canvas').waitFor();
  await streamOpen(api, page);
  await page.waitForFunction(() => performance.getEntriesByName('fleet-draw', 'measure').length > 0);
  await measures(page, 'fleet-draw');
  api.bytes = 0;
  api.push();
  await page.waitForFunction(() => performance.getEntriesByName('fleet-draw', 'measure').length > 0);
  const draws = await measures(page, 'fleet-draw');
  assert.ok(draws.length > 0 && draws.length <= 2, `${draws.length} draws of one update`);
  for (const { detail } of draws) assert.ok((detail as number) <= 12, `${detail as number} draw calls`);
  assert.ok(api.bytes < 400_000, `${api.bytes} bytes`);
  const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);
  assert.ok((await nodes()) < 200, `${await nodes()} DOM nodes of the fleet`);
  await page.keyboard.press('1');
  await page.locator('.cards tbody tr').first().waitFor();
  assert.ok((await nodes()) < 4000, `${await nodes()} DOM nodes of 500 workloads`);
  api.bytes = 0;
  api.push();
  assert.ok(api.bytes < 4000, `${api.bytes} bytes of one update of 3 workloads`);
});

// Counts what scripts draw on canvases from now on.
async function countDrawCalls(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const prototype = CanvasRenderingContext2D.prototype as unknown as Record<string, unknown>;
    const counted = window as unknown as { drawCalls: number };
    counted.drawCalls = 0;
    for (const name of ['clearRect', 'fill', 'fillRect', 'fillText', 'stroke', 'strokeRect', 'strokeText']) {
      const original = prototype[name] as (...all: unknown[]) => unknown;
      prototype[name] = function (this: unknown, ...all: unknown[]) {
        counted.drawCalls++;
        return original.apply(this, all);
      };
    }
  });
  return () =>
    page.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const counted = window as unknown as { drawCalls: number };
      const calls = counted.drawCalls;
      counted.drawCalls = 0;
      return calls;
    });
}

pageTest('an update of Why, What if and Cost takes few draw calls, DOM nodes and bytes', async (api, load) => {
  api.behaviour.nodes = 5000;
  api.behaviour.workloads = 500;
  // An event of a minute later; returns when its time and all answers to it are shown.
  const update = async (page: Page, requests: string[]) => {
    const answers = requests.map((part) =>
      page.waitForResponse(async (one) => one.url().includes(part) && (await one.finished()) === null),
    );
    const clock = await page.locator('.clock').textContent();
    api.bytes = 0;
    api.ahead += 60;
    api.push();
    await page.waitForFunction(
      ([was]) => document.querySelector('.clock')?.textContent !== was,
      [clock],
    );
    await Promise.all(answers);
  };
  const bounded = async (
    page: Page,
    what: string,
    calls: number,
    most: { calls: number; nodes: number; bytes: number },
  ) => {
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    const found = { calls, nodes, bytes: api.bytes };
    for (const name of ['calls', 'nodes', 'bytes'] as const) {
      assert.ok(found[name] <= most[name], `${what}: ${found[name]} ${name}, at most ${most[name]}`);
    }
  };

  const why = await load(`${WHY}?range=24h`);
  await why.locator('.chart .u-over').nth(2).waitFor();
  await streamOpen(api, why);
  const whyCalls = await countDrawCalls(why);
  await whyCalls();
  await measures(why, 'chart-draw');
  await update(why, ['/history?', '/explanation?']);
  await why.waitForFunction(() => performance.getEntriesByName('chart-draw', 'measure').length >= 3);
  const drawn = await whyCalls();
  assert.equal((await measures(why, 'chart-draw')).length, 3);
  assert.ok(drawn > 0);
  await bounded(why, 'Why', drawn, { calls: 600, nodes: 1500, bytes: 80_000 });
  await why.context().close();

  const whatIf = await load('#/what-if/chat/llama-70b?range=24h');
  await whatIf.locator('[data-testid=outcome]').waitFor();
  await whatIf.locator('.chart .u-over').waitFor();
  await streamOpen(api, whatIf);
  const whatIfCalls = await countDrawCalls(whatIf);
  await whatIfCalls();
  await update(whatIf, []);
  await bounded(whatIf, 'What if', await whatIfCalls(), { calls: 0, nodes: 1000, bytes: 4000 });
  await measures(whatIf, 'chart-draw');
  api.bytes = 0;
  await whatIf.locator('input[name=target]').fill('40');
  await whatIf.waitForFunction(() => performance.getEntriesByName('chart-draw', 'measure').length > 0);
  const replayed = await whatIfCalls();
  assert.ok(replayed > 0);
  await bounded(whatIf, 'What if, replayed', replayed, { calls: 120, nodes: 1000, bytes: 20_000 });
  await whatIf.context().close();

  const cost = await load('#/cost');
  await cost.locator('.cards tfoot').waitFor();
  await cost.locator('button', { hasText: /^node$/ }).click();
  await cost.locator('.cards tbody th', { hasText: 'gpu-' }).first().waitFor();
  await streamOpen(api, cost);
  const costCalls = await countDrawCalls(cost);
  await update(cost, ['/cost?']);
  await bounded(cost, 'Cost', await costCalls(), { calls: 0, nodes: 5000, bytes: 350_000 });
});
