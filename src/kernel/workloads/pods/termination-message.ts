import { readLogs } from "#kernel/logs/index.ts";
import { readLastWord } from "#kernel/runtimes/index.ts";

// Kubernetes' limits, in bytes and lines.
const longestMessage = 4_096;
const longestFallback = 2_048;
const fallbackLines = 80;

/**
 * What a container that has ended says about its end: the start of its message file, 4 KiB at most; with the policy
 * FallbackToLogsOnError and no message of a failed container, the end of its log (80 lines, 2 KiB at most). Empty when it says
 * nothing; never a failure of what the container has made of its file. Bytes that are no UTF-8 are replaced.
 */
export async function terminationMessage(options: {
  /** The file that the container was given for it. */
  readonly outputPath: string;
  readonly logPath: string;
  /** `terminationMessagePolicy`; anything but FallbackToLogsOnError means File. */
  readonly policy: string | undefined;
  /** Ended with another code than 0, or could not be started, or was lost. */
  readonly failed: boolean;
}): Promise<string> {
  const message = textFrom((await readLastWord(options.outputPath, longestMessage)) ?? Buffer.alloc(0));
  if (message !== "" || options.policy !== "FallbackToLogsOnError" || !options.failed) return message;
  let tail: Buffer = Buffer.alloc(0);
  for await (const piece of readLogs(options.logPath, { tailLines: fallbackLines })) {
    tail = Buffer.concat([tail, piece]).subarray(-longestFallback);
  }
  return textFrom(tail);
}

/** A character cut in half at either end is left out, so that the text fits into its limit. */
const textFrom = (bytes: Buffer): string => bytes.toString("utf8").replace(/^\uFFFD+|\uFFFD+$/g, "");
