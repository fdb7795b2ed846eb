import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rounds } from "#test/support/rounds.ts";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { ask, judge, median, note, printFigures, quantile, stopwatch } from "./figures.ts";
import { type PlainPages, startPlainPages } from "./plain-pages.ts";
import { openPage } from "./support.ts";

// Budgets of logs, against a real server, a real program and its real log.

const followedSeconds = rounds(2, 60);
const stepsOf = `apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: NAME}
spec:
  steps:
    prints: {container: {image: node, command: [node, -e, PROGRAM]}}
`;
const long = `let text = ""; for (let i = 1; i <= 100000; i += 1) text += "line " + i + " of a log that is long\\n"; process.stdout.write(text);`;
const fast = `let n = 0; const start = Date.now(); const timer = setInterval(() => { const due = Math.min((Date.now() - start) * 20, 20000 * ${followedSeconds}); let text = ""; while (n < due) text += "line " + ++n + " of a log that grows\\n"; process.stdout.write(text); if (n >= 20000 * ${followedSeconds}) clearInterval(timer); }, 20);`;

let directory: string;
let server: TestServer;
let plain: PlainPages;
let session: Pick<BrowserContextOptions, "storageState">;
const cli = (...args: string[]) => slipway(args, { env: { SLIPWAY_DATA_DIR: server.directory } });

async function start(name: string, program: string, ...options: readonly string[]): Promise<void> {
  const file = join(directory, `${name}.yaml`);
  await writeFile(file, stepsOf.replace("NAME", name).replace("PROGRAM", JSON.stringify(program)));
  const { code, err } = await cli("run", file, ...options);
  expect(code, err).toBe(0);
}

beforeAll(async () => {
  directory = await temporaryDirectory();
  [server, plain] = await Promise.all([startServer(join(directory, "data")), startPlainPages()]);
  await start("long", long);
  const { link } = JSON.parse((await cli("ui", "-o", "json")).out) as { readonly link: string };
  const page = await openPage(link);
  await page.getByRole("row").nth(1).waitFor();
  session = { storageState: await page.context().storageState() };
});
afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await plain.close();
  await removeDirectory(directory);
  printFigures("Logs");
});

const openLog = (name: string, script = ""): Promise<Page> =>
  openPage(`${server.url}/slipway/logs/workflow/default/${name}?step=prints`, session, stopwatch + script);
const body = `document.querySelector("[role=region][aria-label]")`;
const hasLine = `(${body}?.textContent ?? "").includes("of a log")`;

test("a log of 100,000 lines opens, scrolls and is searched", async () => {
  const open = await median(async () => {
    const page = await openLog("long", `window.usable = until(() => ${hasLine});`);
    const usable = await ask(page, "usable");
    await page.context().close();
    return usable;
  });
  const list = await openPage(plain.list(5000), {}, stopwatch);
  const bareOpen = await ask(list, `performance.getEntriesByName("first-contentful-paint")[0].startTime`);
  note({ what: "log of 100,000 lines, open", budget: 300, baseline: bareOpen, found: open });

  const page = await openLog("long");
  await ask(page, `until(() => ${hasLine})`);
  const frames = rounds(40, 240);
  const scrolls = (element: string) =>
    `frameTimes(${frames}, (at) => ${element}.scrollBy(0, at % 40 < 20 ? -700 : 700))`;
  const p95 = (page: Page, element: string) =>
    median(async () => quantile(await ask<number[]>(page, scrolls(element)), 0.95));
  const [scroll, bareScroll] = [await p95(page, body), await p95(list, "document.documentElement")];
  note({ what: "log scroll, p95 of frames", budget: 20, baseline: bareScroll, found: scroll });
  judge(scroll, 12 * bareScroll);

  const found = await median(async () => {
    await page.getByRole("searchbox", { name: /Search/ }).fill("");
    const digit = Math.floor(Math.random() * 9) + 1;
    const count = `[...document.querySelectorAll("[role=status]")].some((one) => one.textContent.includes("1,111"))`;
    await ask(page, `until(() => !(${count}))`);
    const type = `(() => { const input = document.querySelector(".log-tools input[type=search]"); input.value = "line ${digit}${digit}"; input.dispatchEvent(new InputEvent("input", { bubbles: true })); })()`;
    return ask(page, `took(() => ${type}, () => ${count})`);
  });
  const bareFetch = await median(() =>
    ask(
      page,
      `(async () => { let done = false; return took(() => fetch("/version").then(() => { done = true; }), () => done); })()`,
    ),
  );
  note({ what: "log search, 100,000 lines", budget: 150, baseline: bareFetch, found });
  // The page waits for the end of typing, and the server reads every line.
  judge(found, 20 * (bareFetch + bareOpen));
});

test("a log that grows by 20,000 lines a second is followed", async () => {
  const empty = await openPage(plain.empty, {}, stopwatch);
  const still = Math.max(...(await ask<number[]>(empty, "frameTimes(60, () => undefined)")));
  await start("fast", fast, "--detach");
  const page = await openLog("fast");
  await ask(page, `until(() => ${hasLine})`);
  const worst: number[] = [];
  const devtools = await page.context().newCDPSession(page);
  let most = 0;
  const end = performance.now() + followedSeconds * 1000;
  while (performance.now() < end) {
    worst.push(...(await ask<number[]>(page, "frameTimes(30, () => undefined)")));
    most = Math.max(most, (await devtools.send("Runtime.getHeapUsage")).usedSize / 1e6);
  }
  await page.getByText(`line ${20_000 * followedSeconds} of a log`).waitFor();
  note({
    what: `log following, ${followedSeconds} s, longest frame`,
    budget: 100,
    baseline: still,
    found: Math.max(...worst),
  });
  note({ what: "log following, memory", budget: 150, baseline: 0, found: most, unit: "MB" });
  expect(most).toBeLessThan(150);
  judge(quantile(worst, 0.95), 10 * still);
});
