import type { Manager } from "#kernel/kit/index.ts";
import type { ControllerParts } from "#kernel/dialect/index.ts";
import type { AskedRequest } from "../http/index.ts";
import type { ProvisionerOptions, WharfOptions } from "../options.ts";
import { openService, type ServiceAccess } from "../open-service.ts";
import type { OwnService } from "../services.ts";
import { addProvisioner } from "./add-provisioner.ts";
import { openBackend } from "./open-backend.ts";
import { type ProvisionerSettings, usualSettings } from "./settings.ts";

type ProvisionerParts = Pick<
  ControllerParts<WharfOptions>,
  "audit" | "directory" | "notes" | "options" | "podStreams" | "tellPort" | "version"
>;

/** Adds a provisioner to a manager that has not started; workers survive it. Rejects with `listen-failed` or
 * `worker-backend`. */
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
    // Before that nothing would be found.
    await manager.informers.readable(closing);
    return { fetch: createProvisionerApi({ ...workers, origins, audit: parts.audit }).fetch };
  };
  return await openService(manager, { name: "provisioner", listen, origins, takesTokenInQuery, serves }, parts, access);
}

/** Released wharf-api sends the engine's token in the query. */
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
