import type { Page } from "playwright-core";
import { expect } from "vitest";
import { rounds } from "#test/support/rounds.ts";

// Figures are printed beside the budget and beside what costs the least possible in the same run. Machines differ and are
// busy, so that only the comparison decides, generously, and over the rounds of a long run.

/** Of what a page does, for `openPage`: measured by the page itself. */
export const stopwatch = `
window.until = (isSo) => new Promise((resolve) => {
  const look = () => requestAnimationFrame(isSo() ? () => resolve(performance.now()) : look);
  look();
});
window.took = async (act, isSo) => {
  const start = performance.now();
  act();
  return (await until(isSo)) - start;
};
window.frameTimes = async (count, act) => {
  const times = [];
  let last = performance.now();
  for (let at = 0; at < count; at += 1) {
    act(at);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times;
};
window.wallClock = () => performance.timeOrigin + performance.now();
window.byText = (text) => [...document.querySelectorAll("button, [role=tab]")].find((one) => one.textContent.startsWith(text));
`;

/** The page's own answer to an expression. */
export const ask = <T = number>(page: Page, expression: string): Promise<T> => page.evaluate<T>(expression);

/** Rounds of which the median counts; one where every change is judged, for its processor time. */
export const roundsOf = rounds(1, 3);

export async function median(measure: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let round = 0; round < roundsOf; round += 1) values.push(await measure());
  return quantile(values, 0.5);
}

/** Fails if a time is above `most`, which comes from a baseline of the same run: one round of a busy machine says nothing. */
export function judge(found: number, most: number): void {
  if (roundsOf > 1) expect(found).toBeLessThan(most);
}

/** The value that the share `p` of the values does not exceed. */
export function quantile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

export interface Figure {
  readonly what: string;
  readonly budget: number;
  readonly baseline: number;
  readonly found: number;
  readonly unit?: "ms" | "MB" | "%";
}

const known: Figure[] = [];

/** Adds a line to the table. */
export const note = (figure: Figure): void => void known.push(figure);

export function printFigures(title: string): void {
  const lines = known.splice(0).map(({ what, budget, baseline, found, unit = "ms" }) => {
    const cells = [budget, baseline, found].map((value) => `${value.toFixed(0)} ${unit}`.padStart(10));
    return `${what.padEnd(48)}${cells.join("")}${found > budget ? "  over" : ""}`;
  });
  const head = `${title.padEnd(48)}${["budget", "baseline", "found"].map((one) => one.padStart(10)).join("")}`;
  process.stdout.write(`${[head, ...lines].join("\n")}\n`);
}
