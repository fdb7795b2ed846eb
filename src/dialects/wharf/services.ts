import { SlipwayError } from "#lib/base/index.ts";
import type { ServiceAddress } from "./aggregator/api-connection.ts";
import type { Engine, Engines } from "./builds/engines.ts";
import { readTokenFile } from "./http/token-file.ts";
import { digestOf, meantOf, notedServers } from "./noted-servers.ts";
import type { NamedService, NamedServices, WharfOptions } from "./options.ts";
import type { ProvisionerAddress } from "./provisioner/provisioner-client.ts";

// Who is asked over HTTP, and with which token. A token belongs to the address that asks for it: the one that opens this server opens no engine
// elsewhere, and whoever runs that engine is not to learn it.

/** Where a provisioner answers when nobody says it. */
const usualProvisioner = "127.0.0.1:5009";

/** Where the provisioner of this server answers, and to whom. */
export interface OwnProvisioner {
  /** `host:port` */
  readonly address: string;
  /** What it asks for; undefined where it answers everybody. */
  readonly token: string | undefined;
}

/** What this server asks for and what it was told to bring to an engine. */
export interface Tokens {
  readonly own?: string | undefined;
  readonly engine?: string | undefined;
}

/**
 * Engines that builds are run by, the default one first: the one that was named, with the token that was named for it, else the provisioner of this
 * server with its own, else the one that this user has started in another process, which is looked for each time that it is asked. None where nobody
 * listens: a control plane for one command runs no builds.
 */
export function enginesOf(
  { engineUrl, listen, notes = [] }: Pick<WharfOptions, "engineUrl" | "listen" | "notes">,
  own: OwnProvisioner | undefined,
  tokens: Tokens,
): Engines {
  if (engineUrl === undefined && listen === undefined && own === undefined) return [];
  const url = engineUrl ?? `http://${own?.address ?? usualProvisioner}/api/worker`;
  const token = engineUrl === undefined ? own?.token : tokens.engine;
  const find = async () => await findProvisioner(notes, tokens.own);
  return [
    {
      id: "wharf-cmd",
      name: "wharf-cmd",
      url,
      api: "wharf-cmd.v1",
      ...(token === undefined ? {} : { token }),
      ...(engineUrl === undefined && own === undefined ? { find } : {}),
    },
  ];
}

/**
 * The provisioner of this user that asks for no token, or for the one of this server. Whoever else has the usual address is told nothing: parameters of
 * builds are passwords and tokens of repositories, and its list of workers would decide over builds.
 */
async function findProvisioner(notes: readonly string[], token: string | undefined): ReturnType<Found> {
  const digest = token === undefined ? undefined : digestOf(token);
  const servers = (await notedServers(notes)).filter(
    ({ serves, tokenDigest }) => serves === "provisioner" && (tokenDigest === undefined || tokenDigest === digest),
  );
  const meant = meantOf(servers, `http://${usualProvisioner}`);
  if (typeof meant === "string") {
    const asks = servers.some(({ url, tokenDigest }) => url === meant && tokenDigest !== undefined);
    return { url: meant, ...(asks ? { token } : {}) };
  }
  const what = meant.length === 0 ? "no provisioner of this user runs here" : `several run here: ${meant.join(", ")}`;
  const address = meant[0] ?? `http://${usualProvisioner}`;
  throw new SlipwayError(
    "provisioner-unreachable",
    `${what}; name the one that is meant: --wharf-engine-url ${address}/api/worker`,
  );
}

type Found = NonNullable<ProvisionerAddress["find"]>;

/** Where wharf-api is and where workers are ended; absent where there is none. */
export interface Services {
  readonly api?: ServiceAddress | undefined;
  readonly provisioner?: ProvisionerAddress | undefined;
}

/**
 * What parts of this server are clients of: its own address with its own token, the engine with the engine's. Workers of one that is looked for ask for
 * what is made of the token of this server, where it asks for any.
 */
export const ownServices = (address: string, token: string | undefined, engine: Engine | undefined): Services => ({
  api: { url: `http://${address}`, token },
  ...(engine === undefined ? {} : { provisioner: provisionerOf(engine, token) }),
});

const provisionerOf = ({ url, token, find }: Engine, ownToken: string | undefined): ProvisionerAddress =>
  find === undefined ? { url: new URL(url).origin, token } : { url: new URL(url).origin, token: ownToken, find };

/**
 * The services of an aggregator or a watchdog: those that were named as URLs ask for the token that was named with each, others are those of this
 * server. Undefined where one is nowhere, and there is nothing to do. Rejects with `wharf-token` for a file that has none.
 */
export async function servicesOf(
  { api, provisioner }: NamedServices,
  own: Services,
): Promise<{ readonly api: ServiceAddress; readonly provisioner: ProvisionerAddress } | undefined> {
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
