import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { openPage } from "./support.ts";

let directory: string;
let server: TestServer;
const cli = (...args: string[]) => slipway(args, { env: { SLIPWAY_DATA_DIR: server.directory } });
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "data"));
});
afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

/** Runs a script as a workflow's only step, and opens its log. */
async function logOf(name: string, script: string) {
  const steps = { print: { container: { image: "busybox", command: ["sh", "-c", script] } } };
  const file = join(directory, `${name}.json`);
  const workflow = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name }, spec: { steps } };
  await writeFile(file, JSON.stringify(workflow));
  const ran = await cli("run", file, "--tail", "0");
  expect(ran.code, ran.err).toBe(0);
  const { out } = await cli("ui", "-o", "json");
  const page = await openPage((JSON.parse(out) as { readonly link: string }).link);
  await page.getByRole("row", { name: new RegExp(name) }).waitFor();
  await page.goto(`${server.url}/slipway/logs/workflow/default/${name}?step=print`);
  return { page, body: page.getByRole("region", { name: /^Lines of the log/ }) };
}

const lines = 130_000;

test("a log of files that were rotated opens at its end, is searched and downloaded as a whole", async () => {
  const script = `seq -f 'line %.0f is as long as lines of logs usually are, and says as little' ${lines}; printf '\\033[31mbad\\033[0m\\tnews' >&2`;
  const { page, body } = await logOf("long", script);
  const last = body.locator(`[data-line="${lines + 1}"]`);
  await last.getByText("bad").waitFor();
  expect(await last.getByTitle("Standard error").count()).toBe(1);
  expect(await body.locator(`[data-line="${lines}"]`).getByTitle("Standard error").count()).toBe(0);
  await page.getByLabel("Search the log").fill("LINE 1299");
  // 1299, 12990 to 12999, 129900 to 129999.
  await page.getByRole("status").getByText(/^111$/).waitFor();
  await page.getByRole("button", { name: "Next match" }).click();
  await body.locator('[data-line="1299"]').getByText("line 1299").waitFor();
  await page.getByText("More").click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  const saved = join(directory, "saved.log");
  await download.saveAs(saved);
  const bytes = await readFile(saved, "utf8");
  expect(bytes.split("\n")).toHaveLength(lines + 1);
  expect(bytes.endsWith("\x1b[31mbad\x1b[0m\tnews")).toBe(true);
});

test("wrapped lines stay under the reader's eyes", async () => {
  const script = `for i in $(seq 300); do if [ $((i % 3)) = 0 ]; then echo "row $i $(seq -s ' ' $((i * 3)))"; else echo "row $i"; fi; done`;
  const { page, body } = await logOf("wrapped", script);
  await body.locator('[data-line="300"]').waitFor();
  await page.getByRole("button", { name: "Wrap", exact: true }).click();
  /** How far the first visible line reaches above the edge, and which it is. */
  const place = () =>
    body.evaluate((element) => {
      const { top } = element.getBoundingClientRect();
      const rows = [...element.querySelectorAll<HTMLElement>(".log-line")];
      const first = rows.find((row) => row.getBoundingClientRect().bottom > top + 2);
      return { line: Number(first?.dataset["line"]), top: Math.round((first?.getBoundingClientRect().top ?? 0) - top) };
    });
  const bottom = await body.locator('[data-line="300"]').boundingBox();
  const box = await body.boundingBox();
  expect(Math.round((bottom?.y ?? 0) + (bottom?.height ?? 0))).toBeLessThanOrEqual(
    Math.round((box?.y ?? 0) + (box?.height ?? 0)),
  );
  for (let turn = 0; turn < 20; turn += 1) {
    const before = await place();
    const moved = await body.evaluate(async (element, line) => {
      const topOf = () => element.querySelector(`[data-line="${line}"]`)?.getBoundingClientRect().top ?? Number.NaN;
      const start = topOf();
      element.scrollTop -= 60;
      // Drawn, measured, and drawn again.
      for (let frame = 0; frame < 4; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
      return Math.round(topOf() - start);
    }, before.line);
    expect(moved, `line ${before.line}`).toBe(60);
  }
});
