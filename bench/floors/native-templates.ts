import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { withCpu } from "../harness/candidates.ts";
import { closedLoop } from "../harness/closed-loop.ts";
import type { Measured } from "../harness/types.ts";
import { check, question } from "../ours/templates.ts";

// Floor of templates: the same Go code outside of WebAssembly, as a process that answers a line with a line.

export interface NativeLoad {
  readonly ms: number;
  readonly program: string;
  readonly before: number;
}

export async function run({ ms, program, before }: NativeLoad): Promise<Measured> {
  let child: ChildProcessByStdio<Writable, Readable, null> | undefined;
  let answers: AsyncIterator<string> | undefined;
  const line = `${JSON.stringify({ operation: "render", ...question, maxBytes: 262_144 })}\n`;
  const render = async (): Promise<void> => {
    child ??= spawn(program, [], { stdio: ["pipe", "pipe", "inherit"] });
    answers ??= createInterface(child.stdout)[Symbol.asyncIterator]();
    child.stdin.write(line);
    const { value } = (await answers.next()) as { readonly value: string };
    const { value: plan } = JSON.parse(value) as { readonly value: Parameters<typeof check>[0] };
    check(plan);
  };
  try {
    for (let done = 0; done < before; done++) await render();
    return await withCpu([process.pid], () => closedLoop({ ms: before === 0 ? 0 : ms, inFlight: 1 }, render));
  } finally {
    child?.stdin.end();
  }
}
