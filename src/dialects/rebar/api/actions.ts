import type { JsonObject } from "#lib/base/index.ts";
import { refusal, Refused } from "../failure.ts";
import type { Collection, Machine } from "../objects.ts";
import { readObjectBody } from "./bodies.ts";
import { type Answer, type Call, found, isRead, noRoute, notFound } from "./call.ts";
import { demandOn, objectFor } from "./collections.ts";
import type { ApiParts } from "./parts.ts";

/** `/C/K/actions[/CMD]`: what plugins can do with the object; only machines have actions. */
export async function answerActions(
  parts: ApiParts,
  collection: Collection,
  key: string,
  command: string,
  call: Call,
): Promise<Answer> {
  const { world } = parts.store;
  const isRun = call.method === "POST" && command !== "";
  if (isRun) demandOn(call, world, collection, `action:${command}`, key);
  objectFor(call, world, collection, key);
  const machine = collection === "machines" ? world.get("machines", key) : undefined;
  if (isRun) return await runAction(parts, collection, machine, key, command, call);
  if (!isRead(call.method)) throw noRoute(call);
  demandOn(call, world, collection, "actions", key);
  const plugin = call.query.get("plugin");
  const available = (machine === undefined ? [] : parts.actions.available(machine)).filter(
    ({ Provider }) => plugin === null || Provider === plugin,
  );
  if (command === "") return found(available);
  const one = available.find(({ Command }) => Command === command);
  if (one === undefined)
    throw new Refused({ ...notFound("GET", "actions", command).body, Messages: [`${command}: Not Found`] });
  return found(one);
}

async function runAction(
  parts: ApiParts,
  collection: Collection,
  machine: Machine | undefined,
  key: string,
  command: string,
  call: Call,
): Promise<Answer> {
  const params = await optionalObject(call);
  const refused = (code: number, ...messages: readonly string[]) =>
    new Refused(refusal(code, "INVOKE", collection, key, ...messages));
  if (machine === undefined) throw refused(400, `${command}: ${collection} have no actions`);
  const gone = new AbortController();
  call.response.once("close", () => gone.abort());
  const plugin = call.query.get("plugin") ?? undefined;
  const request = { machine, plugin, command, params, by: call.caller.principal };
  const outcome = await parts.actions.run(request, gone.signal);
  if (outcome.kind === "done") return found(outcome.result);
  const output = outcome.output === "" ? [] : [outcome.output];
  throw refused(outcome.kind === "failed" ? 409 : 400, outcome.reason, ...output);
}

/** Clients may send nothing. */
const optionalObject = async (call: Call): Promise<JsonObject> =>
  call.request.headers["content-length"] === "0" || !hasBody(call) ? {} : await readObjectBody(call);

const hasBody = ({ request: { headers } }: Call): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
