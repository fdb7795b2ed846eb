import { pathToFileURL } from "node:url";
import { withCpu } from "../harness/candidates.ts";
import { closedLoop } from "../harness/closed-loop.ts";
import type { Measured } from "../harness/types.ts";
import { checkCue, type CueLoadKind, questionOf, warmUp } from "../ours/cue.ts";

// Peer of CUE steps: the npm package, which takes a text as a whole and returns its JSON.

export interface CueWasmLoad {
  readonly ms: number;
  /** Entry of the installed package. */
  readonly entry: string;
  readonly kind: CueLoadKind;
}

interface Api {
  readonly toJSON: (text: string) => string;
}

export async function run({ ms, entry, kind }: CueWasmLoad): Promise<Measured> {
  let api: Api | undefined;
  let at = 0;
  const one = async (): Promise<void> => {
    api ??= await load(entry);
    const number = at++;
    const { text, parameter, context } = questionOf(number);
    const whole = `${text}parameter: ${JSON.stringify(parameter)}\ncontext: ${JSON.stringify(context)}\n`;
    checkCue(JSON.parse(api.toJSON(whole)) as Parameters<typeof checkCue>[0], number);
  };
  if (kind !== "first") for (let done = 0; done < warmUp; done++) await one();
  return await withCpu([process.pid], () => closedLoop({ ms: kind === "first" ? 0 : ms, inFlight: 1 }, one));
}

async function load(entry: string): Promise<Api> {
  const { init } = (await import(pathToFileURL(entry).href)) as { readonly init: () => Promise<Api> };
  return await init();
}
