import { afterAll, beforeAll, expect, test } from "vitest";
import { FixtureServer, sampleRuns } from "#app/ui/testing/index.ts";
import { openPage } from "./support.ts";

// The grid of a source, two runs compared, and what only shows when several of them are there.

let server: FixtureServer;
let url: string;
beforeAll(async () => {
  server = new FixtureServer(sampleRuns(Date.now()));
  url = await server.listen();
});
afterAll(async () => {
  await server.close();
});

test("a source leads to its grid, whose cells lead to the step of that run", async () => {
  const page = await openPage(`${url}/sources`);
  await page.getByRole("link", { name: "release", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "release" }).waitFor();
  await page.getByRole("link", { name: "compile of release-41: Failed, 1m 00s, attempt 3" }).click();
  await page.getByRole("heading", { level: 1, name: "release-41" }).waitFor();
  await page.getByRole("region", { name: "Step compile" }).waitFor();
});

test("the grid by keyboard: one stop for Tab, arrows from cell to cell, c compares with the run before", async () => {
  const page = await openPage(`${url}/sources/workflow/default/WorkflowTemplate/release`);
  await page.getByRole("link", { name: /^fetch of release-42/ }).waitFor();
  await page.keyboard.press("j");
  await page
    .getByRole("link", { name: /^fetch of release-42/ })
    .and(page.locator(":focus"))
    .waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  await page
    .getByRole("link", { name: /^compile of release-41: Failed/ })
    .and(page.locator(":focus"))
    .waitFor();
  await page.keyboard.press("ArrowRight");
  await page
    .getByRole("link", { name: /^compile of release-42/ })
    .and(page.locator(":focus"))
    .waitFor();
  expect(await page.locator('.grid-cell[tabindex="0"]').count()).toBe(1);
  await page.keyboard.press("c");
  await page.getByRole("heading", { level: 1, name: "Compare two runs" }).waitFor();
  await page
    .getByRole("row", { name: /^compile Failed.* Succeeded/ })
    .getByText("phase")
    .waitFor();
  await page.getByLabel("Left").selectOption("release-42");
  await expect.poll(() => page.url()).toMatch(/\/release-42\/release-42$/);
});

test("from a run, keys lead to the run before it and compare both", async () => {
  const page = await openPage(`${url}/runs/workflow/default/release-42?step=lint`);
  await page.getByRole("region", { name: "Step lint" }).waitFor();
  await page.keyboard.press("[");
  await page.getByRole("heading", { level: 1, name: "release-41" }).waitFor();
  await page.getByRole("region", { name: "Step lint" }).waitFor();
  await page.keyboard.press("]");
  await page.getByRole("heading", { level: 1, name: "release-42" }).waitFor();
  await page.getByRole("region", { name: "Step lint" }).waitFor();
  await page.keyboard.press("]");
  await page.getByText("This is the last run of WorkflowTemplate release").first().waitFor();
  await page.keyboard.press("c");
  await page.getByRole("heading", { level: 1, name: "Compare two runs" }).waitFor();
});

test("the steps of a long run are filtered by words and phase; j walks through what is left", async () => {
  const ids = Array.from({ length: 30 }, (_, index) => `unit-${index}`);
  const steps = ids.map((id, index) => ({
    id,
    phase: index % 10 === 3 ? ("Failed" as const) : ("Succeeded" as const),
  }));
  server.put({ name: "long", phase: "Failed", createdAt: Date.now(), steps });
  const page = await openPage(`${url}/runs/workflow/default/long`);
  await page.getByRole("treeitem", { name: /unit-3 / }).waitFor();
  await page.getByRole("button", { name: "Failed 3" }).click();
  await expect.poll(() => page.getByRole("treeitem").count()).toBe(3);
  await page.getByRole("region", { name: "Step unit-3", exact: true }).waitFor();
  await page.getByRole("tree").focus();
  await page.keyboard.press("j");
  await page.getByRole("region", { name: "Step unit-13" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("23");
  await expect.poll(() => page.getByRole("treeitem").count()).toBe(1);
  expect(page.url()).toContain("find=23");
});

test("what loses its place with an update passes the focus on; the palette runs actions of the step", async () => {
  const samples = sampleRuns(Date.now());
  const nightly = samples.find(({ name }) => name === "nightly-7");
  if (nightly === undefined) throw new Error("no sample nightly-7");
  const page = await openPage(`${url}/runs/workflow/default/nightly-7`);
  await page.getByRole("button", { name: "Reject approve of nightly-7" }).focus();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("approve approve");
  await page.getByRole("option", { name: "Approve approve of nightly-7 action" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Approve approve of nightly-7?" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Reject approve of nightly-7" }).focus();
  const steps = nightly.steps.map((step) => ({ ...step, phase: "Succeeded" as const, actions: [] }));
  server.put({ ...nightly, phase: "Succeeded", steps });
  await expect.poll(() => page.getByRole("button", { name: /^Reject/ }).count()).toBe(0);
  await page.getByRole("tabpanel", { name: "Overview" }).and(page.locator(":focus")).waitFor();
});
