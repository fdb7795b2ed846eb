import { aborted } from "#lib/base/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import { openChosen } from "../../listening.ts";
import type { Engines } from "../builds/engines.ts";
import type { Records } from "../builds/records.ts";
import { openHttpDoor } from "../http/index.ts";
import { readTokenFile } from "../http/token-file.ts";
import { noteServer } from "../noted-servers.ts";
import type { WharfOptions } from "../options.ts";
import type { BuildStores } from "./build-stores.ts";
import { SmallRecords } from "./small-records.ts";

// wharf-api is reached through its address alone, also by parts of the same server: splitting them over machines is configuration.

/** What wharf-api is opened with. */
export interface OpenApiOptions extends Pick<WharfOptions, "listen" | "notes" | "origins" | "tokenFile"> {
  readonly records: Records;
  readonly engines: Engines;
  readonly instance: string;
  readonly namespace: string;
  readonly stores: BuildStores;
  readonly version: string;
}

/**
 * Opens wharf-api for a manager that has not started, and closes it with the manager, then its stores. Nothing that answers is loaded before somebody connects.
 * Answers with where it is, undefined where it is nowhere. Rejects with `listen-failed` when an address that somebody has named cannot be had.
 */
export async function openApi(manager: Manager, options: OpenApiOptions): Promise<string | undefined> {
  const { listen, notes = [], origins = [], tokenFile, namespace } = options;
  if (listen === undefined) return undefined;
  // Mirrors have to be asked for before the manager starts.
  const tokens = new SmallRecords("token", manager, namespace);
  const providers = new SmallRecords("provider", manager, namespace);
  const token = tokenFile === undefined ? undefined : await readTokenFile(tokenFile, "--wharf-auth-token-file");
  const { client, clock, log } = manager;
  const serves = async (closing: AbortSignal) => {
    const [{ createApi }, { Repository }, { resultsOf }, { logService }] = await Promise.all([
      import("./app.ts"),
      import("./repository.ts"),
      import("./known-builds.ts"),
      import("../results-api/log-service.ts"),
    ]);
    // Before that everything is empty, and nothing would be found.
    await manager.informers.readable(closing);
    const { records, engines, instance } = options;
    const repository = new Repository({ client, clock, records, namespace });
    const start = { client, records, engines, instance };
    const parts = { ...options, repository, start, tokens, providers, clock, log };
    return { fetch: createApi(parts, origins).fetch, services: [logService(resultsOf(parts))] };
  };
  const open = (address: string) => openHttpDoor({ address, clock, log, token, origins, serves });
  const door = await openChosen(listen, open, { what: "wharf-api", flag: "--wharf-listen", log });
  const takeBack = await noteServer(notes, "wharf-api", door.address, token);
  // Answers also where another process leads: what it stores is acted upon there.
  manager.add({
    name: "wharf-api",
    runsWithoutLeadership: true,
    async run({ stop }) {
      await aborted(stop);
      await takeBack?.();
      await door.close();
      // Whoever was bringing something has been answered, or cut off.
      await options.stores.close();
    },
  });
  return door.address;
}
