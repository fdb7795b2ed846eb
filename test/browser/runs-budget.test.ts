import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { layOut } from "#app/ui/page/graph/layout.ts";
import { drawnGraph } from "#app/ui/page/graph/model.ts";
import { rounds } from "#test/support/rounds.ts";
import { type BigServer, startBigServer } from "./big-server.ts";
import { ask, judge, median, note, printFigures, quantile, stopwatch } from "./figures.ts";
import { type PlainPages, startPlainPages } from "./plain-pages.ts";
import { openPage } from "./support.ts";

// Budgets of lists, runs and graphs, with as many runs as a busy year has.

const manyRuns = rounds(1000, 10_000);
let server: BigServer;
let plain: PlainPages;
let session: Pick<BrowserContextOptions, "storageState">;
beforeAll(async () => {
  [server, plain] = await Promise.all([startBigServer(), startPlainPages()]);
  await server.createRuns("run", 1000);
  const page = await openPage(await server.link());
  await page.getByRole("row").nth(1).waitFor();
  session = { storageState: await page.context().storageState() };
});
afterAll(async () => {
  await server.close();
  await plain.close();
  printFigures("Lists, runs and graphs");
});

const open = (path: string, script = ""): Promise<Page> => openPage(server.url + path, session, stopwatch + script);
const openPlain = (url: string, script = ""): Promise<Page> => openPage(url, {}, stopwatch + script);
const close = async (page: Page): Promise<void> => page.context().close();

/** Told a little after the paint. */
const firstPaint = `(async () => {
  const paints = () => performance.getEntriesByName("first-contentful-paint");
  await until(() => paints().length > 0);
  return paints()[0].startTime;
})()`;
const hasRow = `document.querySelector("tbody a") !== null`;
const watchForRow = `window.usable = until(() => ${hasRow});`;

async function opening(openIt: () => Promise<Page>): Promise<{ readonly paint: number; readonly usable: number }> {
  const page = await openIt();
  const figures = { usable: await ask(page, "usable"), paint: await ask(page, firstPaint) };
  await close(page);
  return figures;
}

async function judgeOpening(runs: number): Promise<void> {
  const found: { paint: number[]; usable: number[] } = { paint: [], usable: [] };
  const least: { paint: number[]; usable: number[] } = { paint: [], usable: [] };
  await median(async () => {
    const [own, bare] = [
      await opening(() => open("/runs", watchForRow)),
      await opening(() => openPlain(plain.list(1000), watchForRow)),
    ];
    for (const [from, to] of [[own, found] as const, [bare, least] as const]) {
      to.paint.push(from.paint);
      to.usable.push(from.usable);
    }
    return 0;
  });
  const [paint, barePaint] = [quantile(found.paint, 0.5), quantile(least.paint, 0.5)];
  const [usable, bareUsable] = [quantile(found.usable, 0.5), quantile(least.usable, 0.5)];
  note({ what: `first contentful paint, ${runs} runs`, budget: 300, baseline: barePaint, found: paint });
  note({ what: `Runs usable, ${runs} runs`, budget: 600, baseline: bareUsable, found: usable });
  judge(usable, 12 * bareUsable);
}

test("Runs paints and is usable about as soon as a plain list", async () => {
  await judgeOpening(1000);
  if (manyRuns === 1000) return;
  await server.createRuns("more", manyRuns - 1000);
  await judgeOpening(manyRuns);
});

