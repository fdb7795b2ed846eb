import { afterAll, beforeAll, expect, test } from "vitest";
import { FixtureServer, sampleRuns } from "#app/ui/testing/index.ts";
import { objections, openPage } from "./support.ts";

let server: FixtureServer;
let url: string;
beforeAll(async () => {
  server = new FixtureServer(sampleRuns(Date.now()));
  url = await server.listen();
});
afterAll(async () => {
  await server.close();
});

const views = [
  ["/runs", "release-42"],
  ["/runs?filter=nothing-is-called-so", "No run matches the filter"],
  ["/sources", "nightly"],
  ["/sources/workflow/default/WorkflowTemplate/release", "Median"],
  ["/compare/workflow/default/release-42/release-41", "Longer by"],
  ["/runs/workflow/default/release-42", "lint"],
  ["/runs/workflow/default/release-42?lens=graph", "Whole graph"],
  ["/runs/workflow/default/release-42?lens=timeline", "suspended"],
  ["/runs/workflow/default/gone", "Not found"],
] as const;

test.each((["light", "dark"] as const).flatMap((colorScheme) => [360, 1280].map((width) => ({ colorScheme, width }))))(
  "axe has no objection to any view, $colorScheme at $width px, and none is wider than the screen",
  async ({ colorScheme, width }) => {
    const page = await openPage(url, { colorScheme, viewport: { width, height: 800 }, reducedMotion: "reduce" });
    for (const [path, text] of views) {
      await page.goto(url + path);
      await page.getByText(text, { exact: false }).first().waitFor();
      expect(await objections(page), path).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth"), path).toBe(width);
    }
  },
);

test("axe has no objection to dialogs", async () => {
  const page = await openPage(`${url}/runs/workflow/default/release-42`);
  await page.getByRole("button", { name: "Cancel release-42", exact: true }).click();
  await page.getByRole("dialog").waitFor();
  expect(await objections(page)).toEqual([]);
  await page.getByRole("button", { name: "Keep as it is" }).click();
  for (const open of ["Keyboard shortcuts", "Preferences", /Go to or do anything/] as const) {
    await page.getByRole("button", { name: open }).click();
    await page.getByRole("dialog").waitFor();
    expect(await objections(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  }
});

test("nothing moves where motion is reduced", async () => {
  const page = await openPage(url, { reducedMotion: "reduce" });
  await page.getByText("release-42").waitFor();
  expect(await page.evaluate("document.getAnimations().length")).toBe(0);
});

test("at 200 % zoom every action is still on the page", async () => {
  const page = await openPage(`${url}/runs/workflow/default/release-42`, { viewport: { width: 640, height: 400 } });
  await page.getByRole("button", { name: "Cancel release-42", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Keep as it is" }).click();
  await page.getByRole("tab", { name: "YAML" }).scrollIntoViewIfNeeded();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(640);
});

test("theme and density are remembered", async () => {
  const page = await openPage(url);
  await page.getByRole("button", { name: "Preferences" }).click();
  await page.getByRole("radio", { name: "High contrast" }).check();
  await page.getByRole("radio", { name: "Compact" }).check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.reload();
  await page.getByText("release-42").waitFor();
  expect(await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")).toBe("rgb(0, 0, 0)");
  expect(
    await page
      .getByRole("row")
      .nth(1)
      .evaluate((row) => row.clientHeight),
  ).toBeLessThan(31);
  expect(await objections(page)).toEqual([]);
});
