import type { ParameterRules } from "./parameters.ts";
import { type RemovalSettings, usualRemoval } from "./removal.ts";

export interface ProvisionerSettings extends ParameterRules {
  /** All workers of this namespace are its own. */
  readonly namespace: string;
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
