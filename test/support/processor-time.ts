import { appendFileSync, readFileSync } from "node:fs";
import { afterAll } from "vitest";

/** Where `npm test` and `npm run check` want to know what each file costs; see scripts/test-times.mjs. */
const file = process.env["SLIPWAY_TEST_TIMES"];

/** Seconds of processor time of this process and of the children it has waited for; those that live on are not in it. */
function processorSeconds(): number {
  // From the parenthesis after the program's name on: utime, stime, cutime and cstime are fields 14 to 17, in hundredths.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

// Files without isolation share a process: each is told what has passed since the one before.
const told: { processorSeconds?: number } = globalThis as object;

if (file !== undefined && process.platform === "linux")
  // oxlint-disable-next-line no-empty-pattern -- Vitest wants a pattern here, and nothing in it is needed
  afterAll(({}, suite) => {
    const now = processorSeconds();
    const seconds = now - (told.processorSeconds ?? 0);
    told.processorSeconds = now;
    const { projectName, name } = suite.file;
    appendFileSync(file, `${JSON.stringify({ project: projectName, file: name, seconds })}\n`);
  });
