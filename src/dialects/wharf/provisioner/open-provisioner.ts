import { aborted } from "#lib/base/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import { type ListenChoice, openChosen } from "../../listening.ts";
import { type AskedRequest, openHttpDoor } from "../http/index.ts";
import { noteServer } from "../noted-servers.ts";
import { addProvisioner } from "./add-provisioner.ts";
import { type BackendParts, openBackend } from "./open-backend.ts";
import { type ProvisionerSettings, usualSettings } from "./settings.ts";

/** What a person has set of the provisioner. What is absent is as usual. */
export interface ProvisionerOptions extends Pick<BackendParts, "program" | "runtime" | "backend"> {
  readonly listen: ListenChoice;
  /** Origins of web pages that may ask, `*` for all of them; none when absent. */
  readonly origins?: readonly string[];
  readonly maxWorkers?: number;
  readonly drainMs?: number;
  readonly allowLocalRepos?: boolean;
}

/** Where and for whom a provisioner works. */
export interface ProvisionerPlace extends Pick<BackendParts, "directory" | "token" | "version" | "podStreams"> {
  readonly namespace?: string | undefined;
  readonly instance?: string | undefined;
  /** As `WharfOptions` has them. */
  readonly notes?: readonly string[] | undefined;
}

/**
 * Adds a provisioner to a manager that has not started, and closes it with the manager; workers go on. Answers with where it is. Rejects with
 * `listen-failed` when an address that somebody has named cannot be had, and with `worker-backend` when workers cannot run where they should.
 */
export async function openProvisioner(
  manager: Manager,
  { listen, origins = [], program, runtime, backend, ...options }: ProvisionerOptions,
  { directory, token, version, podStreams, notes = [], ...place }: ProvisionerPlace,
): Promise<string> {
  const { clock, log } = manager;
  const settings = settingsOf(options, place);
  const make = await openBackend(manager, {
    program,
    runtime,
    backend,
    directory,
    token,
    version,
    podStreams,
    namespace: settings.namespace,
  });
  const workers = addProvisioner(manager, { settings, backend: make });
  const serves = async (closing: AbortSignal) => {
    const { createProvisionerApi } = await import("./rest.ts");
    // Before that everything is empty, and nothing would be found.
    await manager.informers.readable(closing);
    return { fetch: createProvisionerApi({ ...workers, origins }).fetch };
  };
  const open = (address: string) => openHttpDoor({ address, clock, log, token, takesTokenInQuery, origins, serves });
  const flag = "--wharf-provisioner-listen";
  const door = await openChosen(listen, open, { what: "the provisioner", flag, log });
  const takeBack = await noteServer(notes, "provisioner", door.address, token);
  manager.add({
    name: "wharf-provisioner",
    runsWithoutLeadership: true,
    async run({ stop }) {
      await aborted(stop);
      await takeBack?.();
      await door.close();
    },
  });
  return door.address;
}

/** A released wharf-api starts builds with the token of its engine there, and has no other. */
const takesTokenInQuery = ({ method, path }: AskedRequest): boolean =>
  method === "POST" && /^\/api\/worker\/?$/.test(path);

const settingsOf = (
  { maxWorkers, drainMs, allowLocalRepos }: Pick<ProvisionerOptions, "maxWorkers" | "drainMs" | "allowLocalRepos">,
  { namespace, instance }: Pick<ProvisionerPlace, "namespace" | "instance">,
): ProvisionerSettings => ({
  ...usualSettings,
  ...(maxWorkers === undefined ? {} : { maxWorkers }),
  ...(allowLocalRepos === undefined ? {} : { allowLocalRepos }),
  ...(namespace === undefined ? {} : { namespace }),
  ...(instance === undefined ? {} : { instance }),
  removal: { ...usualSettings.removal, ...(drainMs === undefined ? {} : { drainMs }) },
});
