import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { patchBetween } from "../patches.ts";
import { type Call, objectOrReference, type Runs } from "../verb.ts";

/**
 * What a request of the table does. `METHOD path` prints the answer: `$1` is the first argument, `<$2` sends what the
 * second one says. `set FIELD [VALUE]`, `push FIELD` and `pull FIELD` change a field of the object by the second one.
 */
export function requesting(text: string): Runs[string] {
  const [method = "", path = "", source] = text.split(" ");
  const edit = edits[method];
  if (edit !== undefined)
    return (call, { name }) =>
      change(call, name, call.args[0] ?? "", (object) => ({ ...object, [path]: edit(object[path], call, source) }));
  return async (call) => {
    const argument = (word: string) => call.args[Number(word.slice(-1)) - 1] ?? "";
    const parts = path.split("/").map((part) => (part.startsWith("$") ? argument(part) : part));
    if (method === "GET") return call.print(await call.get(parts, call.query));
    const answer = await call.send(method, parts, source === undefined ? undefined : await call.read(argument(source)));
    if (answer !== null) call.print(answer);
  };
}

const listIn = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

type Edit = (old: JsonValue | undefined, call: Call, value: string | undefined) => JsonValue;
const edits: Readonly<Record<string, Edit>> = {
  set: (_old, { args }, value) => (value === undefined ? (args[1] ?? "") : value === "true"),
  push: (old, { args }) => [...listIn(old), args[1] ?? ""],
  pull: (old, { args }) => listIn(old).filter((each) => each !== args[1]),
};

/** Reads an object, changes it and prints the result. Nothing changes if the patch is empty. */
export async function change(
  call: Call,
  collection: string,
  key: string,
  edit: (object: JsonObject) => JsonValue,
): Promise<void> {
  const object = await objectOrReference(call, collection, key);
  call.print(await call.send("PATCH", [collection, key], [...patchBetween(object, edit(object))]));
}
