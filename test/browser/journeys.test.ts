import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { readFile } from "node:fs/promises";
import { removeDirectory, slipway, temporaryDirectory } from "#test/support/slipway.ts";
import { cli, openPage, openShared } from "./support.ts";

// What people come for, from the beginning to the end, against a real server: with the mouse, and by keyboard only.

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => removeDirectory(directory));

async function link(): Promise<string> {
  const { out, err } = await cli("ui", "-o", "json");
  if (out === "") throw new Error(err);
  return (JSON.parse(out) as { readonly link: string }).link;
}

async function start(name: string, step: string): Promise<void> {
  const file = join(directory, `${name}.yaml`);
  const head = `apiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: ${name}}\n`;
  await writeFile(file, `${head}spec:\n  steps:\n    work: ${step}\n`);
  const started = await cli("run", file, "--detach");
  expect(started.code, started.err).toBe(0);
}

/** A step that fails until there is a file. */
const flaky = (file: string): string =>
  `{container: {image: busybox, command: [sh, -c, "seq 40; test -e ${file} || { echo ERROR: no disk; seq 40; exit 7; }"]}}`;

/** Presses Tab until the element has the focus; fails where it never gets it. */
async function tabTo(page: Page, goal: Locator): Promise<void> {
  await goal.waitFor();
  for (let presses = 0; presses < 80; presses += 1) {
    if (await goal.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${goal.toString()}`);
}

async function press(page: Page, goal: Locator, key = "Enter"): Promise<void> {
  await tabTo(page, goal);
  await page.keyboard.press(key);
}

const dialogButton = (page: Page, name: string): Locator =>
  page.getByRole("dialog").getByRole("button", { name, exact: true });

test("a link logs in once; the page follows a run of the command line to its end, with its log", async () => {
  const address = await link();
  const page = await openPage(address);
  await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
  expect(page.url()).not.toContain("code=");
  const { code, err } = await cli("run", "examples/workflow/hello.yaml", "--param", "name=you");
  expect(code, err).toBe(0);
  const row = page.getByRole("row", { name: /Succeeded hello/ });
  await page.getByRole("button", { name: /^\d+ new$/ }).click();
  await row.getByRole("link").click();
  await page
    .getByRole("treeitem", { name: /Succeeded/ })
    .first()
    .click();
  await page.getByRole("tab", { name: "Log" }).click();
  await page.getByText(/hello/i).last().waitFor();
  await page.getByRole("tab", { name: "YAML" }).click();
  await page.getByText("apiVersion:").waitFor();
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByRole("columnheader", { name: "Reason" }).waitFor();
  const again = await openPage(address);
  await again.getByText("Each link or code works once").waitFor();
});

test("without a session the page asks for a code, and an expired one is renewed in place", async () => {
  const page = await openPage(await link());
  await page.getByRole("row", { name: /rollout/ }).waitFor();
  await page.context().clearCookies();
  await page.getByRole("link", { name: "Fleet" }).click();
  await page.getByText("Not logged in").waitFor();
  await page.getByLabel("One-time code").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(".connection-bar").getByRole("alert").waitFor();
  await page.getByLabel("One-time code").fill((await link()).split("#code=")[1] ?? "");
  await page.getByRole("button", { name: "Log in" }).click();
  await expect.poll(() => page.getByText("Not logged in").count()).toBe(0);
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("row", { name: /rollout/ }).waitFor();
});

test("a failed run is found, its log opens at the error, and its retry succeeds", async () => {
  const [file, name] = [join(directory, "disk-1"), "flaky-1"];
  await start(name, flaky(file));
  const page = await openShared("/runs?filter=phase:failed");
  await page
    .getByRole("row", { name: new RegExp(`Failed ${name}`) })
    .getByRole("link")
    .click();
  await page.getByRole("treeitem", { name: /Failed.*work/, selected: true }).waitFor();
  await page.getByRole("tab", { name: "Log" }).click();
  await page.getByText("ERROR: no disk").waitFor();
  await writeFile(file, "");
  await page.getByRole("button", { name: `Retry ${name}`, exact: true }).click();
  await dialogButton(page, "Retry").click();
  await page.getByRole("treeitem", { name: /work/ }).getByText("Succeeded").waitFor();
});

test("the same by keyboard only", async () => {
  const [file, name] = [join(directory, "disk-2"), "flaky-2"];
  await start(name, flaky(file));
  const page = await openShared();
  await page.getByRole("row").nth(1).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(`phase:failed ${name}`);
  await expect.poll(() => page.getByRole("row").count()).toBe(2);
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.getByRole("link", { name }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("treeitem", { name: /Failed.*work/, selected: true }).waitFor();
  await page.keyboard.press("l");
  await page.getByText("ERROR: no disk").waitFor();
  await writeFile(file, "");
  await page.keyboard.press("x");
  await page.keyboard.press("Enter");
  await press(page, dialogButton(page, "Retry"));
  await page.getByRole("treeitem", { name: /work/ }).getByText("Succeeded").waitFor();
});

test("a person approves in the page, and the run goes on", async () => {
  const page = await openShared();
  await page
    .getByRole("row", { name: /question.*waits for approval/ })
    .getByRole("link")
    .click();
  await page
    .getByRole("region", { name: "Step ask" })
    .getByRole("button", { name: /^Approve/ })
    .click();
  await dialogButton(page, "Approve").click();
  await page
    .getByText(/^Approve (accepted|sent)/)
    .first()
    .waitFor();
  await page.getByRole("treeitem", { name: /ask/ }).getByText("Succeeded").waitFor();
});

test("the same by keyboard only, from the list of approvals", async () => {
  await start("asking", "{approval: {message: Go on again?}}");
  const page = await openShared();
  await page.getByRole("row", { name: /asking/ }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.getByText("Go on again?").waitFor();
  await press(page, page.getByRole("button", { name: /^Approve work of asking/ }));
  await press(page, dialogButton(page, "Approve"));
  await expect.poll(() => page.getByText("Go on again?").count()).toBe(0);
  expect((await cli("wait", "--for=condition=Complete", "workflow/asking", "--timeout=30s")).code).toBe(0);
});

test.each(["mouse", "keyboard"] as const)("a run is canceled, by %s", async (how) => {
  const name = `endless-${how}`;
  await start(name, "{container: {image: busybox, command: [sleep, '600']}}");
  const page = await openShared(`/runs/workflow/default/${name}`);
  const cancel = page.getByRole("button", { name: `Cancel ${name}`, exact: true });
  const confirm = page
    .getByRole("dialog")
    .getByRole("button", { name: `Cancel ${name}` })
    .or(dialogButton(page, "Cancel"));
  if (how === "mouse") {
    await cancel.click();
    await confirm.click();
  } else {
    await press(page, cancel);
    await press(page, confirm);
  }
  await page.getByRole("treeitem", { name: /work/ }).getByText("Canceled").first().waitFor();
});

test("a run starts from a form that a template's parameters make, by keyboard only", async () => {
  const page = await openShared("/new");
  await tabTo(page, page.getByRole("tab", { name: "Document" }));
  await page.keyboard.press("ArrowRight");
  const choice = page.getByRole("combobox");
  await tabTo(page, choice);
  await choice.selectOption({ label: "greeting (WorkflowTemplate, default)" });
  await tabTo(page, page.getByRole("textbox", { name: /^who/ }));
  await page.keyboard.type("NOT A NAME");
  await page
    .getByText(/spec\.arguments\.who/)
    .first()
    .waitFor();
  await tabTo(page, page.getByRole("textbox", { name: /^who/ }));
  await page.keyboard.press("Control+a");
  await page.keyboard.type("you");
  // The steps of the template, before the run exists.
  await page.getByRole("region", { name: "Workflow greeting-" }).getByText("compose", { exact: true }).waitFor();
  await press(page, page.getByRole("button", { name: "Start", exact: true }));
  await page.getByRole("heading", { level: 1, name: /^greeting-/ }).waitFor();
  await page
    .getByRole("treeitem", { name: /compose/ })
    .getByText("Succeeded")
    .waitFor();
});

test("a machine is followed while its agent works", async () => {
  const { rebar, directory: data } = inject("server");
  const page = await openShared();
  await page.getByRole("row").nth(1).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  const row = page.getByRole("region", { name: "List of machines" }).getByRole("row", { name: /web-1/ });
  await row.waitFor();
  expect(await row.textContent()).not.toContain("Complete");
  const asked = await cli("get", "machines.rebar.slipway.dev", "-n", "rebar", "-o", "jsonpath={.items[0].spec.Uuid}");
  const key = (await readFile(join(data, "rebar/rs-key"), "utf8")).trim();
  const agent = slipway(["rebar", "agent", "--machine", asked.out.trim(), "--oneshot"], {
    env: { RS_ENDPOINT: rebar, RS_KEY: key },
  });
  await row.getByText("Complete").waitFor();
  expect((await agent).code).toBe(0);
  await press(page, row.getByRole("link", { name: "web-1" }));
  const task = page.getByRole("treeitem", { name: /hello-say/ });
  await task.getByText("Succeeded").waitFor();
  await task.click();
  await page.keyboard.press("l");
  await page.getByText("Hello, Slipway, from web-1").first().waitFor();
});
