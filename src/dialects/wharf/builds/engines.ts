// Engines are configured and not stored: which program is asked to run code is for whoever runs the server to say, and for no client of it.

import type { ProvisionerAddress } from "../provisioner/provisioner-client.ts";

/** What starts workers: the provisioner of this system or of another installation, or Jenkins. */
export interface Engine {
  readonly id: string;
  readonly name: string;
  /** Where a worker is asked for; workers are below it. Where it usually is, of one that is looked for. */
  readonly url: string;
  readonly api: "wharf-cmd.v1" | "jenkins-generic-webhook-trigger";
  /** What it asks of who triggers it. Never told to anybody. */
  readonly token?: string;
  /** See `ProvisionerAddress`. */
  readonly find?: ProvisionerAddress["find"];
}

/** Engines in their order; the first one is the default. */
export type Engines = readonly Engine[];

/** The engine of an id, whatever the case of its letters; the default one for none. */
export const engineOf = (engines: Engines, id: string | undefined): Engine | undefined =>
  id === undefined || id === "" ? engines[0] : engines.find((one) => one.id.toLowerCase() === id.toLowerCase());