test("a filter answers at once, and a change is on the screen", async () => {
  for (let index = 0; index < 10; index += 1) await server.setPhase(`run-${index * 90}`, "Failed");
  const page = await open("/runs", watchForRow);
  await ask(page, "usable");
  const bare = await median(() =>
    ask(
      page,
      `(async () => { let done = false; return took(() => fetch("/version").then(() => { done = true; }), () => done); })()`,
    ),
  );
  const rows = (count: number): string =>
    `document.querySelectorAll("tbody tr:not([aria-hidden])").length === ${count}`;
  const filter = await median(async () => {
    const took = await ask(page, `took(() => byText("Failed").click(), () => ${rows(10)})`);
    await ask(page, `took(() => byText("Failed").click(), () => !(${rows(10)}))`);
    return took;
  });
  note({ what: `filter, ${manyRuns} runs`, budget: 100, baseline: bare, found: filter });

  const names = await ask<string[]>(
    page,
    `[...document.querySelectorAll("tbody a")].slice(0, 8).map((one) => one.textContent)`,
  );
  const listener = await openPlain(plain.stream);
  await listener.getByText("-", { exact: true }).waitFor();
  const [own, least]: [number[], number[]] = [[], []];
  for (let index = 0; index < rounds(16, 200); index += 1) {
    const [name = "", phase] = [
      names[index % names.length],
      index % 16 < 8 ? ("Running" as const) : ("Succeeded" as const),
    ];
    own.push(
      await changeOnScreen(
        page,
        `[...document.querySelectorAll("tbody a")].find((one) => one.textContent === ${JSON.stringify(name)})?.closest("tr").textContent.startsWith("${phase}")`,
        () => server.setPhase(name, phase),
      ),
    );
    least.push(await changeOnScreen(listener, `told.textContent === "${index}"`, async () => plain.tell(`${index}`)));
  }
  for (const [p, budget] of [[0.5, 100] as const, [0.99, 300] as const])
    note({
      what: `phase change to pixels, p${p * 100}`,
      budget,
      baseline: quantile(least, p),
      found: quantile(own, p),
    });
  // The server collects changes for a tenth of a second.
  judge(quantile(own, 0.5), 100 + 20 * quantile(least, 0.5));
});

/** From the call that changes it to the frame after the one in which the page has it. */
async function changeOnScreen(page: Page, isSo: string, change: () => Promise<void>): Promise<number> {
  const seen = ask(page, `until(() => ${isSo}).then(wallClock)`);
  const start = performance.timeOrigin + performance.now();
  await change();
  return (await seen) - start;
}

/** Ranks of fifty steps, each after one or two of the rank before. */
function wideSteps(count: number): Readonly<Record<string, readonly string[]>> {
  const before = (index: number) =>
    index < 50 ? [] : [`s${index - 50}`, ...(index % 19 < 12 ? [`s${index - 50 + (index % 50 === 49 ? -1 : 1)}`] : [])];
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, before(index)]));
}

/** A hundred steps side by side, a gate, and so on. */
function foldedSteps(count: number): Readonly<Record<string, readonly string[]>> {
  const steps: Record<string, readonly string[]> = {};
  for (let stage = 0; stage < count / 100; stage += 1) {
    const beside = Array.from({ length: 99 }, (_, index) => `s${stage}-${index}`);
    for (const id of beside) steps[id] = stage === 0 ? [] : [`gate${stage - 1}`];
    steps[`gate${stage}`] = beside;
  }
  return steps;
}

test("a graph of a thousand steps is laid out, drawn and moved", async () => {
  const steps = wideSteps(1000);
  await server.createRun("wide", steps);
  const model = Object.entries(steps).map(([id, dependencies]) => ({ id, name: id, dependencies }));
  const graph = drawnGraph(model, new Set());
  const layout = await median(async () => {
    const start = performance.now();
    layOut(graph);
    return performance.now() - start;
  });
  const page = await open("/runs/workflow/default/wide?lens=graph");
  const graphIsThere = `document.querySelector("[role=application] [role=img]") !== null`;
  await ask(page, `until(() => ${graphIsThere})`);
  const draw = await median(async () => {
    await ask(page, `took(() => byText("Steps").click(), () => !(${graphIsThere}))`);
    return ask(page, `took(() => byText("Graph").click(), () => ${graphIsThere})`);
  });
  await page.getByRole("button", { name: "Zoom in" }).click({ clickCount: 4 });
  const pan = await median(async () => {
    const wheel = `document.querySelector("[role=application] svg").dispatchEvent(new WheelEvent("wheel", { deltaX: at % 120 < 60 ? 40 : -40, deltaY: 9, bubbles: true, cancelable: true }))`;
    return quantile(await ask<number[]>(page, `frameTimes(${rounds(40, 240)}, (at) => ${wheel})`), 0.95);
  });
  const empty = await openPlain(plain.empty);
  const still = await median(async () =>
    quantile(await ask<number[]>(empty, `frameTimes(${rounds(40, 240)}, () => undefined)`), 0.95),
  );
  const bare = await median(() =>
    ask(empty, `took(() => document.body.append(document.createElement("hr")), () => true)`),
  );
  note({ what: `graph layout, 1000 steps, ${graph.edges.length} edges`, budget: 30, baseline: 0, found: layout });
  note({ what: "graph first draw", budget: 150, baseline: bare, found: draw });
  note({ what: "graph pan, p95 of frames", budget: 33, baseline: still, found: pan });
  judge(pan, 8 * still);
});

