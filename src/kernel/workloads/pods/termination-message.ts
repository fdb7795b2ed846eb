import { readLogs } from "#kernel/logs/index.ts";
import { outputVariable } from "#kernel/model/index.ts";
import { longestLastWord, readLastWord } from "#kernel/runtimes/index.ts";
import type { Container, PodObject } from "../pod-types.ts";

// Kubernetes' limits, in bytes and lines.
const longestMessage = 4_096;
const longestFallback = 2_048;
const fallbackLines = 80;

/**
 * What a container that has ended says about its end: the start of its message file; with the policy
 * FallbackToLogsOnError and no message of a failed container, the end of its log (80 lines, 2 KiB at most). Empty when it says
 * nothing; never a failure of what the container has made of its file. Bytes that are no UTF-8 are replaced.
 */
export async function terminationMessage(options: {
  /** The file that the container was given for it. */
  readonly outputPath: string;
  readonly logPath: string;
  /** `terminationMessagePolicy`; anything but FallbackToLogsOnError means File. */
  readonly policy: string | undefined;
  /** At most so many bytes of the file; Kubernetes' 4 KiB when absent. */
  readonly maxBytes?: number | undefined;
  /** Ended with another code than 0, or could not be started, or was lost. */
  readonly failed: boolean;
}): Promise<string> {
  const message = textFrom(
    (await readLastWord(options.outputPath, options.maxBytes ?? longestMessage)) ?? Buffer.alloc(0),
  );
  if (message !== "" || options.policy !== "FallbackToLogsOnError" || !options.failed) return message;
  let tail: Buffer = Buffer.alloc(0);
  for await (const piece of readLogs(options.logPath, { tailLines: fallbackLines })) {
    tail = Buffer.concat([tail, piece]).subarray(-longestFallback);
  }
  return textFrom(tail);
}

/**
 * Bytes that are kept of a container's message where its document has outputs of it; undefined for Kubernetes' own rule. One container of a
 * Pod has them, so that its status does not grow beyond bounds.
 */
export function longestOutputs({ spec }: PodObject, { name, env = [] }: Container): number | undefined {
  const main = spec.containers.find((container) => container.name === "main") ?? spec.containers[0];
  return main?.name === name && env.some((variable) => variable.name === outputVariable) ? longestLastWord : undefined;
}

/** A character cut in half at either end is left out, so that the text fits into its limit. */
const textFrom = (bytes: Buffer): string => bytes.toString("utf8").replace(/^\uFFFD+|\uFFFD+$/g, "");
