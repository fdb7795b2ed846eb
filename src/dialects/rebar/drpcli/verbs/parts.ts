import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Flag } from "../arguments.ts";
import type { CollectionRow } from "../collections.ts";
import { patchBetween, pointerTo } from "../patches.ts";
import { type Call, CliError, exactly, forced, objectIn, type Query, textFlag, type Verb } from "../verb.ts";
import { change } from "./objects.ts";
import { sealed } from "../sealed.ts";

// Verbs for parts of objects: params, metadata, profiles, tasks, boot environments, actions.

export const partVerbs = (row: CollectionRow): readonly Verb[] => [
  ...(row.hasBootEnv === true ? [fieldVerb(row, "bootenv", "BootEnv")] : []),
  ...(row.hasParams === true ? paramVerbs(row) : []),
  ...(row.hasProfiles === true ? memberVerbs(row, "profile", "Profiles") : []),
  ...(row.hasTasks === true ? memberVerbs(row, "task", "Tasks") : []),
  ...metaVerbs(row),
  ...actionVerbs(row.name, row.single, row.action ?? "action"),
];

/** Sets one field of an object. */
export const fieldVerb = ({ name, single }: CollectionRow, verb: string, field: string): Verb => ({
  words: [name, verb],
  usage: `[id] [${verb}]`,
  summary: `Set the ${single}'s ${verb}`,
  arity: exactly(2),
  run: (call) => change(call, name, call.args[0] ?? "", (object) => ({ ...object, [field]: call.args[1] ?? "" })),
});

const scopeFlags: readonly Flag[] = [
  { name: "aggregate", summary: "also values that the object inherits" },
  { name: "decode", summary: "open secure params" },
];

const scope = (call: Call): Query =>
  ["aggregate", "decode", "compose"].flatMap((flag) => (call.flags.has(flag) ? [[flag, "true"] as const] : []));

function paramVerbs({ name, single }: CollectionRow): readonly Verb[] {
  const params = (call: Call, ...rest: readonly string[]) => [name, call.args[0] ?? "", "params", ...rest];
  return [
    {
      words: [name, "params"],
      usage: "[id] [json]",
      summary: `Gets/sets all parameters for the ${single}`,
      arity: { least: 1, most: 2, complaint: "requires 1 or 2 arguments" },
      flags: [...scopeFlags, { name: "params", value: "names", summary: "params to return" }],
      async run(call) {
        const [, source] = call.args;
        const names = textFlag(call, "params");
        const query = [...scope(call), ...(names === undefined ? [] : [["params", names] as const])];
        if (source === undefined) return call.print(await call.get(params(call), query));
        const body = await call.read(source);
        const { reference } = call;
        const sent = reference === undefined ? body : [...patchBetween(reference, body)];
        call.print((await call.request(reference === undefined ? "POST" : "PATCH", params(call), { body: sent })).json);
      },
    },
    {
      words: [name, "get"],
      usage: "[id] param [key]",
      summary: `Get a parameter from the ${single}`,
      arity: exactly(3, 2),
      flags: [...scopeFlags, { name: "compose", summary: "merge maps and lists of all sources" }],
      run: async (call) => call.print(await call.get(params(call, call.args[2] ?? ""), scope(call))),
    },
    {
      words: [name, "add"],
      usage: "[id] param [key] to [json blob]",
      summary: `Add the ${name} param *key* to *blob*`,
      arity: exactly(5),
      async run(call) {
        const [id = "", , key = "", , source = ""] = call.args;
        const value = await sealed(call, name, id, key, await call.read(source));
        const there = call.reference ?? (await call.get(params(call)));
        if (isJsonObject(there) && there[key] !== undefined)
          throw new CliError(`Key, ${key}, already present on ${single} ${id}`);
        const body = [
          { op: "test", path: "", value: there },
          { op: "add", path: pointerTo(key), value },
        ];
        await call.request("PATCH", params(call), { body });
        call.print(value);
      },
    },
    {
      words: [name, "set"],
      usage: "[id] param [key] to [json blob]",
      summary: `Set the ${name} param *key* to *blob*`,
      arity: exactly(5),
      async run(call) {
        const [id = "", , key = "", , source = ""] = call.args;
        const value = await sealed(call, name, id, key, await call.read(source));
        if (call.reference === undefined) await call.request("POST", params(call, key), { body: value });
        else await call.request("PATCH", params(call), { body: replacing(pointerTo(key), call.reference, value) });
        call.print(value);
      },
    },
    {
      words: [name, "remove"],
      usage: "[id] param [key]",
      summary: `Remove the param *key* from ${name}`,
      arity: exactly(3, 2),
      async run(call) {
        const key = call.args[2] ?? "";
        const { reference } = call;
        if (reference === undefined) return call.print((await call.request("DELETE", params(call, key))).json);
        const body = [
          { op: "test", path: pointerTo(key), value: reference },
          { op: "remove", path: pointerTo(key) },
        ];
        call.print((await call.request("PATCH", params(call), { body })).json);
      },
    },
  ];
}

const replacing = (path: string, old: JsonValue, value: JsonValue): JsonValue => [
  { op: "test", path, value: old },
  { op: "replace", path, value },
];

