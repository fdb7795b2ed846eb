import { aborted, isJsonObject, jsonEquals, type JsonObject, type JsonValue, sleep, textAt } from "#lib/base/index.ts";
import { type Answer, isRefused } from "../../agent/client.ts";
import { queryOf } from "../filters.ts";
import { merged } from "../patches.ts";
import { type Call, CliError, objectIn, objectOrReference, type Runs, textFlag } from "../verb.ts";
import { change } from "./requests.ts";

/** Verbs that every collection has. */
export const objectRuns: Runs = {
  list: async (call, { name }) => call.print(await call.get([name], [...queryOf(call.args), ...call.query])),
  async count(call, { name }) {
    const headers = await call.head([name], [...queryOf(call.args), ...call.query]);
    call.print(Number(headers["x-drp-list-filter-count"]));
  },
  async show(call, { name }) {
    const object = (await versionOf(call, "GET", name))?.json;
    if (object !== undefined) call.print(object);
  },
  exists: async (call, { name }) => void (await existing(call, name, () => versionOf(call, "HEAD", name))),
  async etag(call, { name }) {
    const { etag = "" } = await existing(call, name, () => call.head([name, call.args[0] ?? ""]));
    call.write(`${etag}\n`);
  },
  async create(call, { name, single, isMadeByName }) {
    const given = await call.read(call.args[0] ?? "");
    const body = name === "jobs" ? await jobOf(call, given) : objectNamed(given, single, isMadeByName !== false);
    call.print((await call.send("POST", [name], body)) ?? {});
  },
  async update(call, { name }) {
    const [key = "", source = ""] = call.args;
    const changes = await call.read(source);
    if (!isJsonObject(changes)) throw new CliError("Unable to unmarshal reference object: expected an object");
    await change(call, name, key, (object) => merged(object, changes));
  },
  async destroy(call, { name, single }) {
    await call.send("DELETE", [name, call.args[0] ?? ""]);
    call.write(`Deleted ${single} ${call.args[0] ?? ""}\n`);
  },
  wait: (call, { name }) => waitFor(call, name),
};

/** Undefined, and told, if `--wait` is over without another version. */
async function versionOf(call: Call, method: "GET" | "HEAD", collection: string): Promise<Answer | undefined> {
  const path = [collection, call.args[0] ?? ""];
  const client = await call.client();
  const { query, signal } = call;
  const wait = textFlag(call, "wait");
  if (wait === undefined) return await client.call(method, path, { query, signal });
  const known = textFlag(call, "etag") ?? (await call.head(path)).etag ?? "";
  const headers = { "if-none-match": known, prefer: `wait=${wait}` };
  const answer = await client.call(method, path, { query, headers, patience: longestHeld, signal });
  if (answer.code !== 304) return answer;
  call.write("Timeout: no change\n");
  return undefined;
}

/** The server waits for ten minutes at most. */
const longestHeld = 11 * 60_000;

async function existing<T>(call: Call, collection: string, look: () => Promise<T>): Promise<T> {
  const [key = ""] = call.args;
  try {
    return await look();
  } catch (thrown) {
    if (isRefused(thrown, 404)) throw new CliError(`${collection}:${key} does not exist`);
    throw thrown;
  }
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
