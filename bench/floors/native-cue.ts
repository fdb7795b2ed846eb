import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { withCpu } from "../harness/candidates.ts";
import { closedLoop } from "../harness/closed-loop.ts";
import type { Measured } from "../harness/types.ts";
import { checkCue, type CueLoadKind, questionOf, warmUp } from "../ours/cue.ts";

// Floor of CUE steps: the same Go code outside of WebAssembly, as a process that answers a line with a line.

export interface NativeCueLoad {
  readonly ms: number;
  readonly program: string;
  readonly kind: CueLoadKind;
}

export async function run({ ms, program, kind }: NativeCueLoad): Promise<Measured> {
  let child: ChildProcessByStdio<Writable, Readable, null> | undefined;
  let answers: AsyncIterator<string> | undefined;
  let at = 0;
  const one = async (): Promise<void> => {
    child ??= spawn(program, [], { stdio: ["pipe", "pipe", "inherit"] });
    answers ??= createInterface(child.stdout)[Symbol.asyncIterator]();
    const number = at++;
    child.stdin.write(`${JSON.stringify({ operation: "cueRender", ...questionOf(number) })}\n`);
    const { value } = (await answers.next()) as { readonly value: string };
    checkCue((JSON.parse(value) as { readonly value: Parameters<typeof checkCue>[0] }).value, number);
  };
  try {
    if (kind !== "first") for (let done = 0; done < warmUp; done++) await one();
    return await withCpu([process.pid], () => closedLoop({ ms: kind === "first" ? 0 : ms, inFlight: 1 }, one));
  } finally {
    child?.stdin.end();
  }
}
