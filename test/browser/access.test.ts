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
