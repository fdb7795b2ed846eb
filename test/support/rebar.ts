import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Finished, slipway, startServer, type TestServer } from "./slipway.ts";

/** A `slipway up` that serves `/api/v3`. */
export interface RebarServer extends TestServer {
  /** RS_ENDPOINT and RS_KEY, as its greeting says. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs a verb of drpcli. */
  drpcli(words: readonly string[], input?: string): Promise<Finished>;
  /** Its answer as JSON; fails the test when it fails. */
  must(...words: readonly string[]): Promise<unknown>;
}

export async function startRebar(
  directory: string,
  address = "127.0.0.1:0",
  variables: Readonly<Record<string, string>> = {},
): Promise<RebarServer> {
  const server = await startServer(directory, ["--rebar-listen", address, "--rebar-files", "off"], variables);
  const [, endpoint = ""] = /RS_ENDPOINT=(https:\S+)/.exec(server.printed()) ?? [];
  const env = { RS_ENDPOINT: endpoint, RS_KEY: (await readFile(join(directory, "rebar/rs-key"), "utf8")).trim() };
  const drpcli = (words: readonly string[], input?: string) =>
    slipway(["rebar", "drpcli", ...words], { env, ...(input === undefined ? {} : { input }) });
  return {
    ...server,
    env,
    drpcli,
    async must(...words) {
      const done = await drpcli(words);
      if (done.code !== 0) throw new Error(`drpcli ${words.join(" ")} ended with ${done.code}\n${done.err}${done.out}`);
      return done.out.trim() === "" ? undefined : (JSON.parse(done.out) as unknown);
    },
  };
}
