import { isJsonObject, textAt } from "#lib/base/index.ts";
import type { Agents } from "#kernel/dialect/index.ts";
import { usualListen } from "./options.ts";

/** Agents for the machines of one command. Tasks run on this host, where scripts expect to be. */
export const agents: Agents = {
  awaitedAt: (variable) => variable("SLIPWAY_REBAR_LISTEN") ?? usualListen,
  listeningAt: (address) => ({ rebar: { listen: { address, isUsual: false } } }),
  neededBy: ({ spec, status }) => {
    const uuid = isJsonObject(status) && isJsonObject(spec) ? textAt(spec, "Uuid") : undefined;
    return uuid === undefined ? [] : [uuid];
  },
  async serve({ id, server, tokenFile, directory, clock, log, variable }, signal) {
    const [{ openHostAgent }, { readFile }] = await Promise.all([
      import("./agent/open-agent.ts"),
      import("node:fs/promises"),
    ]);
    const [user = "", ...password] =
      tokenFile === undefined ? [] : (await readFile(tokenFile, "utf8")).trim().split(":");
    const environment = Object.fromEntries(
      ["PATH", "HOME", "LANG", "TERM"].flatMap((name) => {
        const value = variable(name);
        return value === undefined ? [] : [[name, value]];
      }),
    );
    const error = await openHostAgent(
      {
        machine: id,
        connection: {
          endpoints: [`https://${server}`],
          credentials: { user, password: password.join(":") },
          trust: { kind: "any" },
        },
        stateDirectory: directory,
        shims: [process.execPath, process.argv[1] ?? "slipway"],
      },
      {
        environment,
        clock,
        log,
        tell: (line) => log.debug(line),
        echo: () => undefined,
      },
      signal,
    );
    if (error !== undefined) throw new Error(error);
  },
};
