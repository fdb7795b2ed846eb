import { aborted, isJsonObject, jsonEquals, type JsonObject, type JsonValue, sleep, textAt } from "#lib/base/index.ts";
import { isRefused } from "../../agent/client.ts";
import type { Flag } from "../arguments.ts";
import type { CollectionRow } from "../collections.ts";
import { queryOf } from "../filters.ts";
import { merged, patchBetween } from "../patches.ts";
import {
  type Call,
  CliError,
  exactly,
  forced,
  none,
  objectIn,
  objectOrReference,
  type Query,
  textFlag,
  type Verb,
} from "../verb.ts";

// Verbs that every collection has.

const any = { least: 0, most: Number.POSITIVE_INFINITY, complaint: "" };
const shapeFlags: readonly Flag[] = [
  { name: "slim", value: "fields", summary: "fields to leave out: Params, Meta or both" },
  { name: "params", value: "names", summary: "params to return" },
  { name: "decode", summary: "open secure params" },
];
const listFlags: readonly Flag[] = [
  { name: "limit", value: "n", summary: "most items to return" },
  { name: "offset", value: "n", summary: "items to skip" },
  ...shapeFlags,
];
export function objectVerbs(row: CollectionRow): readonly Verb[] {
  const { name, single } = row;
  return [
    {
      words: [name, "list"],
      usage: "[filters...]",
      summary: `List all ${name}`,
      arity: any,
      flags: listFlags,
      run: async (call) => call.print(await call.get([name], listQuery(call))),
    },
    {
      words: [name, "count"],
      usage: "[filters...]",
      summary: `Count all ${name}`,
      arity: any,
      flags: listFlags,
      async run(call) {
        const { headers } = await call.request("HEAD", [name], { query: listQuery(call) });
        call.print(Number(headers["x-drp-list-filter-count"]));
      },
    },
    {
      words: [name, "indexes"],
      usage: "",
      summary: `Get indexes for ${name}`,
      arity: none,
      run: async (call) => call.print(await call.get(["indexes", name])),
    },
    {
      words: [name, "show"],
      usage: "[id]",
      summary: `Show a single ${name} by id`,
      arity: exactly(1),
      flags: shapeFlags,
      run: async (call) => call.print(await call.get([name, call.args[0] ?? ""], shapeQuery(call))),
    },
    {
      words: [name, "exists"],
      usage: "[id]",
      summary: `See if a ${name} exists by id`,
      arity: exactly(1),
      run: async (call) => void (await head(call, name)),
    },
    {
      words: [name, "etag"],
      usage: "[id]",
      summary: `Get the etag for a ${name} by id`,
      arity: exactly(1),
      run: async (call) => call.write(`${(await head(call, name)).headers.etag ?? ""}\n`),
    },
    createVerb(row),
    {
      words: [name, "update"],
      usage: "[id] [json]",
      summary: `Unsafely update ${single} by id with the passed-in JSON`,
      arity: exactly(2),
      async run(call) {
        const [key = "", source = ""] = call.args;
        const changes = await call.read(source);
        if (!isJsonObject(changes)) throw new CliError("Unable to unmarshal reference object: expected an object");
        await change(call, name, key, (object) => merged(object, changes));
      },
    },
    {
      words: [name, "patch"],
      usage: "[id] [jsonpatch]",
      summary: `Patch ${single} by ID using the passed-in JSON Patch`,
      arity: exactly(2),
      async run(call) {
        const [key = "", source = ""] = call.args;
        const body = await call.read(source);
        call.print((await call.request("PATCH", [name, key], { body })).json);
      },
    },
    {
      words: [name, "destroy"],
      usage: "[id]",
      summary: `Destroy ${single} by id`,
      arity: exactly(1),
      async run(call) {
        await call.request("DELETE", [name, call.args[0] ?? ""]);
        call.write(`Deleted ${single} ${call.args[0] ?? ""}\n`);
      },
    },
    {
      words: [name, "wait"],
      usage: "[id] [field] [value] [timeout]",
      summary: `Wait for a ${single}'s field to become a value within a number of seconds`,
      arity: { least: 3, most: 4, complaint: "requires at least 3 arguments" },
      run: (call) => waitFor(call, name),
    },
  ];
}

function listQuery(call: Call): Query {
  const limits = ["limit", "offset"].flatMap((flag) => {
    const value = textFlag(call, flag);
    return value === undefined ? [] : [[flag, value] as const];
  });
  return [...queryOf(call.args), ...limits, ...shapeQuery(call)];
}

