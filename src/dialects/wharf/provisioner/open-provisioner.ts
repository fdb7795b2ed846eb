import type { Manager } from "#kernel/kit/index.ts";
import type { ControllerParts, ListenChoice } from "#kernel/dialect/index.ts";
import type { AskedRequest } from "../http/index.ts";
import type { WharfOptions } from "../given-options.ts";
import { openService, type ServiceAccess } from "../open-service.ts";
import type { OwnService } from "../services.ts";
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

/** What a provisioner takes from the process it is in. */
type ProvisionerParts = Pick<
  ControllerParts<WharfOptions>,
  "audit" | "directory" | "notes" | "options" | "podStreams" | "tellPort" | "version"
>;

/**
 * Adds a provisioner to a manager that has not started, and closes it with the manager; workers go on. Returns where it is. Rejects with
 * `listen-failed` when a named address cannot be had, and with `worker-backend` when workers cannot run where they should.
 */
export async function openProvisioner(
  manager: Manager,
  { listen, origins = [], program, runtime, backend, ...options }: ProvisionerOptions,
  parts: ProvisionerParts,
  access: ServiceAccess,
): Promise<OwnService> {
  const { directory, version, podStreams } = parts;
  const settings = settingsOf(options, parts.options ?? {});
  const { token } = access;
  const { namespace } = settings;
  const place = { program, runtime, backend, directory, token, version, podStreams, namespace };
  const workers = addProvisioner(manager, { settings, backend: await openBackend(manager, place) });
  const serves = async (closing: AbortSignal) => {
    const { createProvisionerApi } = await import("./rest.ts");
    // Before that everything is empty, and nothing would be found.
    await manager.informers.readable(closing);
    return { fetch: createProvisionerApi({ ...workers, origins, audit: parts.audit }).fetch };
  };
  return await openService(manager, { name: "provisioner", listen, origins, takesTokenInQuery, serves }, parts, access);
}

/** A released wharf-api starts builds with the token of its engine there, and has no other. */
const takesTokenInQuery = ({ method, path }: AskedRequest): boolean =>
  method === "POST" && /^\/api\/worker\/?$/.test(path);

const settingsOf = (
  { maxWorkers, drainMs, allowLocalRepos }: Pick<ProvisionerOptions, "maxWorkers" | "drainMs" | "allowLocalRepos">,
  { namespace, instance }: Pick<WharfOptions, "namespace" | "instance">,
): ProvisionerSettings => ({
  ...usualSettings,
  ...(maxWorkers === undefined ? {} : { maxWorkers }),
  ...(allowLocalRepos === undefined ? {} : { allowLocalRepos }),
  ...(namespace === undefined ? {} : { namespace }),
  ...(instance === undefined ? {} : { instance }),
  removal: { ...usualSettings.removal, ...(drainMs === undefined ? {} : { drainMs }) },
});
