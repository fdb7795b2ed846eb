import type { Ending } from "./work.ts";

// How an action that has run is judged. It may say itself why it failed, in two files; what it leaves there was written by a program that
// has failed, and is trusted with nothing but to be shown.

/** What is known of an action that has ended. */
export interface Evidence {
  readonly exitCode: number;
  readonly isOutOfMemory: boolean;
  /** What it has written into its two files; empty when they are empty, gone, or no files any more. */
  readonly reason: string;
  readonly message: string;
  /** The last line on stderr that is not empty; empty when there is none. */
  readonly lastError: string;
}

/** A word of a condition, as Kubernetes has them, but without punctuation. */
const validReason = /^[A-Za-z][A-Za-z0-9]{0,63}$/;

/** Bytes of a message; what is longer is cut. */
export const longestMessage = 4096;

/** 0 is success, whatever the files say. */
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

/** The action's own words, else what a shell would show. */
function messageOf({ message, exitCode, lastError }: Evidence): string {
  const own = trimEnd(message);
  if (own !== "") return oneLine(cut(own));
  const line = lastError.trim();
  return line === "" ? `exit code ${exitCode}` : `exit code ${exitCode}: ${oneLine(cut(line))}`;
}

const trimEnd = (text: string): string => text.replace(/[\r\n]+$/, "");

/** Tables and conditions have one line for it. */
const oneLine = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll("\n", "\\n");

/** To the limit, without half a character at the end. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= longestMessage) return text;
  return new TextDecoder().decode(bytes.subarray(0, longestMessage), { stream: true });
}
