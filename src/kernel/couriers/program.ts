// A courier: performs one effect outside of any API server, and outlives the server that started it.
//
//     node courier.cjs DIRECTORY EFFECT
//
// The request is in a file of the directory, never on the command line. It ends with 0, also if another courier has
// taken the effect.
import { messageOf, systemClock } from "#lib/base/index.ts";
import type { EffectAnswer } from "./courier.ts";
import { EgressRules } from "./egress.ts";
import { type CourierOrder, readOrder, removeEffect, removeOrder, take, writeAnswer } from "./files.ts";
import { performCommand } from "./perform-command.ts";
import { performEmail } from "./perform-email.ts";
import { performHttp } from "./perform-http.ts";

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
