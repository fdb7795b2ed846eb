import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, expect, inject } from "vitest";
import { rounds } from "#test/support/rounds.ts";
import { type Finished, slipway } from "#test/support/slipway.ts";

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

/** Runs the command line on the shared server. */
export const cli = (...args: string[]): Promise<Finished> =>
  slipway(args, { env: { SLIPWAY_DATA_DIR: inject("server").directory } });

/** A page of the shared server, of the administrator unless another session is given. */
export const openShared = (path = "/runs", options: BrowserContextOptions = {}): Promise<Page> => {
  const { url, session } = inject("server");
  return openPage(`${url}/slipway${path}`, { storageState: session, ...options });
};

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** Those that judge colors. */
const rulesOfColors = ["color-contrast", "link-in-text-block"];

/** What axe objects to in the page as it is: no rule is switched off. Each with the elements. */
export async function objections(page: Page, runOnly: readonly string[] = everyRule): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axeSource);
  const options = JSON.stringify({ runOnly, resultTypes: ["violations"] });
  const results = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
  return results.violations.map(
    ({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html }) => `  ${html.slice(0, 300)}`).join("\n")}`,
  );
}

/** Names of what a person could not see or reach: outside of the screen, where nothing scrolls to it. */
const cutOff = `(() => {
  const scrolls = (element) => element !== null && element !== document.documentElement &&
    (["auto", "scroll"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const isOut = (element) => {
    const { left, right, width } = element.getBoundingClientRect();
    return width > 1 && (left < -1 || right > innerWidth + 1) && element.closest("svg") === null && !scrolls(element);
  };
  return [...document.querySelectorAll("a, button, input, select, textarea, h1, h2, h3, th, dd, p")]
    .filter((element) => element.checkVisibility() && isOut(element)).map((element) => element.outerHTML.slice(0, 200));
})()`;

/** Fails for a page that is wider than the screen, or hides a part of itself beyond its edge. */
export async function expectFit(page: Page, what: string): Promise<void> {
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), what).toBeLessThanOrEqual(0);
  expect(await page.evaluate(cutOff), what).toEqual([]);
}

/**
 * Looks at a view in both themes, in high contrast, on a phone, on the widest screen and at 200 % zoom. Where every change is
 * judged, rules that do not depend on colors are tried once for each width; SLIPWAY_LONG tries all of them everywhere.
 */
export async function inspect(page: Page, view: string): Promise<void> {
  const more = rounds(rulesOfColors, everyRule);
  const judge = async (what: string, rules: readonly string[]): Promise<void> => {
    await expectFit(page, `${view}, ${what}`);
    expect(await objections(page, rules), `${view}, ${what}`).toEqual([]);
  };
  const setWidth = (width: number): Promise<void> => page.setViewportSize({ width, height: 800 });
  const setTheme = (colorScheme: "light" | "dark", contrast: "more" | "no-preference" = "no-preference") =>
    page.emulateMedia({ colorScheme, contrast });
  await setWidth(1280);
  await setTheme("light");
  await judge("light at 1280 px", everyRule);
  await setTheme("dark");
  await judge("dark at 1280 px", more);
  await setTheme("dark", "more");
  await judge("dark with more contrast", rulesOfColors);
  await setWidth(360);
  await setTheme("dark");
  await judge("dark at 360 px", more);
  await setTheme("light");
  await judge("light at 360 px", everyRule);
  await setTheme("light", "more");
  await judge("light with more contrast", rulesOfColors);
  await setWidth(2560);
  await expectFit(page, `${view} at 2560 px`);
  // Zoom makes pixels larger, so that fewer fit.
  await page.setViewportSize({ width: 640, height: 400 });
  await expectFit(page, `${view} at 200 %`);
  expect(await page.evaluate("document.getAnimations().length"), `${view} moves`).toBe(0);
}
