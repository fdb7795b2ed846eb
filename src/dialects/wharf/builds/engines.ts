// Engines are configured, not stored: clients must not choose which program runs code.

import type { ProvisionerAddress } from "../provisioner/provisioner-client.ts";

export interface Engine {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly api: "wharf-cmd.v1" | "jenkins-generic-webhook-trigger";
  readonly token?: string;
  readonly find?: ProvisionerAddress["find"];
}

export type Engines = readonly Engine[];

/** Ids are case-insensitive; without one the default. */
export const engineOf = (engines: Engines, id: string | undefined): Engine | undefined =>
  id === undefined || id === "" ? engines[0] : engines.find((one) => one.id.toLowerCase() === id.toLowerCase());
