import { messageOf, SlipwayError } from "#lib/base/index.ts";
import type { ApiServer, Listener, ServingCertificates } from "#kernel/apiserver/index.ts";
import type { ServerPlace } from "#kernel/workloads/index.ts";
import type { CertificateKeeper } from "./keep-certificates.ts";

/** The first port that is free among `tries`, from `first` on; 0 takes any. */
export interface Ports {
  readonly first: number;
  readonly tries: number;
}

/**
 * The addresses a server listens on: loopback, and those of bridges to which containers of this machine are tied, which cannot reach
 * its loopback. A bridge is listened on when the first container asks for it, under a certificate that names it, and asks for
 * credentials as everything else does.
 */
export class Doors {
  readonly #server: ApiServer;
  readonly #main: Listener;
  readonly #bridges = new Map<string, Promise<Listener>>();
  /** Those that accept. */
  readonly #open: Listener[];

  private constructor(server: ApiServer, main: Listener) {
    this.#server = server;
    this.#main = main;
    this.#open = [main];
  }

  /** Listens on loopback; rejects with `listen-failed`. Closed with the server. */
  static async open(server: ApiServer, ports: Ports, certificates: ServingCertificates): Promise<Doors> {
    return new Doors(server, await listenOnFreePort(server, ports, certificates));
  }

  get url(): string {
    return this.#main.url;
  }

  /** New connections, at all addresses, are shown these from now on. */
  renew(certificates: ServingCertificates): void {
    for (const listener of this.#open) listener.renew(certificates);
  }

  /** Where it is found by what sees all addresses of this machine, or only that of a bridge. Rejects when that is no address of ours. */
  async place(bridge: string | undefined, certificates: CertificateKeeper): Promise<ServerPlace> {
    if (bridge === undefined) return { host: "127.0.0.1", port: this.#main.port };
    const known = this.#bridges.get(bridge) ?? this.#listenAt(bridge, certificates);
    this.#bridges.set(bridge, known);
    // An address that is not there now may be there for the next one.
    known.catch(() => this.#bridges.delete(bridge));
    return { host: bridge, port: (await known).port };
  }

  async #listenAt(host: string, certificates: CertificateKeeper): Promise<Listener> {
    const { ca, cert, key } = await certificates.include(host);
    const listenOn = (port: number) => this.#server.listen({ host, port, tls: { ca, cert, key } });
    const listener = await listenOn(this.#main.port).catch((thrown: unknown) => {
      if (!isTaken(thrown)) throw thrown;
      return listenOn(0);
    });
    this.#open.push(listener);
    return listener;
  }
}

const isTaken = (thrown: unknown): boolean => /in use/.test(messageOf(thrown));

/** Only a port that is taken leads to the next one: whatever else is wrong would be wrong there too. */
async function listenOnFreePort(
  server: ApiServer,
  { first, tries }: Ports,
  { ca, cert, key }: ServingCertificates,
): Promise<Listener> {
  for (let port = first; ; port++) {
    try {
      return await server.listen({ port, tls: { ca, cert, key } });
    } catch (thrown) {
      if (!isTaken(thrown)) throw thrown;
      if (port + 1 - first < tries) continue;
      const hint = tries === 1 ? "choose another with --port, or 0 for any" : "name one with --port";
      throw new SlipwayError("listen-failed", messageOf(thrown), { hint, cause: thrown });
    }
  }
}
