import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { Results } from "../results/results.ts";
import { endText } from "./end-text.ts";
import { eventText } from "./event-text.ts";
import { followBuild } from "./follow-build.ts";
import type { Look } from "./look.ts";

export interface ConsoleOutput {
  write(text: string): void;
  /** Bytes not yet read; 0 if nobody reads. */
  readonly backlog: number;
}

/** Output is dropped if the reader lags behind this far. */
const mostBacklog = 8 * 1024 * 1024;

/** Polling interval: there is no event for reading. */
const lookMs: Millis = 50;

const mostLooks = 200;

/**
 * Shows a build without ever waiting for the reader: excess output is dropped with one notice. Resolves, after the
 * freeze, with whether everything was read. At the end, it waits up to 10 s for a stalled reader.
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
  const text = `output is read too slowly and partly left out here; all of it is in ${directory}`;
  return form === "json" ? `${JSON.stringify({ type: "notice", msg: text })}\n` : `slipway: ${text}\n`;
}

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
