import { codeOf, messageOf } from "#lib/base/index.ts";

/** Why an artifact cannot be left or taken; one of these becomes the reason of the step. */
export type ArtifactReason =
  /** It is not there: the step has not left it, or nobody keeps it any more. */
  | "ArtifactMissing"
  /** It is there and cannot be an artifact: a socket, a link that leads out, damaged bytes. */
  | "ArtifactInvalid"
  /** It, or all of them together, would be larger than this server keeps. */
  | "ArtifactTooLarge"
  /** The disk is full. */
  | "DiskFull"
  /** The machine refuses something else. */
  | "ArtifactFailed";

/** A reason for programs, a sentence for people. */
export class ArtifactError extends Error {
  override readonly name = "ArtifactError";
  readonly reason: ArtifactReason;

  constructor(reason: ArtifactReason, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

/** Whatever was thrown, as the reason of a step. A quota that is used up is a full disk to who has to live with it. */
export function asArtifactError(thrown: unknown): ArtifactError {
  if (thrown instanceof ArtifactError) return thrown;
  const isFull = codeOf(thrown) === "ENOSPC" || codeOf(thrown) === "EDQUOT";
  const [reason, what] = isFull ? (["DiskFull", "the disk is full: "] as const) : (["ArtifactFailed", ""] as const);
  return new ArtifactError(reason, `${what}${messageOf(thrown)}`, { cause: thrown });
}

/** More entries than this are no artifact but a mistake; each costs a few system calls. */
export const mostEntries = 1_000_000;

/** Bytes of all files of one archive: a small archive may be made of very many zeros. */
export const mostUnpacked = 32 * 1024 ** 3;

export const tooManyBytes = (): ArtifactError =>
  new ArtifactError("ArtifactTooLarge", `more than ${mostUnpacked} bytes in one archive`);

export const tooManyEntries = (): ArtifactError =>
  new ArtifactError("ArtifactTooLarge", `more than ${mostEntries} files and directories`);
