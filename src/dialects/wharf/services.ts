import type { ServiceAddress } from "./aggregator/api-connection.ts";
import type { Engine, Engines } from "./builds/engines.ts";
import { readTokenFile } from "./http/token-file.ts";
import type { NamedService, NamedServices, WharfOptions } from "./options.ts";

// Who is asked over HTTP, and with which token. A token belongs to the address that asks for it: the one that opens this server opens no engine
// elsewhere, and whoever runs that engine is not to learn it.

/** Where the provisioner of this server answers when nobody says it. */
const usualProvisioner = "127.0.0.1:5009";

/** Where the provisioner of this server answers, and to whom. */
export interface OwnProvisioner {
  /** `host:port` */
  readonly address: string;
  /** What it asks for; undefined where it answers everybody. */
  readonly token: string | undefined;
}

/**
 * Engines that builds are run by, the default one first: the one that was named, with the token that was named for it, else the provisioner of this
 * server with its own. None where nobody listens: a control plane for one command runs no builds.
 */
export function enginesOf(
  { engineUrl, listen }: Pick<WharfOptions, "engineUrl" | "listen">,
  own: OwnProvisioner | undefined,
  engineToken: string | undefined,
): Engines {
  if (engineUrl === undefined && listen === undefined && own === undefined) return [];
  const url = engineUrl ?? `http://${own?.address ?? usualProvisioner}/api/worker`;
  const token = engineUrl === undefined ? own?.token : engineToken;
  return [{ id: "wharf-cmd", name: "wharf-cmd", url, api: "wharf-cmd.v1", ...(token === undefined ? {} : { token }) }];
}

/** Where wharf-api is and where workers are ended; absent where there is none. */
export interface Services {
  readonly api?: ServiceAddress | undefined;
  readonly provisioner?: ServiceAddress | undefined;
}

/** What parts of this server are clients of: its own address with its own token, the engine with the engine's. */
export const ownServices = (address: string, token: string | undefined, engine: Engine | undefined): Services => ({
  api: { url: `http://${address}`, token },
  ...(engine === undefined ? {} : { provisioner: { url: new URL(engine.url).origin, token: engine.token } }),
});

/**
 * The services of an aggregator or a watchdog: those that were named as URLs ask for the token that was named with each, others are those of this
 * server. Undefined where one is nowhere, and there is nothing to do. Rejects with `wharf-token` for a file that has none.
 */
export async function servicesOf(
  { api, provisioner }: NamedServices,
  own: Services,
): Promise<{ readonly api: ServiceAddress; readonly provisioner: ServiceAddress } | undefined> {
  const found = {
    api: (await addressOf(api)) ?? own.api,
    provisioner: (await addressOf(provisioner)) ?? own.provisioner,
  };
  return found.api === undefined || found.provisioner === undefined
    ? undefined
    : { api: found.api, provisioner: found.provisioner };
}

/** Where a service elsewhere is, and what it asks for. */
async function addressOf(service: NamedService | undefined): Promise<ServiceAddress | undefined> {
  if (service === undefined) return undefined;
  const { url, tokenFile } = service;
  const { origin } = new URL(url);
  return {
    url: origin,
    token: tokenFile === undefined ? undefined : await readTokenFile(tokenFile, `the token for ${origin}`),
  };
}
