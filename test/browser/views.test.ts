import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { cli, openShared } from "./support.ts";

// Logs, approvals, starting and resources against a real server, with content that tries to break out.

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => removeDirectory(directory));

const isPwned = (page: Page): Promise<boolean> => page.evaluate("'pwned' in window");

test("a failed step opens at its error; keys walk, search and select; what the log says does not run", async () => {
  const page = await openShared("/runs/workflow/default/hostile?step=fails");
  await page.getByRole("heading", { level: 2, name: "fails" }).waitFor();
  await page.getByText("exit code 3").first().waitFor();
  await page.keyboard.press("l");
  await page.getByText("It did not work").waitFor();
  await expect.poll(() => page.url()).toMatch(/#L3005$/);
  await page.keyboard.press("/");
  await page.keyboard.type("onerror");
  await page.getByRole("status").filter({ hasText: /^1$/ }).waitFor();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.url()).toMatch(/#L1$/);
  await page.getByText('<img src=x onerror="window.pwned=1">', { exact: false }).waitFor();
  await page.getByRole("button", { name: "Select line 3", exact: true }).click({ modifiers: ["Shift"] });
  await expect.poll(() => page.url()).toMatch(/#L1-L3$/);
  await expect.poll(() => page.getByRole("link", { name: "https://example.com/x" }).count()).toBe(1);
  await page
    .getByRole("button", { name: /show all [\d,]+ characters/ })
    .first()
    .click();
  await page.getByRole("dialog", { name: "Line 3" }).waitFor();
  expect(await isPwned(page)).toBe(false);
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
});

test("a person rejects with a comment from the list of approvals, whose texts are texts", async () => {
  const page = await openShared("/approvals");
  await page.getByText('<b onmouseover="window.pwned=1">Go on?</b>', { exact: false }).waitFor();
  await page.getByRole("button", { name: "Reject ask of hostile" }).click();
  await page.getByLabel(/Comment/).fill("not today");
  await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click();
  await expect.poll(() => page.getByRole("button", { name: "Reject ask of hostile" }).count()).toBe(0);
  expect(await isPwned(page)).toBe(false);
});

test("a document is checked as it is written, tried and started", async () => {
  const page = await openShared("/new");
  const document = page.getByRole("textbox", { name: /^Document/ });
  await document.fill(
    "apiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: pasted}\nspec:\n  stpes: {}\n",
  );
  await page
    .getByRole("button", { name: /^line \d+, column \d+$/ })
    .first()
    .waitFor();
  await page.getByText("Correct the errors first").waitFor();
  const step = "{container: {image: busybox, command: [sh, -c, echo hello]}}";
  await document.fill(
    `apiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: pasted}\nspec: {steps: {greet: ${step}}}\n`,
  );
  await page
    .getByRole("list", { name: /^Steps/ })
    .getByText("greet")
    .waitFor();
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("The server accepts Workflow pasted").first().waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "pasted" }).waitFor();
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("heading", { level: 1, name: "Start" }).waitFor();
  await expect.poll(() => document.inputValue()).toContain("generateName: pasted-");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: /^pasted-/ }).waitFor();
});

test("an object is edited, compared and saved; a change by somebody else in between is shown, not lost", async () => {
  const made = join(directory, "map.yaml");
  const map = (value: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: default}\ndata: {mine: "1", theirs: "${value}"}\n`;
  await writeFile(made, map("1"));
  expect((await cli("apply", made)).code).toBe(0);
  const page = await openShared("/resources/core/ConfigMap/default/shared?tab=edit");
  const text = page.getByLabel("YAML of shared");
  await text.fill((await text.inputValue()).replace('mine: "1"', 'mine: "2"'));
  await page.getByRole("button", { name: "Check and compare" }).click();
  await page.getByRole("region", { name: "Difference" }).getByText('+   mine: "2"').waitFor();
  await writeFile(made, map("7"));
  expect((await cli("apply", made)).code).toBe(0);
  await page.getByRole("button", { name: "Save shared" }).click();
  await page.getByText("The object has changed since you opened it").waitFor();
  await page.getByRole("button", { name: "Edit the stored object" }).click();
  await text.fill((await text.inputValue()).replace('mine: "1"', 'mine: "2"'));
  await page.getByRole("button", { name: "Check and compare" }).click();
  await page.getByRole("button", { name: "Save shared" }).click();
  await page.getByText("Saved. The text above").waitFor();
  await expect.poll(() => text.inputValue()).toMatch(/mine: "2"\n {2}theirs: "7"/);
});
