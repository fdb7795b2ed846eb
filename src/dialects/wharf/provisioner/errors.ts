import { SlipwayError } from "#lib/base/index.ts";

export type ProvisionerErrorCode = "worker-launch" | "worker-refused" | "worker-backend" | "worker-directory";

export const provisionerError = (
  code: ProvisionerErrorCode,
  message: string,
  options: { readonly cause?: unknown; readonly hint?: string } = {},
) => new SlipwayError(code, message, options);