test.runIf(manyRuns > 1000)("a graph of ten thousand steps opens folded", async () => {
  await server.createRun("huge", foldedSteps(10_000));
  const isThere = `document.querySelector("[role=application] [role=img]") !== null`;
  const found = await median(async () => {
    const page = await open("/runs/workflow/default/huge?lens=graph", `window.usable = until(() => ${isThere});`);
    const usable = await ask(page, "usable");
    await close(page);
    return usable;
  });
  const bare = await median(async () => (await opening(() => openPlain(plain.list(1000), watchForRow))).usable);
  note({ what: "graph of 10,000 steps, opened folded", budget: 1000, baseline: bare, found });
  judge(found, 40 * bare);
});

test("a thousand changes a second leave the page answering", async () => {
  const page = await open("/runs", watchForRow);
  await ask(page, "usable");
  const press = `took(() => { window.before = document.activeElement; document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: at % 20 < 10 ? "j" : "k", bubbles: true })); }, () => document.activeElement !== before)`;
  const presses = (count: number) =>
    ask<number[]>(
      page,
      `(async () => { const all = []; for (let at = 0; at < ${count}; at += 1) all.push(await ${press}); return all; })()`,
    );
  await presses(2);
  const quiet = quantile(await presses(10), 0.95);
  const names = Array.from({ length: 1000 }, (_, index) => `run-${index}`);
  let changes = 0;
  const start = performance.now();
  const end = start + rounds(1500, 60_000);
  const changing = (async () => {
    while (performance.now() < end) {
      // As many as the clock says, so that a slow machine makes them later and not fewer.
      const due = Math.min(50, Math.floor(performance.now() - start) - changes);
      if (due <= 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await Promise.all(
        Array.from({ length: Math.max(0, due) }, () => {
          const at = changes++;
          return server.setPhase(names[at % 1000] ?? "", at % 2000 < 1000 ? "Running" : "Succeeded");
        }),
      );
    }
  })();
  const busy: number[] = [];
  while (performance.now() < end) busy.push(...(await presses(5)));
  await changing;
  const rate = Math.round((1000 * changes) / (performance.now() - start));
  note({ what: `input answered at ${rate} changes/s, p95`, budget: 100, baseline: quiet, found: quantile(busy, 0.95) });
  judge(quantile(busy, 0.95), 15 * quiet);
});

test("opening and leaving runs keeps no memory", async () => {
  const page = await open("/runs", watchForRow);
  await ask(page, "usable");
  const devtools = await page.context().newCDPSession(page);
  const heap = async (): Promise<number> => {
    for (let round = 0; round < 3; round += 1) await devtools.send("HeapProfiler.collectGarbage");
    return (await devtools.send("Runtime.getHeapUsage")).usedSize;
  };
  const visit = async (index: number): Promise<void> => {
    await page.evaluate(`document.querySelectorAll("tbody a")[${index % 8}].click()`);
    await page.getByRole("tab", { name: "Graph" }).click();
    await page.getByRole("application").waitFor();
    await page.goBack();
    await ask(page, `until(() => ${hasRow})`);
  };
  for (let index = 0; index < 8; index += 1) await visit(index);
  const before = await heap();
  const visits = rounds(16, 50);
  for (let index = 0; index < visits; index += 1) await visit(index);
  const after = await heap();
  note({ what: `heap after ${visits} runs`, budget: 110, baseline: 100, found: (100 * after) / before, unit: "%" });
  expect(after).toBeLessThan(1.1 * before);
});
