import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { Results } from "../results/results.ts";
import { endText } from "./end-text.ts";
import { eventText } from "./event-text.ts";
import { followBuild } from "./follow-build.ts";
import type { Look } from "./look.ts";

/** Where a build is shown. */
export interface ConsoleOutput {
  write(text: string): void;
  /** Bytes that were written and that the reader has not taken yet; 0 where nobody reads any more. */
  readonly backlog: number;
}

/** A reader that is so far behind is not waited for. */
const mostBacklog = 8 * 1024 * 1024;

/** How often it is looked whether the reader takes something: nothing tells of it. */
const lookMs: Millis = 50;

/** So many looks, 10 s, a reader that takes nothing is waited for at the end. Time in which nobody could look does not count. */
const mostLooks = 200;

/**
 * Shows a build while it runs, and its last block at the end. The build never waits for it, nor for who reads it: what a slow reader would have to
 * be waited for is left out, with one notice. Resolves, after the freeze, with whether all that was written has been read.
 */
export async function showBuild(results: Results, look: Look, output: ConsoleOutput, clock: Clock): Promise<boolean> {
  const textOf = eventText(() => results.build, look);
  let isTold = false;
  for await (const event of followBuild(results)) {
    if (look.isQuiet) continue;
    if (output.backlog <= mostBacklog) {
      const text = textOf(event);
      if (text !== "") output.write(text);
    } else if (!isTold) {
      isTold = true;
      output.write(notice(results.directory, look));
    }
  }
  output.write(await endText(results, look));
  return await isTaken(output, clock);
}

function notice(directory: string, { form }: Look): string {
  const text = `output is not read fast enough: some of it is left out here, all of it is in ${directory}`;
  return form === "json" ? `${JSON.stringify({ type: "notice", msg: text })}\n` : `slipway: ${text}\n`;
}

/** Waits as long as the reader takes something. */
async function isTaken(output: ConsoleOutput, clock: Clock): Promise<boolean> {
  let [least, looks] = [output.backlog, 0];
  while (output.backlog > 0) {
    await sleep(clock, lookMs);
    looks += 1;
    if (output.backlog < least) [least, looks] = [output.backlog, 0];
    else if (looks >= mostLooks) return false;
  }
  return true;
}
