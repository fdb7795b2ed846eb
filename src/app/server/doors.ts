import { getOrAdd, messageOf, SlipwayError } from "#lib/base/index.ts";
import type { ApiServer, Listener, ServingCertificates } from "#kernel/apiserver/index.ts";
import type { ServerPlace } from "#kernel/workloads/index.ts";
import type { DoorPlan, ListenAddress } from "./door-plan.ts";
import type { CertificateKeeper } from "./keep-certificates.ts";

/** Where to listen, and the names besides loopback that clients may use. */
export interface DoorOptions extends DoorPlan {
  /** IPv6 addresses without brackets. */
  readonly names: readonly string[];
}

interface Door {
  readonly host: string;
  readonly listener: Listener;
}

/**
 * The listeners of a server: loopback, wanted addresses, and addresses of bridges for containers, which cannot reach
 * loopback. A bridge is opened when the first container needs it, with a certificate that names it. All use TLS and
 * require credentials.
 */
export class Doors {
  readonly #server: ApiServer;
  readonly #names: readonly string[];
  readonly #main: Listener;
  readonly #bridges = new Map<string, Promise<Listener>>();
  readonly #open: Listener[];
  readonly listening: readonly { readonly host: string; readonly port: number }[];

  private constructor(server: ApiServer, names: readonly string[], main: Door, others: readonly Door[]) {
    const doors = [main, ...others];
    this.#server = server;
    this.#names = names;
    this.#main = main.listener;
    this.#open = doors.map(({ listener }) => listener);
    this.listening = doors.map(({ host, listener }) => ({ host, port: listener.port }));
  }

  /** Rejects with `listen-failed`. Closed with the server. */
  static async open(server: ApiServer, options: DoorOptions, { ca, cert, key }: ServingCertificates): Promise<Doors> {
    const { main, others, names } = options;
    const listen: Listen = (host, port) => server.listen({ host, port, names, tls: { ca, cert, key } });
    const listener = await listenOnFreePort(listen, options.main);
    const opened: Door[] = [];
    for (const other of others)
      opened.push({ host: other.host, listener: await listenBeside(listen, other, listener) });
    return new Doors(server, names, { host: main.host, listener }, opened);
  }

  /** On loopback. */
  get url(): string {
    return `https://127.0.0.1:${this.#main.port}`;
  }

  /** For new connections at all addresses. */
  renew(certificates: ServingCertificates): void {
    for (const listener of this.#open) listener.renew(certificates);
  }

  /** The server's address for clients that see all addresses or only a bridge's. Rejects for a foreign address. */
  async place(bridge: string | undefined, certificates: CertificateKeeper): Promise<ServerPlace> {
    if (bridge === undefined) return { host: "127.0.0.1", port: this.#main.port };
    const known = getOrAdd(this.#bridges, bridge, () => this.#listenAt(bridge, certificates));
    // The address may exist next time.
    known.catch(() => this.#bridges.delete(bridge));
    return { host: bridge, port: (await known).port };
  }

  async #listenAt(host: string, certificates: CertificateKeeper): Promise<Listener> {
    const { ca, cert, key } = await certificates.include(host);
    const names = this.#names;
    const listenOn = (port: number) => this.#server.listen({ host, port, names, tls: { ca, cert, key } });
    const listener = await listenOn(this.#main.port).catch((thrown: unknown) => {
      if (!isTaken(thrown)) throw thrown;
      return listenOn(0);
    });
    this.#open.push(listener);
    return listener;
  }
}

const isTaken = (thrown: unknown): boolean => /in use/.test(messageOf(thrown));

type Listen = (host: string, port: number) => Promise<Listener>;

/** Tries the next port only if one is taken. */
async function listenOnFreePort(listen: Listen, { host, ports }: DoorPlan["main"]): Promise<Listener> {
  const { first, tries } = ports;
  for (let port = first; ; port++) {
    try {
      return await listen(host, port);
    } catch (thrown) {
      if (!isTaken(thrown)) throw thrown;
      if (port + 1 - first < tries) continue;
      const hint = tries === 1 ? "choose another with --port, or 0 for any" : "name one with --port";
      throw new SlipwayError("listen-failed", messageOf(thrown), { hint, cause: thrown });
    }
  }
}

/** A wanted address must be available, or the start fails. */
async function listenBeside(listen: Listen, { host, port }: ListenAddress, main: Listener): Promise<Listener> {
  try {
    return await listen(host, port ?? main.port);
  } catch (thrown) {
    const hint = isTaken(thrown)
      ? "name another port with --listen ADDRESS:PORT"
      : "--listen takes addresses of this machine, or 0.0.0.0 for all of them";
    throw new SlipwayError("listen-failed", messageOf(thrown), { hint, cause: thrown });
  }
}
