// A courier: performs one effect outside of any API server, and outlives the server that started it.
//
//     node courier.cjs DIRECTORY EFFECT
//
// The request is in a file of the directory, never on the command line. It ends with 0, also if another courier has
// taken the effect.
import { messageOf, systemClock, type Clock } from "#lib/base/index.ts";
import type { EffectAnswer, OutsideRequest } from "./courier.ts";
import { EgressRules } from "./egress.ts";
import { type CourierOrder, readOrder, removeEffect, removeOrder, take, writeAnswer } from "./files.ts";
import { performEmail } from "./perform-email.ts";
import { performHttp } from "./perform-http.ts";
import { spawn } from "node:child_process";
import { childEnd } from "#lib/base/index.node.ts";

const [directory = "", effect = ""] = process.argv.slice(2);
// Terminal signals for the server must not end what has begun.
for (const signal of ["SIGHUP", "SIGINT"] as const) process.on(signal, () => undefined);

async function main(): Promise<void> {
  // Taken first: an order that was read before could be done already.
  if (!(await take(directory, effect))) return;
  const order = await readOrder(directory, effect);
  if (order === undefined) return removeEffect(directory, effect);
  await removeOrder(directory, effect);
  await writeAnswer(directory, effect, await performSafely(order));
}

async function performSafely(order: CourierOrder): Promise<EffectAnswer> {
  try {
    return await perform(order);
  } catch (thrown) {
    return { ok: false, message: messageOf(thrown) };
  }
}

function perform({ request, denied }: CourierOrder): Promise<EffectAnswer> {
  switch (request.kind) {
    case "http":
      return performHttp(request, { denied, clock: systemClock });
    case "email":
      return performEmail(request, new EgressRules(denied));
    case "command":
      return performCommand(request, systemClock);
  }
}

void main();

type CommandRequest = Extract<OutsideRequest, { kind: "command" }>;

const longestOutput = 1024 * 1024;

/** Any exit code is an answer. The environment is empty but for a path. */
async function performCommand(request: CommandRequest, clock: Clock): Promise<EffectAnswer> {
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
