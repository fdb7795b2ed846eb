import { SlipwayError } from "#lib/base/index.ts";
import { meantOf, notedAt, type NotedServer, notedServers, readTokenFile } from "#kernel/doors/index.ts";
import type { ListenChoice, OpenedPort } from "#kernel/dialect/index.ts";
import type { ServiceAddress } from "./aggregator/api-connection.ts";
import type { Engine, Engines } from "./builds/engines.ts";
import type { ProvisionerAddress } from "./provisioner/provisioner-client.ts";

// Where services are reached, and with which token. A token belongs to the address it was given for: this server's
// token is never sent to another engine.

const usualProvisioner = "127.0.0.1:5009";

export interface NamedService {
  readonly url: string;
  /** Absolute path of the token. Without it no token is sent: this server's own is not for others. */
  readonly tokenFile?: string;
}

export interface NamedServices {
  readonly api?: NamedService;
  readonly provisioner?: NamedService;
}

export interface OwnService {
  readonly address: string | undefined;
  readonly opened: Promise<OpenedPort<unknown>>;
  readonly token: string;
}

type Found = { readonly url: string; readonly token?: string | undefined };

/** The engines that run builds, the default first: a named one, else this process's provisioner, else the one this user
 * runs in another process, which is looked up for each request. Without listeners there is none. */
export function enginesOf(
  { engineUrl, listen }: { readonly engineUrl?: string; readonly listen?: ListenChoice },
  own: OwnService | undefined,
  engineToken: string | undefined,
  notes: readonly string[],
): Engines {
  if (engineUrl === undefined && listen === undefined && own === undefined) return [];
  const url = engineUrl ?? `http://${own?.address ?? usualProvisioner}/api/worker`;
  const named = { id: "wharf-cmd", name: "wharf-cmd", url, api: "wharf-cmd.v1" } as const;
  if (engineUrl !== undefined && engineToken !== undefined) return [{ ...named, token: engineToken }];
  if (engineUrl !== undefined)
    return [{ ...named, find: async () => await findNamed("provisioner", engineUrl, notes) }];
  return [{ ...named, find: own === undefined ? async () => await findProvisioner(notes) : finding(own) }];
}

const finding =
  ({ opened, token }: OwnService) =>
  async (): Promise<Found> => ({ url: `http://${(await opened).address}`, token });

const notedAs = async (serves: string, notes: readonly string[]): Promise<readonly NotedServer[]> =>
  (await notedServers(notes)).filter((server) => server.serves === serves);

const withToken = async ({ url, serves, tokenFile }: NotedServer): Promise<Found> => ({
  url,
  token: await readTokenFile(tokenFile, `the token of the ${serves}:`),
});

/** A named service without a token file: if this user runs it, its note has the token. */
async function findNamed(serves: string, url: string, notes: readonly string[]): Promise<Found> {
  const { origin } = new URL(url);
  const noted = notedAt(await notedAs(serves, notes), origin);
  return noted === undefined ? { url: origin } : await withToken(noted);
}

/** The provisioner of this user. Other listeners at the default address are not asked: build parameters contain
 * passwords, and the list of workers decides about builds. */
async function findProvisioner(notes: readonly string[]): Promise<Found> {
  const meant = meantOf(await notedAs("provisioner", notes), `http://${usualProvisioner}`);
  if ("url" in meant) return await withToken(meant);
  const urls = meant.map(({ url }) => url);
  const what =
    urls.length === 0 ? "this user runs no provisioner here" : `several servers run here: ${urls.join(", ")}`;
  const address = urls[0] ?? `http://${usualProvisioner}`;
  throw new SlipwayError("provisioner-unreachable", `${what}; choose one: --wharf-engine-url ${address}/api/worker`);
}

export interface ClientServices {
  readonly api: ServiceAddress;
  readonly provisioner: ProvisionerAddress;
}

/** The services of an aggregator or watchdog: named ones first, else those of this process; undefined if one is
 * missing. The result resolves when the ports are open. Rejects with `auth-token` for a file without a token. */
export async function servicesOf(
  { api, provisioner }: NamedServices,
  notes: readonly string[],
  ownApi?: OwnService,
  engine?: Engine,
): Promise<(() => Promise<ClientServices>) | undefined> {
  const namedApi = api && (await apiOf(api, notes));
  const findApi = namedApi === undefined ? ownApi && finding(ownApi) : async () => namedApi;
  const ender = (provisioner && (await provisionerOf(provisioner, notes))) ?? (engine && addressOf(engine));
  return findApi && ender && (async () => ({ api: await findApi(), provisioner: ender }));
}

const addressOf = ({ url, token, find }: Engine): ProvisionerAddress => ({
  url: new URL(url).origin,
  token,
  ...(find === undefined ? {} : { find }),
});

async function apiOf(service: NamedService, notes: readonly string[]): Promise<ServiceAddress> {
  const named = await tokenOf(service);
  if (named.token !== undefined) return named;
  return { ...named, findToken: async () => (await findNamed("wharf-api", named.url, notes)).token };
}

async function provisionerOf(service: NamedService, notes: readonly string[]): Promise<ProvisionerAddress> {
  const named = await tokenOf(service);
  return named.token !== undefined ? named : { ...named, find: () => findNamed("provisioner", named.url, notes) };
}

async function tokenOf({ url, tokenFile }: NamedService): Promise<Found> {
  const { origin } = new URL(url);
  if (tokenFile === undefined) return { url: origin };
  return { url: origin, token: await readTokenFile(tokenFile, `the token for ${origin}`) };
}
