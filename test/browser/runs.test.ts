import { afterEach, beforeEach, expect, test } from "vitest";
import { FixtureServer, type SampleRun, sampleRuns } from "#app/ui/testing/index.ts";
import { openPage } from "./support.ts";

// Against a server of runs in memory, in which anything can happen at once.

const now = Date.now();
const samples = sampleRuns(now);
let server: FixtureServer;
let url: string;
beforeEach(async () => {
  server = new FixtureServer(samples);
  url = await server.listen();
});
afterEach(async () => {
  await server.close();
});

const named = (name: string): SampleRun => {
  const found = samples.find((run) => run.name === name);
  if (found === undefined) throw new Error(`no sample ${name}`);
  return found;
};

test("a failed run is found by its state, and opens at the step that failed", async () => {
  const page = await openPage(url);
  await page.getByRole("button", { name: /^Failed/ }).click();
  await expect.poll(() => page.getByRole("row").count()).toBe(2);
  await expect.poll(() => page.url()).toContain("filter=phase%3Afailed");
  await page.getByRole("row", { name: /release-41/ }).click();
  await page.getByRole("heading", { level: 1, name: "release-41" }).waitFor();
  await page.getByRole("region", { name: "Step compile" }).getByText("exit code 2: undefined symbol main").waitFor();
  await expect.poll(() => page.getByRole("treeitem", { selected: true }).textContent()).toContain("compile");
  await page.getByRole("tab", { name: "Log" }).click();
  await page.getByText("second line").waitFor();
});

test("the same by keyboard only: filter, list, run, lenses, log, action and back", async () => {
  const page = await openPage(url);
  await page.getByRole("link", { name: "release-42" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("release");
  await expect.poll(() => page.getByRole("row").count()).toBe(3);
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.getByRole("link", { name: "release-42" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("j");
  await page.getByRole("link", { name: "release-41" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "release-41" }).waitFor();
  await page.getByRole("treeitem", { selected: true, name: /compile/ }).waitFor();
  await page.keyboard.press("j");
  await page.getByRole("region", { name: "Step unit" }).waitFor();
  await page.keyboard.press("2");
  const graph = page.getByRole("application", { name: /Graph/ });
  await graph.getByRole("img", { name: "fetch, Succeeded" }).waitFor();
  await graph.focus();
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("region", { name: "Step compile" }).waitFor();
  await page.keyboard.press("3");
  await page.getByRole("button", { name: /^compile, Failed, ran/ }).waitFor();
  await page.keyboard.press("l");
  await page.getByText("second line").waitFor();
  await page.keyboard.press("x");
  await page.keyboard.press("Enter");
  await page
    .getByRole("dialog", { name: "Retry release-41?" })
    .getByLabel(/Comment/)
    .focus();
  await page.keyboard.type("flaky disk");
  await page.keyboard.press("Enter");
  await page.getByText("Retry accepted", { exact: true }).first().waitFor();
  expect(server.actions).toMatchObject([
    { spec: { action: "retry", reason: "flaky disk", target: { name: "release-41" } } },
  ]);
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.getByRole("heading", { level: 1, name: "Runs" }).and(page.locator(":focus")).waitFor();
});

test("changes appear in place, new runs behind a banner, and the focus stays", async () => {
  const page = await openPage(url);
  await page.getByRole("link", { name: "release-42" }).focus();
  server.put({ ...named("release-42"), phase: "Failed" });
  await page.getByRole("row", { name: /Failed release-42/ }).waitFor();
  server.put({ ...named("shop"), name: "shop-2", createdAt: now });
  server.put({ ...named("shop"), name: "shop-3", createdAt: now });
  await page.getByRole("button", { name: "2 new" }).waitFor();
  expect(await page.getByRole("row").nth(1).textContent()).toContain("release-42");
  await page.getByRole("link", { name: "release-42" }).and(page.locator(":focus")).waitFor();
  await page.getByRole("button", { name: "2 new" }).click();
  await expect.poll(() => page.getByRole("row").nth(1).textContent()).toContain("shop-3");
  server.delete("shop-3");
  await expect.poll(() => page.getByRole("row").nth(1).textContent()).toContain("shop-2");
});

test("an open run follows its steps", async () => {
  const page = await openPage(`${url}/runs/workflow/default/nightly-7`);
  await page
    .getByRole("region", { name: "Step approve" })
    .getByRole("button", { name: /Approve/ })
    .waitFor();
  const { steps, ...rest } = named("nightly-7");
  const approved = steps.map((step) =>
    step.id === "approve" ? { ...step, phase: "Succeeded" as const, actions: [] } : step,
  );
  server.put({ ...rest, phase: "Succeeded", steps: approved });
  await page
    .getByRole("treeitem", { name: /approve/ })
    .getByText("Succeeded")
    .waitFor();
  await expect.poll(() => page.getByRole("button", { name: /Approve/ }).count()).toBe(0);
});

test("a lost server leaves the page readable, says so, and is found again", async () => {
  const page = await openPage(`${url}/runs/workflow/default/release-42`);
  await page.getByRole("button", { name: "Cancel release-42", exact: true }).waitFor();
  await server.close();
  await page.getByText("Disconnected").waitFor();
  const cancel = page.getByRole("button", { name: "Cancel release-42", exact: true });
  await expect.poll(() => cancel.isDisabled()).toBe(true);
  await page.getByRole("treeitem", { name: /compile/ }).waitFor();
  server = new FixtureServer(samples);
  await server.listen(Number(new URL(url).port));
  const tryNow = page.getByRole("button", { name: "Try now" });
  // The page may find it by itself before the click.
  await tryNow.click({ timeout: 5000 }).catch(async () => expect(await tryNow.count()).toBe(0));
  await expect.poll(() => page.getByText("Disconnected").count()).toBe(0);
  await expect.poll(() => cancel.isEnabled()).toBe(true);
});

test("a run that does not exist says what was tried and what to do; the palette leads on", async () => {
  const page = await openPage(`${url}/runs/workflow/default/nothing`);
  await page.getByRole("alert").getByText("GET /slipway/runs/workflow/default/nothing").waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("shop");
  await page.getByRole("option", { name: /default\/shop/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByText("Previous run of the same source").waitFor();
});

test("of ten thousand runs only those in sight are elements", async () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({
    ...named("shop"),
    name: `run-${index}`,
    createdAt: now - index,
  }));
  await server.close();
  server = new FixtureServer(many);
  const page = await openPage(await server.listen());
  const list = page.getByRole("region", { name: "List of runs" });
  await page.getByRole("link", { name: "run-0", exact: true }).waitFor();
  for (let round = 0; round < 3; round += 1)
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  expect(await page.getByRole("row").count()).toBeLessThan(80);
  await expect.poll(() => page.getByRole("table").getAttribute("aria-rowcount")).not.toBe("501");
});

test("names with markup and the like are text", async () => {
  const name = `<img src=x onerror="document.title='owned'">\u202eevil\u{1f600}${"long".repeat(200)}`;
  server.put({ ...named("release-41"), message: name, steps: [{ id: name, phase: "Failed", message: name }] });
  const page = await openPage(`${url}/runs/workflow/default/release-41`, { viewport: { width: 360, height: 740 } });
  await page.getByRole("treeitem", { name: /onerror/ }).waitFor();
  await expect.poll(() => page.title()).toBe("release-41 · Slipway");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
});
