import { randomBytes } from "node:crypto";
import { isJsonObject, isTrueAt, type JsonValue } from "#lib/base/index.ts";
import { isRefused } from "../../agent/client.ts";
import { seal } from "../../secure/box.ts";
import { patchBetween, pointerTo } from "../patches.ts";
import { type Call, CliError, objectIn, pairsOf, type Runs } from "../verb.ts";

const replacing = (path: string, old: JsonValue, value: JsonValue): JsonValue => [
  { op: "test", path, value: old },
  { op: "replace", path, value },
];

const removing = (path: string, old: JsonValue | undefined): JsonValue => [
  ...(old === undefined ? [] : [{ op: "test", path, value: old }]),
  { op: "remove", path },
];

/** Throws a `CliError` if the member is there. */
function adding(call: Call, single: string, key: string, there: JsonValue, value: JsonValue): JsonValue {
  if (isJsonObject(there) && there[key] !== undefined)
    throw new CliError(`Key, ${key}, already present on ${single} ${call.args[0] ?? ""}`);
  return [
    { op: "test", path: "", value: there },
    { op: "add", path: pointerTo(key), value },
  ];
}

const paramsOf = ({ args: [id = ""] }: Call, name: string, ...rest: readonly string[]) => [name, id, "params", ...rest];
const metaOf = ({ args: [id = ""] }: Call, name: string) => ["meta", name, id];

/** Metadata are texts; a number or truth value is taken as it was written. */
async function textGiven(call: Call): Promise<string> {
  const value = await call.read(call.args[4] ?? "");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Verbs for parts of objects: params, metadata, actions. */
export const partRuns: Runs = {
  async params(call, { name }) {
    const [, source] = call.args;
    if (source === undefined) return call.print(await call.get(paramsOf(call, name), call.query));
    const [body, { reference }] = [await call.read(source), call];
    call.print(
      reference === undefined
        ? await call.send("POST", paramsOf(call, name), body)
        : await call.send("PATCH", paramsOf(call, name), [...patchBetween(reference, body)]),
    );
  },
  async add(call, { name, single }) {
    const [id = "", , key = "", , source = ""] = call.args;
    const value = await sealed(call, name, id, key, await call.read(source));
    const there = call.reference ?? (await call.get(paramsOf(call, name)));
    await call.send("PATCH", paramsOf(call, name), adding(call, single, key, there, value));
    call.print(value);
  },
  async set(call, { name }) {
    const [id = "", , key = "", , source = ""] = call.args;
    const value = await sealed(call, name, id, key, await call.read(source));
    if (call.reference === undefined) await call.send("POST", paramsOf(call, name, key), value);
    else await call.send("PATCH", paramsOf(call, name), replacing(pointerTo(key), call.reference, value));
    call.print(value);
  },
  async remove(call, { name }) {
    const [, , key = ""] = call.args;
    call.print(
      call.reference === undefined
        ? await call.send("DELETE", paramsOf(call, name, key))
        : await call.send("PATCH", paramsOf(call, name), removing(pointerTo(key), call.reference)),
    );
  },
  async "meta get"(call, { name }) {
    const [, key = ""] = call.args;
    const value = objectIn(await call.get(metaOf(call, name)))[key];
    if (value === undefined) throw new CliError(`No such metadata item ${key}`);
    call.print(value);
  },
  async "meta add"(call, { name, single }) {
    const value = await textGiven(call);
    const there = call.reference ?? (await call.get(metaOf(call, name)));
    await call.send("PATCH", metaOf(call, name), adding(call, single, call.args[2] ?? "", there, value));
    call.print(value);
  },
  async "meta set"(call, { name }) {
    const [, , key = ""] = call.args;
    const value = await textGiven(call);
    const there =
      call.reference === undefined ? objectIn(await call.get(metaOf(call, name))) : { [key]: call.reference };
    const [path, old] = [pointerTo(key), there[key]];
    const test = old === undefined ? { op: "test", path: "", value: there } : { op: "test", path, value: old };
    await call.send("PATCH", metaOf(call, name), [test, { op: "add", path, value }]);
    call.print(value);
  },
  async "meta remove"(call, { name }) {
    await call.send("PATCH", metaOf(call, name), removing(pointerTo(call.args[2] ?? ""), call.reference));
  },
  runaction: runAction,
  runplugin_action: runAction,
};

async function runAction(call: Call, { name, action = "action" }: Parameters<Runs[string]>[1]): Promise<void> {
  const [id = "", command = "", ...given] = call.args;
  call.print(await call.send("POST", [name, id, `${action}s`, command], await parametersOf(call, given)));
}

async function parametersOf(call: Call, given: readonly string[]): Promise<JsonValue> {
  if (given.length < 2) return given[0] === undefined ? {} : await call.read(given[0]);
  if (given.length % 2 === 1)
    throw new CliError(`runaction either takes three arguments or a multiple of two, not ${call.args.length}`);
  const read = pairsOf(given).map(async ([name, source]) => [name, await call.read(source)] as const);
  return Object.fromEntries(await Promise.all(read));
}

/** The value as it may be sent: sealed to its owner if its param is secure. */
async function sealed(
  call: Call,
  collection: string,
  owner: string,
  name: string,
  value: JsonValue,
): Promise<JsonValue> {
  const param = await call.get(["params", name]).catch((thrown: unknown) => {
    // Values without a Param, and programs that may not read params.
    if (isRefused(thrown, 404) || isRefused(thrown, 403)) return null;
    throw thrown;
  });
  if (!isTrueAt(param, "Secure")) return value;
  const key = await call.get([collection, owner, "pubkey"]);
  const bytes = Buffer.from(typeof key === "string" ? key : "", "base64");
  if (bytes.length !== 32) throw new CliError(`Cannot set secure parameter ${name}: the server's key has no 32 bytes`);
  return { ...seal(bytes, value, (length) => randomBytes(length)) };
}
