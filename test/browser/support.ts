import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, inject } from "vitest";

let browser: Browser | undefined;
const opened: Page[] = [];
/** What the page threw, and what the browser refused: strict policies are silent otherwise. */
const complaints: string[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((page) => page.context().close()));
  const found = complaints.splice(0);
  if (found.length > 0) throw new Error(`the browser complained:\n${found.join("\n")}`);
});

afterAll(async () => {
  await browser?.close();
});

/** Requests to a server that a test has stopped, or that has no session yet, are told by the page itself. */
const isExpected = (text: string): boolean => text.includes("Failed to load resource");

/**
 * A page in a context of its own, with a script that runs before those of the page. Anything the page throws, or that its
 * policy refuses, fails the test.
 */
export async function openPage(url: string, options: BrowserContextOptions = {}, script?: string): Promise<Page> {
  browser ??= await chromium.connect(inject("browser"));
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  opened.push(page);
  page.on("pageerror", (error) => complaints.push(error.stack ?? error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !isExpected(message.text())) complaints.push(message.text());
  });
  if (script !== undefined) await page.addInitScript(script);
  await page.goto(url);
  return page;
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe objects to in the page as it is: no rule is switched off. Each with the elements. */
export async function objections(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource);
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const results = await page.evaluate<AxeResults>(`axe.run(document, { runOnly: ${JSON.stringify(tags)} })`);
  return results.violations.map(
    ({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html }) => `  ${html.slice(0, 300)}`).join("\n")}`,
  );
}