export const shapeQuery = (call: Call): Query => [
  ...["slim", "params"].flatMap((flag) => {
    const value = textFlag(call, flag);
    return value === undefined ? [] : [[flag, value] as const];
  }),
  ...(call.flags.has("decode") ? [["decode", "true"] as const] : []),
];

async function head(call: Call, collection: string) {
  const [key = ""] = call.args;
  try {
    return await call.request("HEAD", [collection, key]);
  } catch (thrown) {
    if (isRefused(thrown, 404)) throw new CliError(`${collection}:${key} does not exist`);
    throw thrown;
  }
}

function createVerb({ name, single, isMadeByName }: CollectionRow): Verb {
  return {
    words: [name, "create"],
    usage: "[json]",
    summary: `Create a new ${single} with the passed-in JSON or string key`,
    arity: exactly(1),
    async run(call) {
      const [source = ""] = call.args;
      const given = await call.read(source);
      const body = name === "jobs" ? await jobOf(call, given) : objectNamed(given, single, isMadeByName !== false);
      const { json } = await call.request("POST", [name], { body, query: forced(call) });
      call.print(json ?? {});
    },
  };
}

function objectNamed(given: JsonValue, single: string, isNamed: boolean): JsonObject {
  if (isJsonObject(given)) return given;
  if (!isNamed || given === null) throw new CliError(`Unable to create a new ${single} by name`);
  return { Name: typeof given === "string" ? given : JSON.stringify(given) };
}

/** A job, or the UUID or name of its machine. */
async function jobOf(call: Call, given: JsonValue): Promise<JsonObject> {
  if (isJsonObject(given)) return given;
  const [key = ""] = call.args;
  const machine = await call.get(["machines", key]).catch(async (thrown: unknown) => {
    if (!isRefused(thrown, 404)) throw thrown;
    return await call.get(["machines", `Name:${key}`]).catch(() => null);
  });
  if (!isJsonObject(machine)) throw new CliError(`Unable to create new Job: Invalid machine ${key}`);
  return { Machine: machine["Uuid"] ?? null };
}

/** Reads an object, changes it and prints the result. Nothing is sent if nothing changes. */
export async function change(
  call: Call,
  collection: string,
  key: string,
  edit: (object: JsonObject) => JsonValue,
): Promise<void> {
  const object = await objectOrReference(call, collection, key);
  const body = [...patchBetween(object, edit(object))];
  call.print((await call.request("PATCH", [collection, key], { body, query: forced(call) })).json);
}

const longestWait = 24 * 60 * 60;

async function waitFor(call: Call, collection: string): Promise<void> {
  const [key = "", field = "", text = "", seconds] = call.args;
  if (seconds !== undefined && !/^\d{1,9}$/.test(seconds))
    throw new CliError(`strconv.ParseInt: parsing ${JSON.stringify(seconds)}: invalid syntax`);
  const wanted = valueOf(text);
  const found = await objectOrReference(call, collection, key);
  const id = textAt(found, "Uuid") ?? textAt(found, "ID") ?? textAt(found, "Name") ?? key;
  const events = await (await call.client()).events(call.signal);
  let wake: () => void = () => undefined;
  let isStale = false;
  events.listen(() => {
    isStale = true;
    wake();
  });
  const over = new AbortController();
  const timeout = sleep(call.clock, (seconds === undefined ? longestWait : Number(seconds)) * 1_000, over.signal).then(
    () => "timeout" as const,
    () => "timeout" as const,
  );
  const interrupt = aborted(call.signal).then(() => "interrupt" as const);
  const ended = events.ended.then(() => "ended" as const);
  try {
    for (const action of ["update", "save"]) await events.register(`${collection}.${action}.${id}`);
    for (;;) {
      isStale = false;
      const object = objectIn(await call.get([collection, id]));
      if (object[field] !== undefined && jsonEquals(object[field], wanted)) return call.write("complete\n");
      const changed = new Promise<"changed">((resolve) => {
        wake = () => resolve("changed");
        if (isStale) resolve("changed");
      });
      const first = await Promise.race([changed, timeout, interrupt, ended]);
      if (first === "ended") throw new CliError("the event stream has ended");
      if (first !== "changed") return call.write(`${first}\n`);
    }
  } finally {
    over.abort();
    events.close();
  }
}

/** A JSON value, or the text itself. */
function valueOf(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
