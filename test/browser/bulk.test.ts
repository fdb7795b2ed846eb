import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { removeDirectory, slipway, temporaryDirectory } from "#test/support/slipway.ts";
import { cli, inspect, openShared } from "./support.ts";

// The list of runs as a tool: sorted, filtered by duration, and many runs acted on at once.

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => removeDirectory(directory));

const shell = (script: string) => ({ container: { image: "busybox", command: ["sh", "-c", script] } });

/** Runs of one label, so that a filter leaves them alone. */
async function start(team: string, runs: Readonly<Record<string, string>>): Promise<void> {
  const objects = Object.entries(runs).map(([name, script]) => ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: `${team}-${name}`, labels: { team } },
    spec: { steps: { work: shell(script) } },
  }));
  const file = join(directory, `${team}.yaml`);
  await writeFile(file, objects.map((one) => JSON.stringify(one)).join("\n---\n"));
  const { code, err } = await cli("apply", "-f", file);
  expect(code, err).toBe(0);
}

const names = (page: Page): Promise<string[]> => page.locator("tbody .name a").allTextContents();
const ofTeam = (team: string, more = ""): Promise<Page> =>
  openShared(`/runs?filter=${encodeURIComponent(`label:team=${team} ${more}`.trim())}`);
const dialog = (page: Page) => page.getByRole("dialog");
const selectedRegion = (page: Page) => page.getByRole("region", { name: "Selected runs" });

test("the list is sorted by a click or a key on a heading, and the address has the order", async () => {
  await start("sorted", { b: "true", c: "exit 1", a: "sleep 600" });
  const page = await ofTeam("sorted");
  await page.getByRole("row", { name: /Failed sorted-c/ }).waitFor();
  await page.getByRole("row", { name: /Succeeded sorted-b/ }).waitFor();
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await expect.poll(() => names(page)).toEqual(["sorted-a", "sorted-b", "sorted-c"]);
  await page.getByRole("columnheader", { name: "Name" }).and(page.locator("[aria-sort=ascending]")).waitFor();
  await page.getByRole("button", { name: "Name", exact: true }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => names(page)).toEqual(["sorted-c", "sorted-b", "sorted-a"]);
  expect(page.url()).toContain("sort=-name");
  await page.reload();
  await expect.poll(() => names(page)).toEqual(["sorted-c", "sorted-b", "sorted-a"]);
  await page.getByRole("button", { name: "State", exact: true }).click();
  await expect.poll(() => names(page)).toEqual(["sorted-c", "sorted-a", "sorted-b"]);
  await page.getByRole("button", { name: "Duration", exact: true }).click();
  await expect.poll(async () => (await names(page))[0]).toBe("sorted-a");
});

test("runs are filtered by duration, and one that gets longer appears", async () => {
  await start("timed", { short: "true", long: "sleep 600" });
  const page = await ofTeam("timed", "duration>8s");
  await page.getByRole("link", { name: "timed-long" }).waitFor();
  expect(await page.getByRole("link", { name: "timed-short" }).count()).toBe(0);
  await page.getByRole("searchbox").fill("label:team=timed duration<8s");
  await page.getByRole("link", { name: "timed-short" }).waitFor();
  await expect.poll(() => page.getByRole("link", { name: "timed-long" }).count()).toBe(0);
});

test("selected runs are canceled, retried and deleted with the mouse; each says what came of it", async () => {
  await start("mouse", { one: "sleep 600", two: "sleep 600", failed: "exit 1", done: "true" });
  const page = await ofTeam("mouse");
  for (const row of [/Running mouse-one/, /Running mouse-two/, /Failed mouse-failed/, /Succeeded mouse-done/])
    await page.getByRole("row", { name: row }).waitFor();
  await page.getByRole("checkbox", { name: "Select all runs that are loaded" }).click();
  await selectedRegion(page).getByText("4 selected").waitFor();
  await selectedRegion(page).getByRole("button", { name: "Cancel 2" }).click();
  await dialog(page).getByText("mouse-done left alone: has ended").waitFor();
  expect(await dialog(page).getByText("is canceled").count()).toBe(2);
  await dialog(page).getByRole("button", { name: "Cancel 2 runs" }).click();
  await dialog(page).getByText("2 of 2 done").waitFor();
  expect(await dialog(page).getByText("cancel accepted").count()).toBe(2);
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await page.getByRole("row", { name: /Canceled mouse-one/ }).waitFor();
  await selectedRegion(page).getByText("2 selected").waitFor();
  await selectedRegion(page).getByRole("button", { name: "Retry 1" }).click();
  await dialog(page).getByRole("button", { name: "Retry 1 run" }).click();
  await dialog(page).getByText("retry accepted").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await page.getByRole("checkbox", { name: "Select mouse-one" }).click();
  await page.getByRole("checkbox", { name: "Select mouse-failed" }).click({ modifiers: ["Shift"] });
  await selectedRegion(page)
    .getByRole("button", { name: /^Delete/ })
    .click();
  await dialog(page)
    .getByRole("button", { name: /^Delete \d runs$/ })
    .click();
  await dialog(page)
    .getByText(/^\d of \d done$/)
    .waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.getByRole("link", { name: "mouse-one" }).count()).toBe(0);
});

