import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { aborted, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { isRefused } from "../../agent/client.ts";
import { gatherFacts } from "../gohai.ts";
import { type Call, CliError, exactly, none, type Query, type Verb } from "../verb.ts";

/** The original release whose server and client this dialect follows. */
export const followedVersion = "v4.8.0";

export const otherVerbs: readonly Verb[] = [
  {
    words: ["version"],
    usage: "",
    summary: "Digital Rebar Provision CLI Command Version",
    arity: none,
    isOffline: true,
    run(call) {
      call.write(`Version: ${followedVersion}\n`);
      return Promise.resolve();
    },
  },
  {
    words: ["gohai"],
    usage: "",
    summary: "Get basic system information as a JSON blob",
    arity: none,
    isOffline: true,
    run: async (call) => call.print(await gatherFacts()),
  },
  {
    words: ["info", "get"],
    usage: "",
    summary: "Get info about DRP",
    arity: none,
    run: async (call) => call.print(await call.get(["info"])),
  },
  {
    words: ["info", "check"],
    usage: "",
    summary: "Fast API check that returns DRP Version",
    arity: none,
    async run(call) {
      await call.client();
      call.write('{ "active": true }\n');
    },
  },
  {
    words: ["objects", "list"],
    usage: "",
    summary: "List all object types",
    arity: none,
    run: async (call) => call.print(await call.get(["objects"])),
  },
  {
    words: ["prefs", "list"],
    usage: "",
    summary: "List all preferences",
    arity: none,
    run: async (call) => call.print(await call.get(["prefs"])),
  },
  {
    words: ["prefs", "set"],
    usage: "[- | JSON or YAML Map of strings | pairs of string args]",
    summary: "Set preferences",
    arity: {
      least: 1,
      most: Number.POSITIVE_INFINITY,
      complaint: "!prefs set either takes a single argument or a multiple of two, not N",
    },
    run: setPrefs,
  },
  {
    words: ["events", "post"],
    usage: "[- | JSON or YAML Event]",
    summary: "Post an event",
    arity: exactly(1),
    run: async (call) => void (await call.request("POST", ["events"], { body: await call.read(call.args[0] ?? "") })),
  },
  {
    words: ["events", "watch"],
    usage: "[filter]",
    summary: "Watch events as they come in real time. Optional filter can be specified.",
    arity: { least: 0, most: 1, complaint: "requires 0 or 1 argument" },
    async run(call) {
      const events = await (await call.client()).events(call.signal);
      events.listen((event) => call.print(event));
      await events.register(call.args[0] ?? "*.*.*");
      await Promise.race([events.ended, aborted(call.signal)]);
      events.close();
    },
  },
  {
    words: ["users", "password"],
    usage: "[id] [password]",
    summary: "Set the password for this id",
    arity: { ...exactly(2), complaint: "needs 2 args" },
    async run(call) {
      const [id = "", Password = ""] = call.args;
      call.print((await call.request("PUT", ["users", id, "password"], { body: { Password } })).json);
    },
  },
  {
    words: ["users", "token"],
    usage: "[id] [ttl [ttl]] [scope [scope]] [action [action]] [specific [specific]]",
    summary: "Get a login token for this user with optional parameters",
    arity: { least: 1, most: 9, complaint: "needs at least 1 arg" },
    async run(call) {
      const [id = "", ...words] = call.args;
      const query: (readonly [string, string])[] = [];
      for (let at = 0; at < words.length; at += 2) {
        const [name = "", value] = words.slice(at, at + 2);
        if (!["ttl", "scope", "action", "specific", "roles"].includes(name))
          throw new CliError(`users token does not support ${name}`);
        if (value === undefined) throw new CliError("users token needs at least 1 and pairs arg");
        query.push([name, value]);
      }
      call.print(await call.get(["users", id, "token"], query satisfies Query));
    },
  },
  {
    words: ["templates", "upload"],
    usage: "[file] as [id]",
    summary: "Upload the template file [file] as template [id]",
    arity: { ...exactly(3), complaint: ": expected 3 argument" },
    run: uploadTemplate,
  },
];

async function setPrefs(call: Call): Promise<void> {
  const [source = ""] = call.args;
  let body: JsonValue;
  if (call.args.length === 1) {
    body = await call.read(source);
    if (!isJsonObject(body)) throw new CliError("Invalid prefs: expected a map of strings");
  } else if (call.args.length % 2 === 0) {
    const values: Record<string, string> = {};
    for (let at = 0; at < call.args.length; at += 2) values[call.args[at] ?? ""] = call.args[at + 1] ?? "";
    body = values;
  } else {
    const count = call.args.length;
    throw new CliError(`prefs set either takes a single argument or a multiple of two, not ${count}`);
  }
  call.print((await call.request("POST", ["prefs"], { body })).json);
}

/** Replaces a template, or creates it. */
async function uploadTemplate(call: Call): Promise<void> {
  const [file = "", , given] = call.args;
  const ID = given ?? basename(file);
  const body = { ID, Contents: await readFile(resolve(call.directory, file), "utf8") };
  const isThere = await call.get(["templates", ID]).then(
    () => true,
    (thrown: unknown) => {
      if (isRefused(thrown, 404)) return false;
      throw thrown;
    },
  );
  const answer = isThere
    ? await call.request("PUT", ["templates", ID], { body })
    : await call.request("POST", ["templates"], { body });
  call.print(answer.json);
}
