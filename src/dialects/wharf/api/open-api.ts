import type { Manager } from "#kernel/kit/index.ts";
import type { ControllerParts, ListenChoice } from "#kernel/dialect/index.ts";
import type { Engines } from "../builds/engines.ts";
import type { Records } from "../builds/records.ts";
import { openService, type ServiceAccess } from "../open-service.ts";
import type { OwnService } from "../services.ts";
import type { BuildStores } from "./build-stores.ts";
import { SmallRecords } from "./small-records.ts";

// Parts of one server use wharf-api by its address too, so that they can be separated by configuration.

export interface OpenApiOptions {
  readonly listen: ListenChoice;
  readonly origins?: readonly string[];
  readonly records: Records;
  readonly engines: Engines;
  readonly instance: string;
  readonly namespace: string;
  readonly stores: BuildStores;
  readonly version: string;
}

/** Opens wharf-api for a manager that has not started and closes it and the stores with the manager. Its code is loaded
 * by the first connection. Rejects with `listen-failed` if a named address cannot be opened. */
export async function openApi(
  manager: Manager,
  options: OpenApiOptions,
  parts: Pick<ControllerParts, "audit" | "notes" | "tellPort">,
  access: ServiceAccess,
): Promise<OwnService> {
  const { listen, origins = [], namespace, stores } = options;
  // Mirrors must be requested before the manager starts.
  const tokens = new SmallRecords("token", manager, namespace);
  const providers = new SmallRecords("provider", manager, namespace);
  const { client, clock, log } = manager;
  const serves = async (closing: AbortSignal) => {
    const [{ createApi }, { Repository }, { resultsOf }, { logService }] = await Promise.all([
      import("./app.ts"),
      import("./repository.ts"),
      import("./known-builds.ts"),
      import("../results-api/log-service.ts"),
    ]);
    await manager.informers.readable(closing);
    const { records, engines, instance } = options;
    const repository = new Repository({ client, clock, records, namespace });
    const start = { client, records, engines, instance, audit: parts.audit };
    const given = { ...options, repository, start, tokens, providers, clock, log };
    return { fetch: createApi(given, origins).fetch, services: [logService(resultsOf(given))] };
  };
  const onClosed = async () => await stores.close();
  return await openService(manager, { name: "wharf-api", listen, origins, serves, onClosed }, parts, access);
}
