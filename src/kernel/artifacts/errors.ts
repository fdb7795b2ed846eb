import { codeOf, messageOf } from "#lib/base/index.ts";

/** Why an artifact cannot be left or taken; becomes the reason of the step. */
export type ArtifactReason =
  /** The step has not left it, or it was removed. */
  | "ArtifactMissing"
  /** A socket, a link that leads out, damaged bytes. */
  | "ArtifactInvalid"
  /** Over a limit of this server. */
  | "ArtifactTooLarge"
  | "DiskFull"
  | "ArtifactFailed";

export class ArtifactError extends Error {
  override readonly name = "ArtifactError";
  readonly reason: ArtifactReason;

  constructor(reason: ArtifactReason, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

/** An exhausted quota counts as a full disk. */
export function asArtifactError(thrown: unknown): ArtifactError {
  if (thrown instanceof ArtifactError) return thrown;
  const isFull = codeOf(thrown) === "ENOSPC" || codeOf(thrown) === "EDQUOT";
  const [reason, what] = isFull ? (["DiskFull", "the disk is full: "] as const) : (["ArtifactFailed", ""] as const);
  return new ArtifactError(reason, `${what}${messageOf(thrown)}`, { cause: thrown });
}

/** Far more than a real artifact has. */
export const mostEntries = 1_000_000;

/** Bytes of all files of one archive: a small archive may unpack to very many zeros. */
export const mostUnpacked = 32 * 1024 ** 3;

export const tooManyBytes = (): ArtifactError =>
  new ArtifactError("ArtifactTooLarge", `more than ${mostUnpacked} bytes in one archive`);

export const tooManyEntries = (): ArtifactError =>
  new ArtifactError("ArtifactTooLarge", `more than ${mostEntries} files and directories`);
