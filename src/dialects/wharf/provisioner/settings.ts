import type { ParameterRules } from "./parameters.ts";
import { type RemovalSettings, usualRemoval } from "./removal.ts";

/** What a provisioner is set to. */
export interface ProvisionerSettings extends ParameterRules {
  /** Where the resources of its workers are: all those of this namespace are its own. */
  readonly namespace: string;
  /** Builds at work at once; 0 is any number. */
  readonly maxWorkers: number;
  readonly removal: RemovalSettings;
}

export const usualSettings: ProvisionerSettings = {
  instance: "local",
  allowLocalRepos: false,
  namespace: "default",
  maxWorkers: 0,
  removal: usualRemoval,
};
