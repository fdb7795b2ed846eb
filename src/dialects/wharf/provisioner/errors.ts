import { SlipwayError } from "#lib/base/index.ts";

/** What can go wrong in a provisioner besides what its callers ask for. */
export type ProvisionerErrorCode =
  /** The program of a worker does not begin. */
  | "worker-launch"
  /** What runs workers will never start this one: its image, or what it is to be, is refused. */
  | "worker-refused"
  /** What runs workers cannot be used as it is set up. */
  | "worker-backend"
  /** The directory of a worker holds what no provisioner has written. */
  | "worker-directory";

export const provisionerError = (
  code: ProvisionerErrorCode,
  message: string,
  options: { readonly cause?: unknown; readonly hint?: string } = {},
) => new SlipwayError(code, message, options);
