import { writeSync } from "node:fs";
import { followLogs } from "../../src/dialects/wharf/results/follow-logs.ts";
import { createResults } from "../../src/dialects/wharf/results/results-store.ts";
import { newBuild } from "../../src/dialects/wharf/results/testing/new-build.ts";
import { systemClock } from "../../src/lib/base/index.ts";

// The worker that is killed. Usage: DIRECTORY. Two steps print numbered lines until it dies, the second one leaves artifacts meanwhile. It says on
// stdout `saw STEP LINES` for lines that a follower has been given.

const [, , directory = ""] = process.argv;
const steps = [1, 2, 3];

const results = await createResults(directory, newBuild(steps.length), { clock: systemClock });

async function print(stepId: number): Promise<void> {
  await results.setStatus(stepId, "Running");
  let drained = (): void => undefined;
  const writer = await results.openLog(stepId, { onDrain: () => drained() });
  let held = "";
  for (let line = 1; ; ) {
    const drain = new Promise<void>((resolve) => (drained = resolve));
    const lines = Array.from({ length: 1 + Math.floor(Math.random() * 500) }, () => `line ${line++}\n`);
    const text = held + lines.join("");
    const cut = Math.floor(Math.random() * text.length);
    held = text.slice(cut);
    if (!writer.append("stdout", Buffer.from(text.slice(0, cut)))) await drain;
    // Pipes are read in turns of the event loop.
    await new Promise(setImmediate);
  }
}

async function leave(): Promise<void> {
  for (let at = 1; at <= 500; at++) {
    const name = `file ${at}`;
    const open = async function* () {
      yield Buffer.from(name.repeat(1000));
    };
    await results.addArtifacts(2, [{ name, open }]);
  }
}

const printing = [print(1), print(2), leave()];
for await (const { stepId, firstId, lines } of followLogs(results))
  writeSync(1, `saw ${stepId} ${firstId + lines - 1}\n`);
await Promise.all(printing);
