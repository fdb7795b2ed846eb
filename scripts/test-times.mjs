// What the tests cost: seconds of processor time per project, and the files that take most. Wall time says little where files run side by side.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Has the tests of this process and its children note their times in a new file, unless who started it has done so. Returns what prints them. */
export function noteTimes() {
  if (process.env.SLIPWAY_TEST_TIMES !== undefined) return () => undefined;
  const file = join(mkdtempSync(join(tmpdir(), "slipway-times-")), "times.jsonl");
  process.env.SLIPWAY_TEST_TIMES = file;
  return () => {
    if (existsSync(file)) process.stdout.write(table(readFileSync(file, "utf8").trim().split("\n").map(JSON.parse)));
    rmSync(dirname(file), { recursive: true, force: true });
  };
}

const secondsOf = (times) => times.reduce((sum, { seconds }) => sum + seconds, 0);

function table(times) {
  const projects = grouped(times);
  const rows = [...projects].map(([project, own]) => [`${project}, ${own.length} files`, secondsOf(own)]);
  const files = times.map(({ file, seconds }) => [file, seconds]);
  const byMost = (list) => list.sort((one, other) => other[1] - one[1]);
  const lines = [...byMost(rows), ["together", secondsOf(times)], ...byMost(files).slice(0, 30)];
  const shown = lines.map(([what, seconds]) => `${seconds.toFixed(1).padStart(8)} s  ${what}\n`);
  return `processor time of tests and the programs they have waited for:\n${shown.join("")}`;
}

function grouped(times) {
  const projects = new Map();
  for (const one of times) projects.set(one.project, [...(projects.get(one.project) ?? []), one]);
  return projects;
}