test("the same by keyboard only, and a run that has not ended is stopped by its deletion", async () => {
  const mark = join(directory, "alive");
  await start("keys", { a: "true", b: `trap "" HUP; while :; do date > ${mark}; sleep 0.2; done`, c: "exit 1" });
  const page = await ofTeam("keys");
  await page.getByRole("row", { name: /Running keys-b/ }).waitFor();
  await page.getByRole("row", { name: /Failed keys-c/ }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("s");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("S");
  await selectedRegion(page).getByText("3 selected").waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(() => selectedRegion(page).count()).toBe(0);
  await page.keyboard.press("s");
  await page.keyboard.press("k");
  await page.keyboard.press("s");
  await page.keyboard.press("k");
  await page.keyboard.press("s");
  await selectedRegion(page).getByText("3 selected").waitFor();
  await page.keyboard.press("x");
  await page
    .locator(":focus")
    .and(page.getByRole("button", { name: "Cancel 1" }))
    .waitFor();
  for (let presses = 0; presses < 2; presses += 1) await page.keyboard.press("Tab");
  await page
    .locator(":focus")
    .and(page.getByRole("button", { name: "Delete 3" }))
    .waitFor();
  await page.keyboard.press("Enter");
  await dialog(page).getByText("keys-b has not ended: is stopped without its final steps, and deleted").waitFor();
  const sure = dialog(page).getByRole("button", { name: "Delete 3 runs" });
  for (let presses = 0; presses < 4 && !(await sure.evaluate((one) => one === document.activeElement)); presses += 1)
    await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await dialog(page).getByText("3 of 3 done").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("No run matches the filter").waitFor();
  const { out } = await cli("get", "workflows", "-l", "team=keys", "-o", "name");
  expect(out).toBe("");
  await writeFile(mark, "");
  // Its process is gone: nothing writes any more.
  await expect
    .poll(
      async () => {
        await writeFile(mark, "");
        await new Promise((resolve) => setTimeout(resolve, 600));
        return await readFile(mark, "utf8");
      },
      { timeout: 20_000 },
    )
    .toBe("");
});

test("an ended run is deleted from its page, which keeps what it shows", async () => {
  await start("page", { gone: "true" });
  const page = await openShared("/runs/workflow/default/page-gone");
  await page.getByRole("treeitem", { name: /Succeeded.*work/ }).waitFor();
  await page.getByRole("button", { name: "Delete page-gone" }).click();
  await dialog(page).getByText("Workflow default/page-gone is deleted").waitFor();
  await dialog(page).getByRole("button", { name: "Delete 1 run" }).click();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await page.getByText("This run has been deleted.").waitFor();
  await page.getByRole("treeitem", { name: /work/ }).waitFor();
});

test("a viewer is refused, run by run, with the server's reason; a link of another user asks first", async () => {
  await start("viewed", { a: "exit 1", b: "exit 1" });
  const kubeconfig = join(directory, "vera.kubeconfig");
  const made = await cli("credential", "create", "--user", "vera", "--role", "viewer", "--to", kubeconfig);
  expect(made.code, made.err).toBe(0);
  const { out } = await slipway(["ui", "-o", "json", "--kubeconfig", kubeconfig]);
  const { link } = JSON.parse(out) as { readonly link: string };
  const page = await openShared();
  await page.getByRole("row").nth(1).waitFor();
  await page.goto(link);
  await page.getByText(/this link logs in as "vera"/).waitFor();
  await page.getByRole("button", { name: "Log in with the link" }).click();
  await page.getByRole("link", { name: "System" }).click();
  await page.getByText("vera", { exact: true }).waitFor();
  await page.goto(`${inject("server").url}/slipway/runs?filter=label%3Ateam%3Dviewed`);
  await page.getByRole("row", { name: /Failed viewed-a/ }).waitFor();
  await page.getByRole("row", { name: /Failed viewed-b/ }).waitFor();
  await page.getByRole("checkbox", { name: "Select all runs that are loaded" }).click();
  for (const action of ["Retry", "Delete"]) {
    await selectedRegion(page)
      .getByRole("button", { name: `${action} 2` })
      .click();
    await dialog(page)
      .getByRole("button", { name: `${action} 2 runs` })
      .click();
    await dialog(page).getByText("0 of 2 done, 2 failed").waitFor();
    expect(
      await dialog(page)
        .getByText(/failed: .*"vera" cannot (?:create|delete)/)
        .count(),
    ).toBe(2);
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await selectedRegion(page).getByText("2 selected").waitFor();
  }
});

test("the selection and its question fit every screen and theme", async () => {
  await start("look", { a: "exit 1", b: "true" });
  const page = await openShared("/runs?filter=label%3Ateam%3Dlook&sort=name", {
    reducedMotion: "reduce",
    bypassCSP: true,
  });
  await page.getByRole("row", { name: /Succeeded look-b/ }).waitFor();
  await page.getByRole("row", { name: /Failed look-a/ }).waitFor();
  await page.getByRole("checkbox", { name: "Select all runs that are loaded" }).click();
  await inspect(page, "selected runs");
  await page.setViewportSize({ width: 1280, height: 800 });
  await selectedRegion(page).getByRole("button", { name: "Retry 1" }).click();
  await dialog(page).getByText("failed steps run again").waitFor();
  await inspect(page, "question about several runs");
});
