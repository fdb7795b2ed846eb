import { spawn } from "node:child_process";
import { childEnd } from "#lib/base/index.node.ts";
import { type Clock, messageOf } from "#lib/base/index.ts";
import type { EffectAnswer, OutsideRequest } from "./courier.ts";

export type CommandRequest = Extract<OutsideRequest, { kind: "command" }>;

const longestOutput = 1024 * 1024;

/** Any exit code is an answer. The environment is empty but for a path. */
export async function performCommand(request: CommandRequest, clock: Clock): Promise<EffectAnswer> {
  const [program = "", ...argv] = request.argv;
  const child = spawn(program, argv, {
    ...(request.directory === undefined ? {} : { cwd: request.directory }),
    env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const outputs = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8");
    child[name].on("data", (text: string) => (outputs[name] = (outputs[name] + text).slice(0, longestOutput)));
  }
  let isLate = false;
  const cancel = clock.after(request.timeoutMs, () => {
    isLate = true;
    child.kill("SIGKILL");
  });
  try {
    const exitCode = await childEnd(child, clock);
    if (!isLate) return { ok: true, value: { ...outputs, exitCode: exitCode ?? -1 } };
    return { ok: false, message: `${program}: not finished within ${request.timeoutMs / 1000}s`, isDone: true };
  } catch (thrown) {
    return {
      ok: false,
      message: `${program}: ${messageOf(thrown)}`,
      ...(child.pid === undefined ? {} : { isDone: true }),
    };
  } finally {
    cancel();
  }
}