function metaVerbs({ name, single }: CollectionRow): readonly Verb[] {
  const path = (call: Call) => ["meta", name, call.args[0] ?? ""];
  const metaOf = async (call: Call) => objectIn(await call.get(path(call)));
  return [
    {
      words: [name, "meta"],
      usage: "[id]",
      summary: `Gets metadata for the ${single}`,
      arity: exactly(1),
      run: async (call) => call.print(await metaOf(call)),
    },
    {
      words: [name, "meta", "get"],
      usage: "[id] [key]",
      summary: `Get a specific metadata item from ${single}`,
      arity: exactly(2),
      async run(call) {
        const value = (await metaOf(call))[call.args[1] ?? ""];
        if (value === undefined) throw new CliError(`No such metadata item ${call.args[1] ?? ""}`);
        call.print(value);
      },
    },
    {
      words: [name, "meta", "add"],
      usage: "[id] key [key] val [val]",
      summary: `Atomically add [key]:[val] to the metadata on [${name}]:[id]`,
      arity: exactly(5, 3),
      async run(call) {
        const [id = "", , key = "", , source = ""] = call.args;
        const value = textOf(await call.read(source));
        const there = call.reference === undefined ? await metaOf(call) : objectIn(call.reference);
        if (there[key] !== undefined) throw new CliError(`Key, ${key}, already present on ${single} ${id}`);
        const body = [
          { op: "test", path: "", value: there },
          { op: "add", path: pointerTo(key), value },
        ];
        await call.request("PATCH", path(call), { body });
        call.print(value);
      },
    },
    {
      words: [name, "meta", "set"],
      usage: "[id] key [key] to [val]",
      summary: `Set metadata [key]:[val] on [${name}]:[id]`,
      arity: exactly(5, 3),
      async run(call) {
        const [, , key = "", , source = ""] = call.args;
        const value = textOf(await call.read(source));
        const there = call.reference === undefined ? await metaOf(call) : { [key]: call.reference };
        const old = there[key];
        const test =
          old === undefined ? { op: "test", path: "", value: there } : { op: "test", path: pointerTo(key), value: old };
        await call.request("PATCH", path(call), { body: [test, { op: "add", path: pointerTo(key), value }] });
        call.print(value);
      },
    },
    {
      words: [name, "meta", "remove"],
      usage: "[id] key [key]",
      summary: `Remove the meta [key] from [${name}]:[id]`,
      arity: exactly(3, 2),
      async run(call) {
        const at = pointerTo(call.args[2] ?? "");
        const { reference } = call;
        const tests = reference === undefined ? [] : [{ op: "test", path: at, value: reference }];
        await call.request("PATCH", path(call), { body: [...tests, { op: "remove", path: at }] });
      },
    },
  ];
}

/** Metadata are texts; a number or truth value is taken as it was written. */
const textOf = (value: JsonValue): string => (typeof value === "string" ? value : JSON.stringify(value));

/** `addprofile`, `removeprofile`, `addtask`, `removetask`. */
function memberVerbs({ name, single }: CollectionRow, member: string, field: string): readonly Verb[] {
  const usage = `[id] [${member}]`;
  const edited = (edit: (list: readonly JsonValue[], value: string) => readonly JsonValue[]) => (call: Call) =>
    change(call, name, call.args[0] ?? "", (object) => {
      const list = object[field];
      return { ...object, [field]: edit(Array.isArray(list) ? list : [], call.args[1] ?? "") };
    });
  return [
    {
      words: [name, `add${member}`],
      usage,
      summary: `Add ${member} to the ${single}'s ${member} list`,
      arity: exactly(2),
      run: edited((list, value) => [...list, value]),
    },
    {
      words: [name, `remove${member}`],
      usage,
      summary: `Remove a ${member} from the ${single}'s list`,
      arity: exactly(2),
      run: edited((list, value) => list.filter((each) => each !== value)),
    },
  ];
}

const pluginFlag: readonly Flag[] = [{ name: "plugin", value: "name", summary: "plugin that offers the action" }];
const plugin = (call: Call): Query => {
  const name = textFlag(call, "plugin");
  return name === undefined ? [] : [["plugin", name]];
};

/** Actions of plugins on objects. */
function actionVerbs(name: string, single: string, word: string): readonly Verb[] {
  const path = (call: Call, ...rest: readonly string[]) => [name, call.args[0] ?? "", `${word}s`, ...rest];
  return [
    {
      words: [name, `${word}s`],
      usage: "[id]",
      summary: `Display actions for this ${single}`,
      arity: exactly(1),
      flags: pluginFlag,
      run: async (call) => call.print(await call.get(path(call), plugin(call))),
    },
    {
      words: [name, word],
      usage: "[id] [action]",
      summary: `Display the action for this ${single}`,
      arity: exactly(2),
      flags: pluginFlag,
      run: async (call) => call.print(await call.get(path(call, call.args[1] ?? ""), plugin(call))),
    },
    {
      words: [name, `run${word}`],
      usage: "[id] [command] [- | JSON or YAML Map of objects | pairs of string objects]",
      summary: "Run action on object from plugin",
      arity: {
        least: 2,
        most: Number.POSITIVE_INFINITY,
        complaint: "!runaction either takes three arguments or a multiple of two, not N",
      },
      flags: pluginFlag,
      async run(call) {
        const body = await parametersOf(call);
        const query = [...plugin(call), ...forced(call)];
        call.print((await call.request("POST", path(call, call.args[1] ?? ""), { body, query })).json);
      },
    },
  ];
}

async function parametersOf(call: Call): Promise<JsonValue> {
  const [, , first, ...rest] = call.args;
  if (first === undefined) return {};
  if (rest.length === 0) return await call.read(first);
  const words = [first, ...rest];
  if (words.length % 2 === 1)
    throw new CliError(`runaction either takes three arguments or a multiple of two, not ${call.args.length}`);
  const values: Record<string, JsonValue> = {};
  for (let at = 0; at < words.length; at += 2) values[words[at] ?? ""] = await call.read(words[at + 1] ?? "");
  return values;
}
