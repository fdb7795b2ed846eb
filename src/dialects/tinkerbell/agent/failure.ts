import type { Ending } from "./work.ts";

// Judges an action that has run. Its two failure files were written by a failed program and are only shown.

export interface Evidence {
  readonly exitCode: number;
  readonly isOutOfMemory: boolean;
  /** Content of its two files; empty if they are empty or not plain files. */
  readonly reason: string;
  readonly message: string;
  readonly lastError: string;
}

/** A condition reason of Kubernetes, without punctuation. */
const validReason = /^[A-Za-z][A-Za-z0-9]{0,63}$/;

/** In bytes; longer messages are cut. */
export const longestMessage = 4096;

export function endingOf(evidence: Evidence): Ending {
  if (evidence.exitCode === 0) return { is: "succeeded" };
  const reason = trimEnd(evidence.reason);
  const message = messageOf(evidence);
  if (reason === "") return failed(evidence.isOutOfMemory ? "OOMKilled" : "NonZeroExit", message);
  if (validReason.test(reason)) return failed(reason, message);
  return failed("InvalidReason", cut(`${oneLine(reason)}: ${message}`));
}

export const failed = (reason: string, message: string): Extract<Ending, { readonly is: "failed" }> => ({
  is: "failed",
  reason,
  message: cut(message),
});

function messageOf({ message, exitCode, lastError }: Evidence): string {
  const own = trimEnd(message);
  if (own !== "") return oneLine(cut(own));
  const line = lastError.trim();
  return line === "" ? `exit code ${exitCode}` : `exit code ${exitCode}: ${oneLine(cut(line))}`;
}

const trimEnd = (text: string): string => text.replace(/[\r\n]+$/, "");

/** Tables and conditions have one line for it. */
const oneLine = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll("\n", "\\n");

/** Cuts at the limit, between characters. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= longestMessage) return text;
  return new TextDecoder().decode(bytes.subarray(0, longestMessage), { stream: true });
}
