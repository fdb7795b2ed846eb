import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { aborted, isJsonObject } from "#lib/base/index.ts";
import { isRefused } from "../../agent/client.ts";
import { gatherFacts } from "../gohai.ts";
import { CliError, pairsOf, type Runs } from "../verb.ts";

/** The original release whose server and client this dialect follows. */
export const followedVersion = "v4.8.0";

export const otherRuns: Runs = {
  version: (call) => call.write(`Version: ${followedVersion}\n`),
  gohai: async (call) => call.print(await gatherFacts()),
  async "info check"(call) {
    await call.client();
    call.write('{ "active": true }\n');
  },
  async "prefs set"(call) {
    const { args } = call;
    if (args.length > 1 && args.length % 2 === 1)
      throw new CliError(`prefs set either takes a single argument or a multiple of two, not ${args.length}`);
    const body = args.length === 1 ? await call.read(args[0] ?? "") : Object.fromEntries(pairsOf(args));
    if (!isJsonObject(body)) throw new CliError("Invalid prefs: expected a map of strings");
    call.print(await call.send("POST", ["prefs"], body));
  },
  async "events watch"(call) {
    const events = await (await call.client()).events(call.signal);
    events.listen((event) => call.print(event));
    await events.register(call.args[0] ?? "*.*.*");
    await Promise.race([events.ended, aborted(call.signal)]);
    events.close();
  },
  async "users password"(call) {
    const [id = "", Password = ""] = call.args;
    call.print(await call.send("PUT", ["users", id, "password"], { Password }));
  },
  async "users token"(call) {
    const [id = "", ...words] = call.args;
    const query = pairsOf(words);
    const unknown = query.find(([name]) => !["ttl", "scope", "action", "specific", "roles"].includes(name));
    if (unknown !== undefined) throw new CliError(`users token does not support ${unknown[0]}`);
    if (words.length % 2 === 1) throw new CliError("users token needs at least 1 and pairs arg");
    call.print(await call.get(["users", id, "token"], query));
  },
  /** Replaces a template, or creates it. */
  async "templates upload"(call) {
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
    call.print(await call.send(isThere ? "PUT" : "POST", isThere ? ["templates", ID] : ["templates"], body));
  },
};
